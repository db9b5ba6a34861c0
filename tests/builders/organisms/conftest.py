"""A dataset of organisms by stand-ins, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

import faithshift_data as fd
from builders.chunk import drop_orphans
from builders.organisms.building import draw
from builders.organisms.chunks import Organism, write_chunk
from builders.organisms.packing import pack
from builders.organisms.preset import OrganismPreset
from tests.builders.organisms.oracle import open_oracle, write_oracle

PRESET = OrganismPreset(
    preset="tiny",
    name="tiny",
    version="0.0.1",
    seed=3,
    families=("gpt_neox", "cohere"),
    models_per_family=2,
    most_seeds=2,
    items={"train": 6, "tune": 2, "calib": 5, "test": 5},
    variants_per_item=9,
)


@pytest.fixture(scope="package")
def organisms(tmp_path_factory: pytest.TempPathFactory) -> list[Organism]:
    folder = tmp_path_factory.mktemp("models")
    made = []
    for family in PRESET.families:
        for seed, train in ((0, True), (1, False)):
            place = folder / f"{family}-{seed}"
            gate = write_oracle(place, family, seed)
            made.append(Organism(family, seed, place, gate, train))
    return made


@pytest.fixture(scope="package")
def folder(organisms: list[Organism], tmp_path_factory: pytest.TempPathFactory) -> Path:
    items = draw(PRESET, organisms)
    chunks = [write_chunk(each, organisms, items, opener=open_oracle) for each in organisms]
    drop_orphans(chunks)
    out = tmp_path_factory.mktemp("data") / "tiny"
    return pack(PRESET, organisms, organisms, items, chunks, out)


@pytest.fixture(scope="package")
def data(folder: Path) -> fd.FaithShift:
    return fd.open(folder)
