"""Forced answers by text alone: what a black box gives of many traces in one submission.

Nothing is shared between the texts of a trace, and no states are read; an answer is the one that
a shared reading would give, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion, Engine, Unfinished
from faithshift_data.measure.forced import (
    SAMPLING,
    Asked,
    Forced,
    conclude,
    force,
    plan,
    texts_of,
)
from faithshift_data.measure.local_model import LocalModel
from faithshift_data.measure.one_trace import ROOM, Done, Row, Settings, about_of, values_of
from faithshift_data.measure.text_model import TextModel


def measure_behaviour(
    rows: Sequence[Mapping[str, Any]], model: TextModel, settings: Settings
) -> Iterator[tuple[Row, Done | Exception | None]]:
    """Forced answers of traces, without descriptors.

    Args:
        rows: of the traces table, with reasoning and answer.
        model: what is asked.
        settings: how.

    Yields:
        Each row with what ``measure_trace`` returns, or with the reason why there is none.

    Raises:
        InputError: the engine refuses prompts, which no later one would mend.
    """
    asked: dict[int, Asked] = {}
    done: dict[int, Done | Exception | None] = {}
    for place, row in enumerate(rows):
        about = about_of(row, model, settings)
        if model.fits(about["prompt"] + row["reasoning"], ROOM):
            asked[place] = Asked(None, **about)
        else:
            done[place] = None
    forced = force_by_text(model.engine, list(asked.values()))
    for place, each in zip(asked, forced, strict=True):
        done[place] = each if isinstance(each, Exception) else (values_of(each), {})
    for place, row in enumerate(rows):
        yield dict(row), done[place]


def force_shown(
    model: LocalModel | TextModel, abouts: Sequence[Mapping[str, Any]]
) -> list[Forced | Unfinished]:
    """The answers that reasonings lead to, as they are shown.

    Args:
        model: of either kind; a local one reads them one by one.
        abouts: the attributes of ``forced.Asked``, but for the reading.
    """
    if isinstance(model, TextModel):
        return force_by_text(model.engine, [Asked(None, **about) for about in abouts])
    from faithshift_data.measure.shared_prefix import read

    engine = model.engine
    return [
        force(engine, read(engine, about["prompt"] + about["reasoning"]), **about)
        for about in abouts
    ]


def force_by_text(engine: Engine, asked: Sequence[Asked]) -> list[Forced | Unfinished]:
    """``force_all`` of traces without readings, in one submission a kind of answer.

    Returns:
        One result a trace, in order; a trace of which a text was not completed has the reason.

    Raises:
        InputError: an unknown kind of answer or language, or an engine that refuses prompts.
    """
    plans = [list(plan(each)) for each in asked]
    texts = [texts_of(each, planned) for each, planned in zip(asked, plans, strict=True)]
    said: dict[int, list[Completion]] = {}
    missing: dict[int, Unfinished] = {}
    for kind, sampling in SAMPLING.items():
        places = [place for place, each in enumerate(asked) if each.answer_kind == kind]
        flat = [text for place in places for text in texts[place]]
        found, reason = _complete(engine, flat, sampling)
        start = 0
        for place in places:
            mine = range(start, start + len(texts[place]))
            start = mine.stop
            if reason is not None and not found.keys() >= set(mine):
                missing[place] = reason
            else:
                said[place] = [found[number] for number in mine]
    return [
        missing[place]
        if place in missing
        else conclude(engine, each, plans[place], texts[place], said[place])
        for place, each in enumerate(asked)
    ]


def _complete(
    engine: Engine, texts: Sequence[str], sampling: Any
) -> tuple[Mapping[int, Completion], Unfinished | None]:
    if not texts:
        return {}, None
    try:
        return dict(enumerate(engine.complete(texts, [0] * len(texts), sampling))), None
    except Unfinished as error:
        if error.permanent:
            raise InputError(str(error)) from error
        return error.done, error
