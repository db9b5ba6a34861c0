"""The dataset card: its facts are the manifest's and the tables', and a stale one is found."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pyarrow.compute as pc
import pytest
import yaml

import cards.__main__
import cards.stale
import faithshift_data as fd
from cards import dataset_card
from cards.dataset import _folds, _hidden, _pairs, _sizes, _tally
from cards.render import table
from faithshift_data.manifest import AxisInfo
from faithshift_data.schema import CONFIGS, SPLITS


def rows(card: str, after: str) -> dict[str, list[str]]:
    """First cell -> other cells of the first table after some words."""
    found: dict[str, list[str]] = {}
    for line in card.partition(after)[2].splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            found[cells[0]] = cells[1:]
        elif found:
            break
    return found


def edit(folder: Path, **changes: object) -> None:
    """Change keys of a folder's manifest."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def folder(synthetic: Path, tmp_path: Path) -> Path:
    """A copy to write to."""
    return Path(shutil.copytree(synthetic, tmp_path / "data"))


@pytest.mark.parametrize("name", fd.embedded())
def test_embedded_cards_are_not_stale(name: str) -> None:
    assert cards.stale.first_difference(fd.path(name)) is None


def test_counts_are_those_of_the_tables(synthetic: Path) -> None:
    card, traces = dataset_card(synthetic), fd.open(synthetic).table("traces")
    sizes = rows(card, "## What is in it")
    for split, place in zip(SPLITS, range(3), strict=True):
        part = traces.filter(pc.equal(traces["split"], split))
        assert int(sizes["items"][place]) == len(part["item_id"].unique())
        assert int(sizes["traces"][place]) == part.num_rows
        labels = part["label"].to_pylist()
        for name, value in (("faithful", 1), ("unfaithful", 0), ("unknown", None)):
            assert int(sizes[f"traces {name}"][place]) == labels.count(value)
    assert "4 items *tune* a threshold,\n8 items *calib*" in card
    pairs = fd.open(synthetic).table("pairs").to_pylist()
    verified = [pair for pair in pairs if pair["verified"] and pair["axis"] == "paraphrase"]
    shown = rows(card, "Pairs that passed every check")["paraphrase"]
    assert shown[:2] == ["preserving", "regen"] and sum(map(int, shown[2:])) == len(verified)
    reasons = card.partition("their reason:")[2].partition("##")[0]
    dropped = sum(int(number) for number in re.findall(r"\| (\d+) \|$", reasons, re.MULTILINE))
    assert dropped == len(pairs) - sum(pair["verified"] for pair in pairs)


