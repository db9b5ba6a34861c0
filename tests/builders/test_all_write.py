"""Several models that all write: one build each, put together, and family pairs between them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import faithshift_data as fd
from builders import stages
from builders.__main__ import main
from builders.chunk import Chunk
from builders.package import Made
from builders.presets import load_preset
from builders.shards import Shard
from builders.sources import Question, make_item
from builders.stages import Missing, build_shard
from builders.weights import Weights
from tests.builders.hub_shapes import gsm8k, write_copy
from tests.builders.tiny import PRESET, untranslated, write_talking_model

MODELS = tuple(Weights(Path(n), n, n, "f", "MIT", "here") for n in ("one", "two"))
WITHOUT = ("language", "budget", "paraphrase_edit", "step_reorder", "cue_silencing", "hint_format")
PAPER = replace(load_preset("paper"), models=("one", "two"))


def made(name: str, kept: int) -> Made:
    items = [
        make_item("d", "s", "t", Question((f"What is {k}?",), str(k), (str(k + 1),)), "CC0")
        for k in range(kept)
    ]
    rates = {"rule": "r", "by_domain": {"d": {"neither": {"candidates": 3, "kept": kept}}}}
    chunk = Chunk({name: {"trace_id": name}})
    return Made(items, [chunk], [chunk], rates, [{"machine": name}])


def drawn_once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the presets whose sources are drawn, none of them really; nothing is translated."""
    asked: list[str] = []
    untranslated(monkeypatch)
    monkeypatch.setattr(stages, "drawn", lambda preset: asked.append(preset.name))
    return asked


def test_what_models_made_is_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"one": made("one", 2), "two": made("two", 3)}
    asked = drawn_once(monkeypatch)
    monkeypatch.setattr(stages, "_make", lambda _, preset, models, *__: parts[models[0].model_id])
    whole = stages._make_all(PAPER, MODELS, tmp_path, 1, Shard())
    assert len(whole.kept) == 3 and [item.item_id for item in whole.kept] == sorted(
        item.item_id for item in parts["two"].kept
    )
    assert [list(chunk.traces) for chunk in whole.built] == [["one"], ["two"]]
    assert whole.screening["by_domain"] == {"d": {"neither": {"candidates": 6, "kept": 5}}}
    assert [maker["machine"] for maker in whole.makers] == ["one", "two"]
    assert asked == [PAPER.name]


def test_a_shard_goes_on_to_the_next_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def lacks(_: Any, preset: Any, models: tuple[Weights, ...], *__: Any) -> Made:
        asked.append(models[0].model_id)
        raise Missing(f"screen: chunks of {models[0].model_id} are missing")

    drawn_once(monkeypatch)
    monkeypatch.setattr(stages, "_make", lacks)
    said = build_shard(PAPER, MODELS, tmp_path, workers=1, shard=Shard.parse("1/2"))
    assert asked == ["one", "two"] and said.endswith("chunks of one are missing")


def test_two_models_from_questions_to_a_sound_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untranslated(monkeypatch)
    monkeypatch.setattr("builders.package.semantic_distances", lambda *_: {})
    models = [str(write_talking_model(tmp_path / n, seed=s)) for n, s in (("a", 0), ("b", 3))]
    asked = "If Ada is certain, she usually needs {} big boxes. How many does she often need?"
    rows = [gsm8k(asked.format(k), str(k)) for k in (7, 12)]
    write_copy(tmp_path / "copies" / "gsm8k", "test", {"main": rows})
    text = PRESET.format(candidates=1, model="MODELS").replace(
        'models = ["MODELS"]',
        f'models = {models}\nall_write = true\nsources = [{{name = "gsm8k"}}]',
    )
    (tmp_path / "own.toml").write_text(text.replace("without = []", f"without = {list(WITHOUT)}"))
    command = ["build", "--preset", str(tmp_path / "own.toml"), "--workers", "1"]
    command += ["--copies", str(tmp_path / "copies"), "--out", str(tmp_path / "out")]
    assert main(command) == 0
    assert fd.check(str(tmp_path / "out")) == []
    data = fd.open(str(tmp_path / "out"))
    traces = data.table("traces").to_pylist()
    assert {row["model_id"] for row in traces} == {"a", "b"}
    assert {row["source"] for row in traces} == {"openai/gsm8k"}
    assert {row["licence"] for row in traces} == {"MIT"} and data.manifest.licence == "mixed"
    pairs = [p for p in data.table("pairs").to_pylist() if p["axis"] == "model_family"]
    where = {row["trace_id"]: row for row in traces}
    ends = [(where[pair["anchor_id"]], where[pair["partner_id"]]) for pair in pairs]
    assert ends and all(
        left["condition"] == right["condition"] == "base" and left["model_id"] != right["model_id"]
        for left, right in ends
    )
    assert len({left["item_id"] for left, _ in ends}) == len(ends)
    assert [source.origin for source in data.manifest.sources] == [
        "openai/gsm8k, split test, a local copy"
    ]
    assert data.manifest.screening["sources"]["gsm8k"]["rows"] == 2
    assert len(data.manifest.screening["items_sha256"]) == 64
