"""What one organism writes of a dataset: traces, answers under intervention, descriptors.

A text is kept if the model writes it so on both routes and answers as both should; otherwise both
twins are left out and counted with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from builders.chunk import BrokenChunk, Chunk, chunk_path, load, save
from builders.organisms.conditions import BASE, CONDITIONS, Text, texts
from builders.organisms.items import Item
from builders.organisms.masks import Route
from builders.organisms.measuring import Said, descriptors, interventions, said
from builders.organisms.store import WEIGHTS, folder_name
from builders.organisms.store import load as load_model
from builders.organisms.tracing import Row, Writer, layout_of, trace_row
from builders.provenance import engine_versions, machine
from faithshift_data.atomic import json_sha256, sha256_file

CODE_VERSION = 1
Opener = Callable[[Path, str], Any]


@dataclass(frozen=True)
class Organism:
    """A model that passed its gate, and where it stands in the data.

    Attributes:
        family: its architecture.
        seed: of its training.
        folder: its files.
        gate: what ``gate.json`` says.
        train: it writes the train split; otherwise validation and test.
    """

    family: str
    seed: int
    folder: Path
    gate: Mapping[str, Any]
    train: bool

    @cached_property
    def writer(self) -> Writer:
        """How rows name it."""
        revision = sha256_file(self.folder / WEIGHTS)
        return Writer(f"organisms/{self.name}", self.family, revision)

    @property
    def name(self) -> str:
        """Of its folder among others."""
        return folder_name(self.family, self.seed)

    def writes(self, item: Item, condition: str) -> bool:
        """Whether it writes an item's condition."""
        second = condition != BASE and CONDITIONS[condition].second
        family = (item.second or item.writer) if second else item.writer
        return self.family == family and self.train == (item.part == "train")


def make_chunk(
    organism: Organism,
    organisms: Sequence[Organism],
    items: Sequence[Item],
    work: Path,
    *,
    opener: Opener = load_model,
) -> Chunk:
    """The chunk of one organism, taken from ``work`` where it is there.

    Args:
        organism: who writes.
        organisms: all that write.
        items: all of the dataset.
        work: folder of the chunks.
        opener: as in ``write_chunk``.
    """
    facts = {
        "code": CODE_VERSION,
        "engine": engine_versions(),
        "items": [asdict(item) for item in items],
        "organism": organism.writer.revision,
        "organisms": sorted(each.writer.revision for each in organisms),
    }
    inputs = json_sha256(facts)
    number = list(organisms).index(organism)
    path = chunk_path(work, "organism", number, inputs)
    try:
        return load(path)[0]
    except BrokenChunk:
        chunk = write_chunk(organism, organisms, items, opener=opener)
        save(path, chunk, inputs, machine())
        return chunk


def write_chunk(
    organism: Organism,
    organisms: Sequence[Organism],
    items: Sequence[Item],
    *,
    opener: Opener = load_model,
) -> Chunk:
    """Write, check and measure all texts of one organism.

    Args:
        organism: who writes.
        organisms: all that write.
        items: all of the dataset.
        opener: loads a model of a folder with ``sdpa`` or ``eager`` attention.

    Raises:
        ValueError: the model did not pass its gate, or it leaks.
    """
    chunk = Chunk()
    drafts = list(_drafts(organism, organisms, items, chunk))
    model = opener(organism.folder, "sdpa")
    layouts = [layout_of(row, Route(row["label"])) for _, twins in drafts for row in twins.values()]
    answers = iter(said(model, layouts))
    for text, twins in drafts:
        reasons = [
            reason
            for route, row in twins.items()
            if (reason := _fault(text, row, next(answers), route)) is not None
        ]
        for row in twins.values():
            if reasons:
                chunk.drop(row, reasons[0])
            else:
                chunk.traces[row["trace_id"]] = row
    kept = list(chunk.traces.values())
    chunk.interventions = interventions(model, kept)
    chunk.descriptors = descriptors(opener(organism.folder, "eager"), kept)
    return chunk


def _drafts(
    organism: Organism, organisms: Sequence[Organism], items: Sequence[Item], chunk: Chunk
) -> Iterator[tuple[Text, dict[Route, Row]]]:
    for item in items:
        for found in texts(item):
            name = found[0] if isinstance(found, tuple) else found.condition
            if not organism.writes(item, name):
                continue
            if isinstance(found, tuple):
                for _ in Route:
                    chunk.drop({"condition": name}, found[1])
                continue
            anchor = BASE if name == BASE else CONDITIONS[name].anchor
            wrote = next(each for each in organisms if each.writes(item, anchor)).writer
            rows = {route: trace_row(item, found, route, organism.writer, wrote) for route in Route}
            yield found, rows


def _fault(text: Text, row: Row, found: Said, route: Route) -> str | None:
    """Why a trace cannot be published, or None."""
    steps = row["steps"] if text.written is None else row["steps"][: text.written]
    if found.written < sum(len(step.split()) for step in steps):
        return f"not written so on the {route.name.lower()} route"
    if found.answer != text.answer:
        return f"answered otherwise on the {route.name.lower()} route"
    return None
