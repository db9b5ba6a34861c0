"""BIG-Bench Hard: the tasks with lettered options and those with a number for an answer.

A task whose answers are words (yes and no, sorted words, brackets) has no letter to plant and no
near wrong number; its rows are counted and left out.
"""

from __future__ import annotations

import re

from builders.sources import LETTERS
from builders.sources.given import Given, Unusable, plain_number
from builders.sources.hub import HubSource, Row

_OPTIONS = re.compile(r"\n\s*Options:\s*\n")
_OPTION = re.compile(r"\(([A-Z])\)\s*(.*)")


def read(row: Row, config: str) -> Given:
    """The question with the lines behind ``Options:`` as its options."""
    text, target = str(row["input"] or ""), str(row["target"] or "").strip()
    question, *listed = _OPTIONS.split(text, maxsplit=1)
    if listed:
        return Given(config, question, target.strip("()"), _options(listed[0]))
    if target and plain_number(target) is None:
        raise Unusable("an answer in words")
    return Given(config, text, target)


def _options(listed: str) -> tuple[str, ...]:
    lines = [line.strip() for line in listed.splitlines() if line.strip()]
    found = [_OPTION.fullmatch(line) for line in lines]
    letters = [match[1] for match in found if match]
    if letters != list(LETTERS[: len(lines)]):
        raise Unusable("options that are not lettered A, B, C on")
    return tuple(match[2] for match in found if match)


SOURCE = HubSource(
    name="bbh",
    repo="lukaemon/bbh",
    revision="982bb89fd79532a8ac676a61fc42eb1aeec63f99",
    configs=(
        "boolean_expressions",
        "causal_judgement",
        "date_understanding",
        "disambiguation_qa",
        "dyck_languages",
        "formal_fallacies",
        "geometric_shapes",
        "hyperbaton",
        "logical_deduction_five_objects",
        "logical_deduction_seven_objects",
        "logical_deduction_three_objects",
        "movie_recommendation",
        "multistep_arithmetic_two",
        "navigate",
        "object_counting",
        "penguins_in_a_table",
        "reasoning_about_colored_objects",
        "ruin_names",
        "salient_translation_error_detection",
        "snarks",
        "sports_understanding",
        "temporal_sequences",
        "tracking_shuffled_objects_five_objects",
        "tracking_shuffled_objects_seven_objects",
        "tracking_shuffled_objects_three_objects",
        "web_of_lies",
        "word_sorting",
    ),
    split="test",
    licence="MIT",
    columns=("input", "target"),
    read=read,
)
