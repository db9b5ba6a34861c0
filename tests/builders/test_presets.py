"""Presets: strict, every fault in one line."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from builders.presets import Preset, load_preset

PRESETS = sorted(
    path.stem for path in (Path(__file__).parents[2] / "builders/presets").glob("*.toml")
)


def write(folder: Path, **changes: object) -> str:
    values = {**asdict(load_preset("mini")), **changes}
    lines = [f"{key} = {_toml(value)}" for key, value in values.items() if value is not None]
    (folder / "own.toml").write_text("\n".join(lines))
    return str(folder / "own.toml")


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_loads(name: str) -> None:
    assert load_preset(name).name == name


def test_a_written_preset_comes_back(tmp_path: Path) -> None:
    assert load_preset(write(tmp_path)) == load_preset("mini")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("item_seed", "one", "item_seed: expected int, got 'one'"),
        ("item_seed", 1.0, "item_seed: expected int, got 1.0"),
        ("item_seed", True, "item_seed: expected int, got True"),
        ("item_seed", -1, "item_seed: expected at least 0, got -1"),
        ("screen_chunk", 0, "screen_chunk: expected at least 1, got 0"),
        ("attempts", 0, "attempts: expected at least 1, got 0"),
        ("name", 3, "name: expected str, got 3"),
        ("temperature", -0.5, "temperature: expected at least 0, got -0.5"),
        ("temperature", float("nan"), "temperature: expected at least 0, got nan"),
        ("top_p", 0, "top_p: expected above 0, at most 1, got 0"),
        ("tune_share", 1.5, "tune_share: expected 0 to 1, got 1.5"),
        ("writer_dtype", "int8", "writer_dtype: expected one of float32, bfloat16, float16"),
        ("reader_dtype", "bf16", "reader_dtype: expected one of float32"),
        ("label_rule", "mechanism", "label_rule: expected one of construct+causal, construct"),
        ("cue_format", "sign", "cue_format: expected one of "),
        ("models", [], "models: expected one or two names or folders, got []"),
        ("models", ["a", "b", "c"], "models: expected one or two"),
        ("models", [1], "models: expected one or two"),
        ("models", "smollm2", "models: expected tuple, got 'smollm2'"),
        ("without", ["langage"], "without: expected some of budget, causal_truncation, "),
        ("shares", {"train": 1.0}, "shares: expected shares of train, validation, test"),
        ("shares", {"train": 0.5, "validation": 0.5, "test": 0.5}, "that sum to 1"),
        ("shares", {"train": "x", "validation": 0, "test": 0}, "shares: expected"),
        ("keep_per_domain", 10**6, "keep_per_domain: expected at most candidates_per_domain"),
        ("engine", "tgi", "engine: expected one of transformers, vllm, openai"),
        ("reader_device", "gpu", "reader_device: expected cpu, cuda or cuda:N, got 'gpu'"),
        ("engine_options", {"a": [1]}, "engine_options: expected a flat table"),
        ("language", "de", "language: expected one of es, tr"),
        ("models", ["Qwen/Qwen3-1.7B@main"], "models: expected ORG/NAME@COMMIT with 40 hex digits"),
        ("items_sha256", "abc", "items_sha256: expected 64 hex digits, got 'abc'"),
        ("api_models", [""], "api_models: expected names, got ['']"),
        ("sources", "gsm8k", "sources: expected a list of tables, got 'gsm8k'"),
        ("sources", [{"items": 3}], "sources: missing key 'name'"),
        ("sources", [{"name": "gsm9k"}], "sources: name: expected one of bbh, commonsense_qa, "),
        ("sources", [{"name": "bbh", "rows": 1}], "sources: unknown key 'rows', expected name, "),
        ("sources", [{"name": "bbh", "items": -1}], "sources: bbh: items: expected a number from"),
        ("sources", [{"name": "bbh", "items": True}], "sources: bbh: items: expected a number"),
        ("sources", [{"name": "bbh", "path": 3}], "sources: bbh: path: expected a text, got 3"),
        ("sources", [{"name": "bbh", "tasks": "a"}], "sources: bbh: tasks: expected a list"),
        ("sources", [{"name": "bbh", "revision": "v1"}], "sources: bbh: revision: expected 40 hex"),
        ("sources", [{"name": "jsonl"}], "sources: jsonl: path: expected a file of questions"),
        (
            "sources",
            [{"name": "jsonl", "path": "q", "revision": "a" * 40}],
            "sources: jsonl: revision: expected none: it has no commits",
        ),
        ("attempts", None, "missing key 'attempts'"),
        ("surprise", 1, "unknown key 'surprise'"),
    ],
)
def test_a_fault_is_one_line_that_names_the_key(
    key: str, value: object, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError) as caught:
        load_preset(write(tmp_path, **{key: value}))
    assert str(caught.value).startswith("own.toml: ") and said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_toml_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("name = ")
    with pytest.raises(ValueError, match=r"^own.toml: not a TOML file"):
        load_preset(str(tmp_path / "own.toml"))


def test_a_new_field_counts_as_part_of_what_models_say_unless_listed() -> None:
    changes = {"engine": "vllm", "engine_options": {"context": 4096}, "reader_device": "cuda"}
    preset = replace(load_preset("twelve"), **changes, language="tr")
    around = {field.name for field in fields(Preset)} - set(preset.generation())
    assert around == {
        "name",
        "version",
        "item_seed",
        "secret",
        "pilot_seed",
        "pilot_per_domain",
        "draw_seed",
        "candidates_per_domain",
        "keep_per_domain",
        "shares",
        "tune_share",
        "models",
        "screen_chunk",
        "build_chunk",
        "sources",
        "items_sha256",
        "all_write",
        "api_models",
    }


def test_what_older_presets_do_without_says_nothing() -> None:
    assert set(load_preset("mini").generation()) == {
        "attempts",
        "cue_format",
        "label_rule",
        "max_tokens",
        "reader_dtype",
        "temperature",
        "top_p",
        "writer_dtype",
    }