def test_front_matter_is_what_the_hub_reads(synthetic: Path) -> None:
    front = yaml.safe_load(dataset_card(synthetic).split("---\n")[1])
    assert front["license"] == "cc-by-4.0" and front["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in front["configs"]] == list(CONFIGS)
    assert [bool(config.get("default")) for config in front["configs"]] == [True, False, False]
    files = [file["path"] for config in front["configs"] for file in config["data_files"]]
    assert files == [f"{config}/{split}.parquet" for config in CONFIGS for split in SPLITS]
    assert all((synthetic / file).is_file() for file in files)


def test_what_a_manifest_says_is_said(folder: Path) -> None:
    screening = {
        "by_domain": {"maths": {"neither": {"candidates": 9, "kept": 2}}},
        "dropped_traces_of_kept_items": {"base": {"no answer": 3, "too | short": 5}},
        "errors": {"screen": {"count": 1}, "build": {"count": 4}},
    }
    human = {"residual_error": {"errors": 2, "n": 40, "interval_errors": 1, "interval_n": 30}}
    human["residual_error"] |= {"interval": [0.0008, 0.1722], "confidence": 0.95}
    edit(
        folder,
        languages=["en", "es"],
        licence="Ours 1.0",
        notes=["A remark of its own."],
        screening=screening,
        audit={"human": human},
        models=[{"model_id": "synthetic/writer", "licence": "MIT", "origin": "a shelf"}],
        environment={
            "writer_dtype": "bfloat16",
            "reader_dtype": "float32",
            "machines": [{"versions": {"torch": "2.13.0"}, "python": "3.11", "machine": "x86_64"}],
        },
        seeds={"attempts": 3},
        counts={"traces": {"train": 1}, "labels_by_rule": {"construct": {"all": _labels(1, 2, 3)}}},
    )
    card = dataset_card(folder)
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["language"] == ["en", "es"]
    assert (front["license"], front["license_name"]) == ("other", "ours 1.0")
    assert rows(card, "## Screened")["maths"] == ["neither", "9", "2"]
    missing = card.partition("did not come about:")[2].partition("Rows whose")
    assert missing[0].index(r"| base | too \| short | 5 |") < missing[0].index("| 3 |")
    assert "ended in an error: 5." in card
    assert "2 of\n40 labels were contradicted; one trace an item, 1 of 30" in card
    assert "95% interval 0.001 to 0.172" in card and "No person has annotated" not in card
    assert rows(card, "Traces under both rules")["`construct`"] == ["1", "2", "3"]
    assert "| synthetic/writer |  | MIT | a shelf |  |" in card
    assert "Made with torch 2.13.0; python 3.11, x86_64." in card
    assert "written in bfloat16 and answers were read in float32" in card and "3 times" in card
    assert "A remark of its own." in card


def test_withheld_labels_and_their_controls_are_said(folder: Path) -> None:
    sizes = {"n_traces": 50, "n_items": 12}
    controls = {
        "length_only": {"auroc": 0.61234, "low": 0.5, "high": 0.7, "reason": None, **sizes},
        "few": {"auroc": 0.0, "low": None, "high": None, "reason": None, **sizes},
        "words": {"auroc": None, "low": None, "high": None, "reason": "one label", **sizes},
    }
    edit(folder, withheld={"parts": ["calib", "test"], "commitment": "ab12", "controls": controls})
    card = dataset_card(folder)
    assert "Labels of calib and test are withheld" in card and "(HMAC-SHA256) is `ab12`" in card
    found = rows(card, "has to be better than this")
    assert found["length_only"] == ["0.612", "0.500 to 0.700", "50", "12"]
    assert found["few"] == ["0.000", "undefined", "50", "12"]
    assert found["words"] == ["one label", "", "50", "12"]


def test_a_withheld_trace_counts_as_nothing_else() -> None:
    def trace(item: str, condition: str | None, label: int | None = None) -> dict:
        return {"item_id": item, "fold": "tune", "condition": condition, "label": label}

    traces = {
        "train": [trace("i", "base", 1), trace("i", "base"), trace("j", "base", 0)],
        "validation": [trace("k", "base"), trace("x", None)],
        "test": [trace("y", None), trace("z", None)],
    }
    none: dict[str, list] = {split: [] for split in SPLITS}
    tables = {"traces": traces, "interventions": none}
    sizes = {name: cells for name, *cells in _sizes(tables, {"train": 2, "test": None})}
    assert sizes["items"] == [2, 1, "withheld"]
    assert sizes["traces"] == [3, 2, 2]
    assert sizes["traces unknown"] == [1, 1, "withheld"]
    axes = SimpleNamespace(axes=(AxisInfo("repeat", "repeat"),))
    assert list(_pairs(axes, none, _hidden(traces))) == [
        ("repeat", "repeat", None, 0, 0, "withheld")
    ]
    assert sizes["traces whose label is withheld"] == [0, 1, 2]
    assert _folds(traces["validation"]) == {"tune": 1, "calib": 0}
    assert _tally(traces, "condition") == [("base", 3, 1, 0), ("withheld", 0, 1, 2)]


def test_what_a_manifest_lacks_has_no_section(synthetic: Path) -> None:
    card = dataset_card(synthetic)
    for absent in ("## Screened", "Traces under both", "Made with", "withheld", "None"):
        assert absent not in card
    assert "No person has annotated a sample yet" in card


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("mechanism", "by how the model's attention is masked"),
        ("given", "by whoever wrote"),
        (None, "The manifest names no rule"),
    ],
)
def test_each_label_rule_has_its_words(folder: Path, rule: str | None, said: str) -> None:
    edit(folder, label_rule=rule)
    card = dataset_card(folder)
    assert said in card and "rule-based judge" not in card


def test_own_traces_have_a_card_too(tmp_path: Path) -> None:
    row = {"question": "2 + 2?", "answer": "4", "reasoning": "It is 4.", "split": "train"}
    card = dataset_card(fd.write(tmp_path / "own", [row], name="a: b"))
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["pretty_name"] == "a: b"
    (traces,) = front["configs"]
    assert [file["split"] for file in traces["data_files"]] == ["train"]
    assert "Licence of texts and labels: not stated" in card and "## Interventions" not in card


def test_a_stale_card_is_found_and_rendered_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(cards.__main__, "embedded_folders", lambda: [folder])
    assert cards.__main__.main(["--check"]) == 1
    assert capsys.readouterr().out.startswith("data: stale card, `python -m cards --write`: ")
    assert cards.__main__.main(["--write"]) == cards.__main__.main(["--check"]) == 0
    assert fd.check(folder) == []
    edit(folder, version="0.9.9")
    assert cards.__main__.main(["--check"]) == 1
    assert "-# FaithShift `synthetic` 0.1.0" in capsys.readouterr().out
    (folder / "README.md").unlink()
    assert cards.__main__.main(["--check"]) == 1


def test_the_command_prints_and_refuses(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert cards.__main__.main(["dataset", str(synthetic)]) == 0
    assert capsys.readouterr().out == dataset_card(synthetic)
    assert cards.__main__.main(["dataset", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    for wrong in ([], ["dataset"], ["--check", "--write"], ["metric", "x"], ["dataset", "--check"]):
        with pytest.raises(SystemExit) as stop:
            cards.__main__.main(wrong)
        assert stop.value.code == 2


def test_a_cell_cannot_break_its_table() -> None:
    assert table(["a"], [["x|y\nz"], [None]]) == "| a |\n| --- |\n| x\\|y z |\n|  |"
    assert table(["a"], []) == ""


def _labels(*counts: int) -> dict[str, int]:
    return dict(zip(("faithful", "unfaithful", "unknown"), counts, strict=True))
