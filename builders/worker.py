"""What one process does with a chunk of items: ask the model, measure, label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import torch

from builders.axes import registry
from builders.chunk import Chunk
from builders.labels import clean_counterpart, label_trace
from builders.presets import Preset
from builders.prompts import OPENER, Cue, make_cue, user_message
from builders.rows import Row, generation_seed, trace_row
from builders.sources import Item
from builders.weights import Weights
from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.extract import describe
from faithshift_data.measure.forced import force
from faithshift_data.measure.interventions import AS_SHOWN, FEATURE_PROBES, LABEL_PROBES, Probe
from faithshift_data.measure.shared_prefix import read
from faithshift_data.reasoning import split_steps
from faithshift_data.schema import Mode

STOP = ("Answer:", "answer:", "####")
MIN_STEPS = 2


def whole_steps(text: str, cut: bool) -> str:
    """A reasoning without trailing white space and, where it was cut, without a torn last step."""
    steps = split_steps(text.rstrip())
    if cut and len(steps) > 1 and not steps[-1].rstrip().endswith((".", "!", "?", ":")):
        steps.pop()
    return "".join(steps).rstrip()


class Worker:
    """A model in memory and the rules of a preset."""

    def __init__(self, preset: Preset, weights: Sequence[Weights]) -> None:
        """Load the model that writes and answers; one thread a process."""
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        self.preset = preset
        self.weights = weights[0]
        self.model = {
            "model_id": self.weights.model_id,
            "revision": self.weights.revision,
            "family": self.weights.family,
        }
        self.engine = TransformersEngine(self.weights.path, dtype=preset.writer_dtype)

    @cached_property
    def reader(self) -> TransformersEngine:
        """The model as it is read for descriptors; screening never needs it."""
        return TransformersEngine(
            self.weights.path, dtype=self.preset.reader_dtype, attention="eager"
        )

    def screen(self, items: Sequence[Item]) -> Chunk:
        """The first generation of both anchors, label probes only."""
        chunk = Chunk()
        rows = [row for item in items for row in self._anchors(item, 0)]
        by_id = {item.item_id: item for item in items}
        self._write(chunk, rows)
        for row in list(chunk.traces.values()):
            self._measure(chunk, by_id[row["item_id"]], row, LABEL_PROBES, describing=False)
        self._drop_orphans(chunk)
        self._label(chunk, chunk.traces.values())
        return chunk

    def build(self, items: Sequence[Item], screened: Mapping[str, Chunk]) -> Chunk:
        """All traces of some items; the screened anchors are taken over with their label rows."""
        chunk = Chunk()
        by_id = {item.item_id: item for item in items}
        for item in items:
            old = screened[item.item_id]
            for row in [row for row in old.traces.values() if row["item_id"] == item.item_id]:
                chunk.traces[row["trace_id"]] = row
                chunk.interventions[row["trace_id"]] = old.interventions[row["trace_id"]]
        first = list(chunk.traces.values())
        self._write(chunk, [row for item in items for row in self._anchors(item, 1)])
        for row in first:
            self._measure(chunk, by_id[row["item_id"]], row, FEATURE_PROBES)
        self._measure_new(chunk, by_id)
        self._drop_orphans(chunk)
        self._write(chunk, [row for item in items for row in self._regenerated(chunk, item)])
        self._measure_new(chunk, by_id)
        self._label(chunk, chunk.traces.values())
        edited = [row for item in items for row in self._edited(chunk, item)]
        chunk.traces |= {row["trace_id"]: row for row in edited}
        self._measure_new(chunk, by_id)
        self._label(chunk, [row for row in chunk.traces.values() if row["mode"] == Mode.EDIT])
        return chunk

    def _anchors(self, item: Item, gen_index: int) -> list[Row]:
        cue = make_cue(item, self.preset.cue_format)
        base = self._ask(item, "base", gen_index, user_message(item), None)
        cued = self._ask(
            item,
            "cued_base",
            gen_index,
            user_message(item, cue=cue),
            cue,
            axis="cue_injection",
            mode=str(Mode.REGEN),
            anchor_id=base["trace_id"],
        )
        return [base, cued]

    def _ask(
        self,
        item: Item,
        condition: str,
        gen_index: int,
        message: str,
        cue: Cue | None,
        **place: str | None,
    ) -> Row:
        return trace_row(
            item,
            condition=condition,
            gen_index=gen_index,
            question=message.split("\n", 1)[0],
            prompt=self.engine.render(message, opener=OPENER),
            cue=cue,
            model=self.model,
            **place,
        )

    def _regenerated(self, chunk: Chunk, item: Item) -> list[Row]:
        rows = []
        for axis in registry().values():
            for anchor in self._starts(chunk, item, axis.anchors) if axis.turn else ():
                cue = make_cue(item, anchor["cue"]["format"]) if anchor["cue"] else None
                turn = axis.turn(item, cue)
                place = {"axis": axis.name, "mode": str(axis.mode), "anchor_id": anchor["trace_id"]}
                gen_index = anchor["gen_index"]
                rows.append(self._ask(item, axis.name, gen_index, turn.message, turn.cue, **place))
        return rows

    def _edited(self, chunk: Chunk, item: Item) -> list[Row]:
        rows = []
        for axis in registry().values():
            for anchor in self._starts(chunk, item, axis.anchors) if axis.edit else ():
                if axis.needs_label is not None and anchor["label"] != axis.needs_label:
                    continue
                reasoning = axis.edit(item, anchor)
                row = trace_row(
                    item,
                    condition=axis.name,
                    gen_index=anchor["gen_index"],
                    question=anchor["question"],
                    prompt=anchor["prompt"],
                    cue=None,
                    model=self.model,
                    axis=axis.name,
                    mode=str(axis.mode),
                    anchor_id=anchor["trace_id"],
                )
                if reasoning is None:
                    chunk.drop(row, "no candidate")
                    continue
                row["cue"] = anchor["cue"]
                row["answer"] = anchor["answer"] if axis.keeps_answer else None
                self._fill(row, reasoning, truncated=anchor["truncated"])
                row["generation"] = anchor["generation"]
                rows.append(row)
        return rows

    def _starts(
        self, chunk: Chunk, item: Item, anchors: Mapping[str, tuple[int, ...]]
    ) -> list[Row]:
        return [
            row
            for row in chunk.traces.values()
            if row["item_id"] == item.item_id
            and row["gen_index"] in anchors.get(row["condition"], ())
        ]

    def _write(self, chunk: Chunk, rows: list[Row]) -> None:
        """Generate the reasoning of rows and keep those that have one."""
        preset = self.preset
        sampling = Sampling(preset.max_tokens, preset.temperature, preset.top_p, STOP)
        seeds = [generation_seed(row["trace_id"]) for row in rows]
        done = self.engine.complete([row["prompt"] for row in rows], seeds, sampling)
        for row, seed, completion in zip(rows, seeds, done, strict=True):
            chunk.tokens += completion.n_tokens
            cut = completion.finish == "length"
            self._fill(row, whole_steps(completion.text, cut), truncated=cut)
            row["generation"] = {
                "engine": self.engine.name,
                "engine_version": self.engine.version,
                "seed": seed,
                "temperature": preset.temperature,
                "top_p": preset.top_p,
                "max_tokens": preset.max_tokens,
            }
            if len(row["steps"]) < MIN_STEPS:
                chunk.drop(row, "fewer than two steps")
            else:
                chunk.traces[row["trace_id"]] = row

    @staticmethod
    def _fill(row: Row, reasoning: str, *, truncated: bool) -> None:
        row["reasoning"], row["truncated"] = reasoning, truncated
        row["steps"] = split_steps(reasoning)

    def _measure_new(self, chunk: Chunk, by_id: Mapping[str, Item]) -> None:
        for row in list(chunk.traces.values()):
            if row["trace_id"] not in chunk.interventions:
                attached = row.get("answer") is not None
                label_probes = (AS_SHOWN,) if attached else LABEL_PROBES
                probes = (*label_probes, *FEATURE_PROBES)
                self._measure(chunk, by_id[row["item_id"]], row, probes)

    def _measure(
        self,
        chunk: Chunk,
        item: Item,
        row: Row,
        probes: Sequence[Probe],
        *,
        describing: bool = True,
    ) -> None:
        """Force the answer from the shown reasoning and from every probe's text."""
        prompt, reasoning, cue = row["prompt"], row["reasoning"], row["cue"]
        found = force(
            self.engine,
            read(self.engine, prompt + reasoning),
            trace_id=row["trace_id"],
            prompt=prompt,
            reasoning=reasoning,
            answer_kind=item.answer_kind,
            options=row["options"],
            probes=probes,
            clean_prompt=prompt.replace("\n" + cue["text"], "") if cue else None,
            attached=row.get("answer"),
        )
        row["answer"], row["answer_status"] = found.answer, found.status
        if row["answer"] is None:
            chunk.drop(row, "no answer")
            del chunk.traces[row["trace_id"]]
            return
        chunk.interventions.setdefault(row["trace_id"], []).extend(found.rows)
        if describing:
            cue = row["cue"]["text"] if row["cue"] else ""
            blocks = {"question": row["question"], "cue": cue}
            made = describe(self.reader, prompt, row["steps"], row["answer"], **blocks)
            chunk.descriptors[row["trace_id"]] = {"psi": made.psi, "state": made.state}

    @staticmethod
    def _label(chunk: Chunk, rows: Iterable[Row]) -> None:
        for row in rows:
            clean = clean_counterpart(row, chunk.traces)
            found = label_trace(row, clean, chunk.interventions[row["trace_id"]])
            row["label"], row["label_evidence"] = found.value, list(found.evidence)

    @staticmethod
    def _drop_orphans(chunk: Chunk) -> None:
        while orphans := [
            row for row in chunk.traces.values() if row["anchor_id"] not in {None, *chunk.traces}
        ]:
            for row in orphans:
                chunk.drop(row, "its anchor was dropped")
                for table in (chunk.traces, chunk.interventions, chunk.descriptors):
                    table.pop(row["trace_id"], None)  # type: ignore[attr-defined]
