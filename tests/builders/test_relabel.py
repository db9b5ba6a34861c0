"""The other label rule on the embedded ``mini``, and the commands around it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import faithshift_data as fd
from builders.__main__ import main
from builders.labels import both_rules
from builders.relabel import relabel
from tests.synthetic import write_synthetic


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> fd.FaithShift:
    out = tmp_path_factory.mktemp("relabel") / "other"
    assert main(["relabel", "mini", "--rule", "construct", "--out", str(out)]) == 0
    return fd.open(out)


def test_it_is_sound_and_says_its_rule(other: fd.FaithShift) -> None:
    assert fd.check(other.path) == []
    assert other.manifest.label_rule == "construct"
    assert set(other.table("traces")["label_rule"].to_pylist()) == {"construct"}
    assert other.manifest.version == fd.open("mini").manifest.version + "+construct"
    assert "human" not in other.manifest.audit
    verified = sum(axis["verified"] for axis in other.manifest.audit["rules"].values())
    assert verified == sum(other.table("pairs")["verified"].to_pylist())


def test_only_labels_and_pairs_differ(other: fd.FaithShift) -> None:
    mini = fd.open("mini")
    labels = ["label", "label_rule", "label_evidence"]
    kept = [table.drop_columns(labels) for table in (mini.table("traces"), other.table("traces"))]
    assert kept[0].equals(kept[1])
    assert mini.table("interventions").equals(other.table("interventions"))
    ids = mini.trajectories.trace_ids
    assert other.trajectories.trace_ids == ids
    for name in mini.trajectories.descriptors:
        both = (set_.trajectories.get(name, ids) for set_ in (mini, other))
        assert all(np.array_equal(x, y) for x, y in zip(*both, strict=True))


def test_labels_are_those_that_were_counted(other: fd.FaithShift) -> None:
    traces = {row["trace_id"]: row for row in other.table("traces").to_pylist()}
    rows: dict[str, list] = {}
    for row in other.table("interventions").to_pylist():
        rows.setdefault(row["trace_id"], []).append(row)
    stored = Counter(row["label"] for row in traces.values())
    counts = both_rules(traces, rows)["construct"]["all"]
    assert [stored[1], stored[0], stored[None]] == list(counts.values())
    line = next(
        x for x in (other.path / "README.md").read_text().splitlines() if "`construct` " in x
    )
    assert re.findall(r"\d+", line) == [str(n) for n in counts.values()]
    assert other.manifest.counts["labels_by_rule"]["construct"]["all"] == counts


def test_back_again_gives_the_labels_of_the_build(other: fd.FaithShift, tmp_path: Path) -> None:
    back = fd.open(relabel(str(other.path), "construct+causal", tmp_path / "back"))
    assert back.table("traces").equals(fd.open("mini").table("traces"))


@pytest.mark.parametrize(
    ("data", "rule", "message"),
    [
        ("mini", "mechanism", "--rule: unknown (expected ['construct', 'construct+causal'], got m"),
        ("own", "construct", "field label_rule: labels that no evidence decides"),
        ("none", "construct", "none"),
    ],
)
def test_refused_in_one_line(
    data: str, rule: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    if data == "own":
        row = {"question": "2 + 2?", "answer": "4", "reasoning": "It is 4.", "label": 1}
        data = str(fd.write(tmp_path / "own", [row]))
    assert main(["relabel", data, "--rule", rule, "--out", str(tmp_path / "x")]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and message in err
    assert not (tmp_path / "x").exists()


def test_audit_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    data = str(write_synthetic(tmp_path / "data", n_items=24))
    out = tmp_path / "sheets"
    assert main(["audit", "sheet", data, "--n", "6", "--seed", "2", "--out", str(out)]) == 0
    for annotator in "ab":
        path = out / f"annotator-{annotator}.csv"
        path.write_text(re.sub(r",,\r?\n", ",yes,\n", path.read_text("utf-8-sig")))
    sheets = [str(out / f"annotator-{annotator}.csv") for annotator in "ab"]
    capsys.readouterr()
    assert main(["audit", "read", data, *sheets]) == 0
    text = capsys.readouterr().out
    assert "agreement: 1.000 on 6 of 6 traces" in text and "kappa undefined" in text
    assert "residual error: " in text and fd.open(data).manifest.audit["human"]["n"] == 6
    assert main(["audit", "sheet", data, "--n", "6", "--out", str(out)]) == 1
    assert main(["audit", "sheet", data, "--n", "0", "--out", str(tmp_path / "y")]) == 1
    assert main(["audit", "read", data, sheets[0], sheets[0]]) == 1
    assert capsys.readouterr().err.count("\n") == 3
