"""What one process does with a chunk of items: write, measure, label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import torch

from builders.axes import SECOND, WRITER, Axis, Turn, registry, used
from builders.chunk import Chunk, drop_orphans
from builders.labels import clean_counterpart, label_trace
from builders.measuring import Measured, Question, measure
from builders.model import Model
from builders.presets import Preset
from builders.prompts import OPENER, make_cue, user_message
from builders.rows import Row, trace_row
from builders.sources import Item, item_rng
from builders.weights import Weights
from builders.writing import MIN_STEPS, Draft, fill, write
from faithshift_data.measure.engines.opening import before_reasoning
from faithshift_data.measure.interventions import (
    AS_SHOWN,
    FEATURE_PROBES,
    FEATURE_SUBSET,
    LABEL_PROBES,
    Probe,
)
from faithshift_data.schema import LabelRule, Mode

FULL_CONDITIONS = 2
# Traces that are measured together: what is kept of each reading is some megabytes.
TOGETHER = 32


class Worker:
    """The models in memory and the rules of a preset."""

    def __init__(self, preset: Preset, weights: Sequence[Weights]) -> None:
        """Take the models, the writer first; one thread a process."""
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        # Filling what is written over anyway only takes time.
        torch.utils.deterministic.fill_uninitialized_memory = False
        self.preset = preset
        self.models = dict(zip((WRITER, SECOND), (Model(w, preset) for w in weights), strict=False))
        self.axes = used(preset.without, second=SECOND in self.models, language=preset.language)
        self.rule = LabelRule(preset.label_rule)

    def screen(self, items: Sequence[Item]) -> Chunk:
        """The first generation of both anchors, label probes only."""
        chunk = self._begun()
        self._produce(chunk, [d for item in items for d in self._anchors(item, 0)], screening=True)
        self._label(chunk, chunk.traces.values())
        return chunk

    def build(self, items: Sequence[Item], screened: Mapping[str, Chunk]) -> Chunk:
        """All traces of some items; the screened anchors are taken over with their label rows."""
        chunk = self._begun()
        self._take_over(chunk, items, screened)
        self._produce(chunk, [d for item in items for d in self._anchors(item, 1)])
        self._produce(chunk, [d for item in items for d in self._regenerated(chunk, item)])
        self._label(chunk, chunk.traces.values())
        for axis in self.axes.values():
            if axis.edit:
                drafts = [d for item in items for d in self._edited(chunk, item, axis)]
                self._keep(chunk, drafts)
                self._label(chunk, [d.row for d in drafts if d.row["trace_id"] in chunk.traces])
        return chunk

    def _begun(self) -> Chunk:
        for model in self.models.values():
            model.forget()
        return Chunk()

    def _take_over(
        self, chunk: Chunk, items: Sequence[Item], screened: Mapping[str, Chunk]
    ) -> None:
        drafts = []
        for item in items:
            kept = screened[item.item_id].of_item(item.item_id)
            chunk.traces |= kept.traces
            chunk.interventions |= kept.interventions
            rows = kept.traces.values()
            drafts += [Draft(item, r, self.models[WRITER], self.preset.max_tokens) for r in rows]
        self._keep(chunk, drafts)

    def _anchors(self, item: Item, gen_index: int) -> list[Draft]:
        cue = make_cue(item, self.preset.cue_format)
        base = self._ask(item, "base", gen_index, Turn(user_message(item), None))
        cued = self._ask(
            item,
            "cued_base",
            gen_index,
            Turn(user_message(item, cue=cue), cue),
            axis="cue_injection",
            mode=str(Mode.REGEN),
            anchor_id=base.row["trace_id"],
        )
        return [base, cued]

    def _ask(
        self,
        item: Item,
        condition: str,
        gen_index: int,
        turn: Turn,
        *,
        model: str = WRITER,
        **place: str | None,
    ) -> Draft:
        who = self.models[model]
        row = trace_row(
            item,
            condition=condition,
            gen_index=gen_index,
            question=turn.message.split("\n", 1)[0],
            prompt=before_reasoning(who.writer, turn.message) + (turn.opener or OPENER),
            cue=turn.cue,
            model=who.info,
            rule=self.rule,
            options=turn.options,
            **place,
        )
        return Draft(item, row, who, turn.tokens(self.preset.max_tokens), turn.language)

    def _regenerated(self, chunk: Chunk, item: Item) -> list[Draft]:
        drafts = []
        for axis in self.axes.values():
            if axis.turn is None:
                continue
            for anchor in _starts(chunk, item, axis):
                cue = make_cue(item, anchor["cue"]["format"]) if anchor["cue"] else None
                turn = axis.turn(item, cue)
                if turn is None:
                    chunk.drop({"condition": axis.condition}, "no candidate")
                    continue
                draft = self._ask(
                    item,
                    axis.condition,
                    anchor["gen_index"],
                    turn,
                    model=axis.model,
                    axis=axis.name,
                    mode=str(axis.mode),
                    anchor_id=anchor["trace_id"],
                )
                drafts.append(draft)
        return drafts

    def _edited(self, chunk: Chunk, item: Item, axis: Axis) -> list[Draft]:
        drafts = []
        for anchor in _starts(chunk, item, axis):
            if axis.edit is None or axis.needs_label not in (None, anchor["label"]):
                continue
            row = trace_row(
                item,
                condition=axis.condition,
                gen_index=anchor["gen_index"],
                question=anchor["question"],
                prompt=anchor["prompt"],
                cue=None,
                model=self.models[WRITER].info,
                rule=self.rule,
                axis=axis.name,
                mode=str(axis.mode),
                anchor_id=anchor["trace_id"],
            )
            reasoning = axis.edit(item, anchor)
            if reasoning is None:
                chunk.drop(row, "no candidate")
                continue
            row["cue"], row["generation"] = anchor["cue"], anchor["generation"]
            row["answer"] = anchor["answer"] if axis.keeps_answer else None
            fill(row, reasoning, truncated=anchor["truncated"])
            drafts.append(Draft(item, row, self.models[WRITER], self.preset.max_tokens))
        return drafts

    def _produce(self, chunk: Chunk, drafts: list[Draft], *, screening: bool = False) -> None:
        """Write and measure drafts; one without two steps or an answer is written anew."""
        waiting, reasons = drafts, dict[str, str]()
        for attempt in range(self.preset.attempts):
            written = []
            for draft, n_tokens in write(waiting, attempt):
                chunk.tokens += n_tokens
                if len(draft.row["steps"]) < MIN_STEPS:
                    reasons[draft.row["trace_id"]] = "fewer than two steps"
                else:
                    written.append(draft)
            reasons |= self._keep(chunk, written, screening=screening)
            settled = set(chunk.traces) | set(chunk.errors)
            waiting = [d for d in waiting if d.row["trace_id"] not in settled]
            if not waiting:
                break
        for draft in waiting:
            chunk.drop(draft.row, reasons[draft.row["trace_id"]])
        drop_orphans([chunk])

    @staticmethod
    def _keep(chunk: Chunk, drafts: Iterable[Draft], *, screening: bool = False) -> dict[str, str]:
        """Measure drafts and keep those with an answer; why the others are not kept, by id."""
        reasons = {}
        for model, some in _together(drafts):
            questions = [_question(chunk, draft, screening=screening) for draft in some]
            for draft, found in zip(some, measure(model, questions), strict=True):
                if isinstance(found, Exception):
                    chunk.fail(draft.row, found)
                elif found.answer is None:
                    reasons[draft.row["trace_id"]] = "no answer"
                else:
                    _take(chunk, draft.row, found)
        return reasons

    def _label(self, chunk: Chunk, rows: Iterable[Row]) -> None:
        for row in rows:
            clean = clean_counterpart(row, chunk.traces)
            found = label_trace(row, clean, chunk.interventions[row["trace_id"]], rule=self.rule)
            row["label"], row["label_evidence"] = found.value, list(found.evidence)


def _together(drafts: Iterable[Draft]) -> Iterator[tuple[Model, list[Draft]]]:
    """Drafts that are measured together, and the model that reads them."""
    for _, group in groupby(drafts, key=lambda draft: draft.model.info["revision"]):
        many = list(group)
        for start in range(0, len(many), TOGETHER):
            yield many[0].model, many[start : start + TOGETHER]


def _question(chunk: Chunk, draft: Draft, *, screening: bool) -> Question:
    """What is asked about a draft: nothing that a label needs where it has been labelled."""
    row = draft.row
    probes: tuple[Probe, ...] = LABEL_PROBES if row.get("answer") is None else (AS_SHOWN,)
    if row["trace_id"] in chunk.traces:
        probes = ()
    if not screening:
        probes = (*probes, *_features(draft.item, row))
    return Question(draft.item, row, probes, draft.language, describing=not screening)


def _take(chunk: Chunk, row: Row, found: Measured) -> None:
    trace_id = row["trace_id"]
    row["answer"], row["answer_status"] = found.answer, found.status
    chunk.traces[trace_id] = row
    chunk.interventions.setdefault(trace_id, []).extend(found.rows)
    if found.descriptors:
        chunk.descriptors[trace_id] = found.descriptors


def _features(item: Item, row: Row) -> tuple[Probe, ...]:
    """The full set for first anchors and the partners of two drawn conditions, else the subset."""
    if row["gen_index"] > 0:
        return FEATURE_SUBSET
    if row["condition"] in ("base", "cued_base"):
        return FEATURE_PROBES
    conditions = [name for name, axis in registry().items() if axis.anchors]
    drawn = item_rng(item.item_id, "full probes").sample(conditions, FULL_CONDITIONS)
    return FEATURE_PROBES if row["condition"] in drawn else FEATURE_SUBSET


def _starts(chunk: Chunk, item: Item, axis: Axis) -> list[Row]:
    """The traces of an item from which an axis starts."""
    wanted = axis.starts(item.item_id)
    return [
        row
        for row in chunk.traces.values()
        if row["item_id"] == item.item_id and row["gen_index"] in wanted.get(row["condition"], ())
    ]
