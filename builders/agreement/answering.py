"""Models answer the questions of a run, freely and behind reasoning that was put in their place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from builders.agreement.asking import (
    arguments,
    block_of,
    cue_of,
    hint_of,
    injected,
    injections,
    messages,
)
from builders.agreement.model_types import BLOCK, typed
from builders.agreement.preset import AgreementPreset
from builders.engine import engine_for
from builders.jobs import progress
from builders.pool import Pool
from builders.provenance import version_of
from builders.sources import Item
from builders.sources.drawing import draw, items_sha256
from builders.weights import Weights, load_models
from faithshift_bench.agreement.conditions import BASELINE, HINTED, UNCUED, WRONG, is_injected
from faithshift_bench.agreement.settings import RUN
from faithshift_data.answers import extract_answer
from faithshift_data.atomic import canonical_json, is_free, json_sha256, write_text
from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion, Engine, Sampling, generation_seed
from faithshift_data.reasoning import ReasoningStatus, block_span, split_reasoning
from faithshift_data.schema import stable_id

ANSWERS = "answers.jsonl"
WHITE_BOX = "transformers"
# A model without a reasoning block has reasoned up to where it says so.
STATES = ("Answer:", "####")
Row = dict[str, Any]


@dataclass(frozen=True)
class _Part:
    """Questions that one model answers together, and the file that keeps its rows."""

    preset: AgreementPreset
    model: Weights
    items: tuple[Item, ...]
    elicit: bool
    run: int
    path: Path


def answer_all(preset: AgreementPreset, out: Path, *, workers: int = 1) -> Path:
    """Let every pinned model answer, and write the folder that ``faithshift agree`` reads.

    What is done lies in ``<out>.work`` and is not done again.

    Args:
        preset: the settings.
        out: a new folder.
        workers: processes, of one thread each, for models that compute in them; answers do not
            depend on their number. Other engines spread their work themselves.

    Returns:
        The folder: ``answers.jsonl``, and ``run.json`` with what it was made by.

    Raises:
        InputError: a folder that is there, questions that cannot be drawn or are not the frozen
            ones, or an engine that cannot be made or does not continue injected text.
        ValueError: a model that is not pinned or not here.
    """
    if not is_free(out):
        raise InputError("already exists", file=out, expected="a new folder")
    if preset.runnable != preset.models:
        loose = next(name for name in preset.models if name not in preset.runnable)
        raise ValueError(f"models: expected ORG/NAME@COMMIT or a folder, got {loose!r}")
    items = questions(preset)
    weights = load_models(preset.models)
    parts = list(_parts(preset, weights, items, out.with_name(out.name + ".work")))
    todo = [partial(_answer, part) for part in parts if not part.path.is_file()]
    here = preset.engine == WHITE_BOX
    pool = Pool(workers if here else 1, partial(_prepare, here))
    with progress("answers", len(todo)) as bar, pool:
        for _ in pool.results(todo) if todo else ():
            bar.update()
    rows: list[Row] = []
    for name, model in zip(preset.models, weights, strict=True):
        found = [row for part in parts if part.model == model for row in _kept(part)]
        rows += typed(found, preset.model_types.get(name))
    made = {
        "elicitation": preset.answer_cue,
        "preset": asdict(preset),
        "items_sha256": items_sha256(items),
        "engine": {"name": preset.engine, "version": version_of(preset.engine)},
        "models": [{"model": each.model_id, "revision": each.revision} for each in weights],
    }
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / RUN, canonical_json(made))
    write_text(out / ANSWERS, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return out


def questions(preset: AgreementPreset) -> list[Item]:
    """The items of a run.

    Raises:
        InputError: a source that cannot be read, or other items than the frozen ones.
        ValueError: too few of them.
    """
    return draw(preset.sources, preset.items, preset.item_seed).expect(preset.items_sha256).items


def _parts(
    preset: AgreementPreset, weights: Sequence[Weights], items: Sequence[Item], work: Path
) -> Iterator[_Part]:
    for name, model in zip(preset.models, weights, strict=True):
        for run in preset.runs(name):
            elicit = preset.elicits(name) and not run
            for start in range(0, len(items), preset.chunk):
                batch = tuple(items[start : start + preset.chunk])
                key = stable_id("chunk", _key(preset, model, batch, elicit, run))
                yield _Part(preset, model, batch, elicit, run, work / f"{key}.json")


def _key(
    preset: AgreementPreset, model: Weights, batch: Sequence[Item], elicit: bool, run: int
) -> str:
    around = {"name", "version", "models", "wanted_models", "items", "items_sha256", "sources"}
    around |= {"model_types", "repeated", "elicitation", "wanted_elicitation"}
    settings = {key: value for key, value in asdict(preset).items() if key not in around}
    writer, asked = version_of(preset.engine), [asdict(item) for item in batch]
    return json_sha256([settings, elicit, run, writer, model.revision, asked])


# The engine of this process, and the revision of its model: parts come model by model.
_LOADED: list[tuple[str, Engine]] = []


def _prepare(computes_here: bool) -> None:
    _LOADED.clear()
    if computes_here:
        import torch

        torch.set_num_threads(1)


def _answer(part: _Part) -> None:
    if [part.model.revision] != [revision for revision, _ in _LOADED]:
        _LOADED.clear()
        _LOADED.append((part.model.revision, _engine(part.preset, part.model)))
    engine = _LOADED[0][1]
    rows = ask(part.preset, engine, part.model.model_id, part.items, elicit=part.elicit)
    part.path.parent.mkdir(parents=True, exist_ok=True)
    write_text(part.path, canonical_json(rows))


def _kept(part: _Part) -> list[Row]:
    return [{**row, "run": part.run} for row in json.loads(part.path.read_text("utf-8"))]


def _engine(preset: AgreementPreset, model: Weights) -> Engine:
    from faithshift_data.measure.engines.probe import refuse_unfit

    engine = engine_for(model, preset.engine, preset.engine_options, preset.dtype)
    refuse_unfit(engine)
    return engine


def ask(
    preset: AgreementPreset,
    engine: Engine,
    name: str,
    items: Sequence[Item],
    *,
    elicit: bool = False,
) -> list[Row]:
    """The rows of some items: two free generations each, then those behind injected text.

    Args:
        preset: the settings.
        engine: the model.
        name: of the model.
        items: the questions.
        elicit: whether the conditions of the elicitation experiment are asked, too.

    Returns:
        Rows before ``model_types.typed``: free ones say whether they reason within a block.
        ``injection_verified`` is whether the model read the prompt as it was sent, with the
        injected text in it; None where a server that gets text does not say. ``regenerated`` is
        whether a reasoning block of its own follows; prose before the answer is none.
    """
    free = Sampling(preset.max_tokens, preset.temperature, preset.top_p, preset.stop)
    short = Sampling(preset.answer_tokens, preset.temperature, preset.top_p, ("\n",))
    asked = [
        (item, condition, engine.render(message))
        for item in items
        for condition, message in messages(preset, item).items()
    ]
    said = _complete(engine, name, asked, free)
    rows: list[Row] = []
    cued, uncued = list[tuple[Item, str, str]](), list[tuple[Item, str, str]]()
    for (item, condition, prompt), done in zip(asked, said, strict=True):
        read = _read(prompt, done)
        within = block_span(done.text, prompt_tail=prompt) is not None
        rows.append(_row(preset, name, item, condition, done, read) | {BLOCK: within})
        block = block_of(prompt, done.text)
        texts = arguments(preset, item) if elicit else {}
        if condition == HINTED:
            texts = injections(preset, read["reasoning"] or "", elicit=elicit)
        for label, text in texts.items():
            cue = cue_of(preset, label)
            behind = cued if cue else uncued
            behind.append((item, label, injected(prompt, text, block, cue)))
    for behind, sampling in ((cued, short), (uncued, free)):
        said = _complete(engine, name, behind, sampling)
        for (item, condition, prompt), done in zip(behind, said, strict=True):
            cue = cue_of(preset, condition)
            own = {"stated": cue + done.text, "reasoning": None} if cue else _read(prompt, done)
            more = {
                "injection_verified": engine.read_back(prompt) == prompt
                if engine.sends_ids
                else None,
                "regenerated": block_span(done.text) is not None,
            }
            rows.append(_row(preset, name, item, condition, done, own) | more)
    return rows


def _complete(
    engine: Engine, name: str, asked: Sequence[tuple[Item, str, str]], sampling: Sampling
) -> list[Completion]:
    seeds = [generation_seed(stable_id("a", name, i.item_id, c)) for i, c, _ in asked]
    return engine.complete([prompt for _, _, prompt in asked], seeds, sampling)


def _read(prompt: str, done: Completion) -> Mapping[str, str | None]:
    """What a free generation states and how it reasons; a cut one states nothing."""
    split = split_reasoning(done.text, prompt_tail=prompt)
    if split.status != ReasoningStatus.ABSENT:
        return {"stated": split.answer_text, "reasoning": split.reasoning}
    ends = [at for mark in STATES if (at := done.text.rfind(mark)) >= 0]
    stated = None if done.finish == "length" else done.text
    return {"stated": stated, "reasoning": done.text[: min(ends, default=None)].rstrip()}


def _row(
    preset: AgreementPreset,
    name: str,
    item: Item,
    condition: str,
    done: Completion,
    read: Mapping[str, str | None],
) -> Row:
    options = list(item.options or ())
    found = extract_answer(read["stated"], kind=item.answer_kind, options=options or None)
    free = not is_injected(condition)
    cued = is_injected(condition) and not condition.endswith(UNCUED)
    return {
        "model": name,
        "question_id": item.item_id,
        "condition": condition,
        "answer": found.value or "",
        "answer_status": str(found.status),
        "target": item.cue_target if free or condition.startswith(WRONG) else "",
        "gold": item.gold,
        "group": item.task,
        "n_options": len(options),
        "truncated": not cued and done.finish == "length",
        "question": messages(preset, item)[BASELINE] if free else "",
        "cue": hint_of(preset, item).text if condition == HINTED else "",
        "reasoning": read["reasoning"] or "",
    }
