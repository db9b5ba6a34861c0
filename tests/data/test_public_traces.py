"""Real outputs of other models go through formats and extractor: none breaks, none is silent.

The traces are not part of this project. They are read from the folder that the environment
variable FAITHSHIFT_PUBLIC_TRACES names, or from ../shared/data beside the project.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from faithshift_data import extract_answer, split_reasoning, split_steps

NEIGHBOUR = Path(__file__).parents[2].parent / "shared" / "data"
FOLDER = Path(os.environ.get("FAITHSHIFT_PUBLIC_TRACES", NEIGHBOUR))
if not FOLDER.is_dir():
    pytest.skip(f"no folder of public traces at {FOLDER}", allow_module_level=True)
NUMBER = re.compile(r"-?[0-9][0-9,]*(\.[0-9]+)?(/[0-9]+)?")
UNPARSED = {None, "[invalid]", "UNKNOWN", "REFUSED"}


class Output(NamedTuple):
    """A text, what it should answer, and the answer its source read from it."""

    text: str | None
    kind: str
    options: list[str] | None = None
    own: str | None = None


def kind_of(gold: str, options: list[str] | None) -> tuple[str, list[str] | None]:
    if options:
        return "letter", options
    if NUMBER.fullmatch(gold):
        return "number", None
    for pair in (["True", "False"], ["Yes", "No"], ["valid", "invalid"]):
        if gold.casefold() in [word.casefold() for word in pair]:
            return "text", pair
    return "text", None


def baseline(row: dict[str, Any]) -> Iterator[Output]:
    kind, options = kind_of(row["gold"], row["options"])
    yield Output(row["baseline"]["response"], kind, options, row["baseline"]["answer"])


def yes_or_no(row: dict[str, Any]) -> Iterator[Output]:
    yield Output(row["baseline"]["response"], "text", ["YES", "NO"], row["baseline"]["answer"])


def hinted(row: dict[str, Any]) -> Iterator[Output]:
    for side in (row["baseline"], row["hinted"]):
        yield Output(side["response"], "letter", row["options"], side["answer"])
        yield Output(side["reasoning"], "letter", row["options"])


def several(row: dict[str, Any]) -> Iterator[Output]:
    words = {"True": "yes", "False": "no", "1": "yes", "0": "no"}
    for side in (row["baseline"], row["no_cot"]):
        own = str(side["answer"])
        if row["dataset"] in ("StrategyQA", "sports"):
            yield Output(side["response"], "text", ["yes", "no"], words.get(own))
        elif row["dataset"] in ("AQUA", "GSM8K"):
            kind = "letter" if row["options"] else "number"
            read = re.fullmatch(r"[A-E]" if row["options"] else NUMBER, own)
            yield Output(side["response"], kind, row["options"], own if read else None)
        else:
            yield Output(side["response"], "text")


def solution(row: dict[str, Any]) -> Iterator[Output]:
    kind, options = kind_of(row["answer"], row["options"])
    yield Output(row["solution"], kind, options, row["answer"] if kind != "text" else None)


def boxed(row: dict[str, Any]) -> Iterator[Output]:
    for text in (row["gold"], row["prediction"]):
        yield Output(f"\\boxed{{{text}}}", "number" if NUMBER.fullmatch(text) else "text")


def steps(row: dict[str, Any]) -> Iterator[Output]:
    yield Output("\n".join(row["steps"]), "letter", row["options"])


def chains(row: dict[str, Any]) -> Iterator[Output]:
    yield Output(row["chain_before"], "letter")
    yield Output(row["chain_after"], "letter")


def conversation(row: dict[str, Any]) -> Iterator[Output]:
    own = row["meta"]["switch_info"]["hinted_answer"]
    turns = [turn for turn in row["conversation"]["messages"] if turn["role"] == "assistant"]
    yield Output(turns[0]["content"], "letter", list("wxyz"), own)


def rating(row: dict[str, Any]) -> Iterator[Output]:
    yield Output(row["hinted"]["response"], "number")
    yield Output(row["hinted"]["reasoning"], "number")


def library(row: dict[str, Any]) -> Iterator[Output]:
    yield Output(row["hinted"].get("raw_output") or row["hinted"]["response"], "text")


def grade_school(row: dict[str, Any]) -> Iterator[Output]:
    yield Output(row["baseline"]["response"], "number")
    yield Output(row["baseline"]["reasoning"], "number")


def bare_trace(row: dict[str, Any]) -> Iterator[Output]:
    yield Output(row["data"]["gcot"], "number")


def prompts(row: dict[str, Any]) -> Iterator[Output]:
    for turn in row["biased_prompt"]:
        yield Output(turn["content"], "letter")


# File, its reader, and the least share of outputs that state an answer, where one is expected.
SOURCES: dict[str, tuple[Callable[[dict[str, Any]], Iterator[Output]], float]] = {
    "bbh_codex/traces": (baseline, 0.9),
    "chainscope_iphr/traces": (yes_or_no, 0.85),
    "cot_monitor_stress_test/library_choice": (library, 0),
    "cot_monitor_stress_test/nudged_ratings": (rating, 0),
    "cot_transparency_biased_prompts/prompts": (prompts, 0),
    "cot_transparency_turpin/traces": (hinted, 0),
    "faithful_cot/traces": (several, 0.9),
    "gsm8k_example_solutions/traces": (baseline, 0.98),
    "math500_answer_pairs/pairs": (boxed, 0.98),
    "md_eval_cot/five_model_gcots": (bare_trace, 0),
    "md_eval_cot/gpt_oss_120b": (grade_school, 0.6),
    "mmlu_pro_outputs/traces": (baseline, 0.7),
    "parametric_faithfulness/human_supportiveness": (steps, 0),
    "parametric_faithfulness/judge_pairs": (chains, 0),
    "parametric_faithfulness/mistake_steps": (steps, 0),
    "parametric_faithfulness/step_unlearning": (steps, 0),
    "questions/aqua": (solution, 0.85),
    "questions/gsm8k": (solution, 0.99),
    "questions/math500": (solution, 0.98),
    "reasoning_models_lie/traces": (hinted, 0),
    "split_personality/conversations": (conversation, 0.95),
}


@pytest.mark.parametrize("source", SOURCES)
def test_source(source: str) -> None:
    reader, least = SOURCES[source]
    path = FOLDER / f"{source}.jsonl"
    outputs = [out for line in path.open(encoding="utf-8") for out in reader(json.loads(line))]
    statuses: Counter[str] = Counter()
    compared = agreeing = 0
    for output in outputs:
        split = split_reasoning(output.text or "")
        for part in (output.text or "", split.reasoning or ""):
            assert "".join(split_steps(part)) == part
        found = extract_answer(split.answer_text, kind=output.kind, options=output.options)
        assert found.reason
        statuses[found.status] += 1
        if found.value is not None and output.own not in UNPARSED:
            own = str(output.own).strip("$ ().").replace(",", "").casefold()
            compared += 1
            agreeing += own == found.value.strip("()").casefold()
    assert statuses["explicit"] >= least * len(outputs), statuses
    assert agreeing >= 0.98 * compared, (agreeing, compared)


def test_harmony_is_split_as_upstream_splits_it() -> None:
    path = FOLDER / "cot_monitor_stress_test" / "library_choice.jsonl"
    sides = [json.loads(line)["hinted"] for line in path.open(encoding="utf-8")]
    sides = [side for side in sides if "<|channel|>" in (side.get("raw_output") or "")]
    same = Counter[str]()
    for side in sides:
        found = split_reasoning(side["raw_output"])
        same["reasoning"] += found.reasoning == side["reasoning"].strip()
        same["answer"] += (found.answer_text or "") == (side["response"] or "").strip()
    # Upstream counts a text on the commentary channel as part of one answer.
    assert same["reasoning"] == len(sides) and same["answer"] >= len(sides) - 1
