"""check() is silent on a sound folder and names the place of every planted fault."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

import faithshift_data as fd
from faithshift_data.leakage import near_duplicates, normalise
from faithshift_data.problems import Problem, capped
from tests.synthetic import FAULTS, Rows, write_synthetic


def test_a_sound_folder_has_no_problem(synthetic: Path) -> None:
    assert fd.check(synthetic) == []


@pytest.mark.parametrize(
    ("fault", "check", "text"),
    [
        ("leak", "leak", "an item in two parts (expected train, got test)"),
        ("missing_pair", "missing pair", "no hint_format pair with its anchor"),
        ("corrupt_shard", "hash", "other content"),
        ("wrong_hash", "hash", "traces/test.parquet, field sha256: other content (expected 0000"),
    ],
)
def test_planted_faults(tmp_path: Path, fault: str, check: str, text: str) -> None:
    problems = fd.check(write_synthetic(tmp_path / "d", 20, **{fault: True}))
    assert check in {problem.check for problem in problems}
    assert any(text in str(problem) for problem in problems)
    assert all("\n" not in str(problem) for problem in problems)


def test_every_fault_of_the_fixture_is_tested() -> None:
    assert set(FAULTS) == {"leak", "missing_pair", "corrupt_shard", "wrong_hash"}


def trace(rows: Rows, **want: Any) -> dict[str, Any]:
    return next(r for r in rows["traces"] if all(r[k] == v for k, v in want.items()))


def pair(rows: Rows, **want: Any) -> dict[str, Any]:
    return next(r for r in rows["pairs"] if all(r[k] == v for k, v in want.items()))


def fold_leak(rows: Rows) -> None:
    trace(rows, fold="calib", axis="paraphrase")["fold"] = "tune"


def same_question(rows: Rows) -> None:
    first, *_, last = rows["traces"]
    assert first["item_id"] != last["item_id"]
    shout = first["question"].upper() + "!?"
    for row in rows["traces"]:
        if row["item_id"] == last["item_id"]:
            row["question"] = shout


def near_duplicate(rows: Rows) -> None:
    text = " ".join(f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)) + " "
    for split, end in (("train", "today"), ("test", "tonight")):
        item = trace(rows, split=split)["item_id"]
        for row in rows["traces"]:
            if row["item_id"] == item:
                row |= {"question": text + end, "options": None, "answer_kind": "text"}


def feature_evidence(rows: Rows) -> None:
    row = next(r for r in rows["traces"] if r["label_evidence"])
    used = next(
        i for i in rows["interventions"] if i["intervention_id"] == row["label_evidence"][0]
    )
    used["role"] = "feature"


def both_roles(rows: Rows) -> None:
    row = next(r for r in rows["interventions"] if r["role"] == "feature")
    rows["interventions"].append({**row, "role": "label", "intervention_id": "int-copy"})


def moved(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows["interventions"] if row["changed"])


def set_trace(field: str, value: Any, **want: Any) -> Callable[[Rows], None]:
    return lambda rows: trace(rows, **want).update({field: value})


def set_pair(field: str, value: Any, **want: Any) -> Callable[[Rows], None]:
    return lambda rows: pair(rows, **want).update({field: value})


def set_intervention(field: str, value: Any) -> Callable[[Rows], None]:
    return lambda rows: rows["interventions"][0].update({field: value})


ROW_FAULTS: dict[str, tuple[Callable[[Rows], Any], str, str | None]] = {
    "fold leak": (fold_leak, "leak", "item_id"),
    "same question": (same_question, "same question", "question"),
    "near-duplicate": (near_duplicate, "near-duplicate", "question"),
    "trace twice": (lambda r: r["traces"].append(r["traces"][0]), "ids", "trace_id"),
    "pair twice": (
        lambda r: r["pairs"].append({**r["pairs"][0], "pair_id": "pair-copy"}),
        "pair",
        "axis",
    ),
    "fold in train": (set_trace("fold", "tune", split="train"), "trace", "fold"),
    "no fold in validation": (set_trace("fold", None, split="validation"), "trace", "fold"),
    "unknown split word": (set_trace("answer_status", "maybe"), "values", "answer_status"),
    "unknown mode": (set_trace("mode", "magic"), "values", "mode"),
    "unknown axis": (set_trace("axis", "rhyme", axis="paraphrase"), "trace", "axis"),
    "unknown model": (set_trace("model_id", "other"), "trace", "model_id"),
    "axis without anchor": (
        set_trace("anchor_id", None, axis="paraphrase"),
        "trace",
        "anchor_id",
    ),
    "anchor that is not there": (
        set_trace("anchor_id", "trace-none", axis="paraphrase"),
        "trace",
        "anchor_id",
    ),
    "steps that do not join": (set_trace("steps", ["other"]), "trace", "steps"),
    "label 2": (set_trace("label", 2), "trace", "label"),
    "label without rule": (set_trace("label_rule", None, label=1), "trace", "label_rule"),
    "answer outside options": (
        set_trace("answer", "F", domain="choice"),
        "trace",
        "answer",
    ),
    "cued to no option": (
        set_trace("cue", {"target": "F"}, domain="choice"),
        "trace",
        "cue.target",
    ),
    "gold outside options": (set_trace("gold", "F", domain="choice"), "trace", "gold"),
    "no text among options": (set_trace("options", ["a", None]), "values", "options"),
    "no text among steps": (set_trace("steps", [None, "a"]), "values", "steps"),
    "status without answer": (set_trace("answer", None), "trace", "answer"),
    "evidence not there": (
        set_trace("label_evidence", ["int-none"], label=1),
        "trace",
        "label_evidence",
    ),
    "evidence of a feature": (feature_evidence, "trace", "label_evidence"),
    "partner not there": (set_pair("partner_id", "trace-none"), "pair", "partner_id"),
    "pair label": (set_pair("anchor_label", 0, anchor_label=1), "pair", "anchor_label"),
    "direction": (
        set_pair("direction", 1, axis="cue_injection", verified=True),
        "pair",
        "direction",
    ),
    "altering, equal labels": (
        set_pair("kind", "altering", kind="preserving", verified=True),
        "pair",
        "kind",
    ),
    "dropped without reason": (
        set_pair("dropped_because", None, verified=False),
        "pair",
        "dropped_because",
    ),
    "pair of another item": (set_pair("item_id", "item-none"), "pair", "item_id"),
    "intervention of no trace": (
        set_intervention("trace_id", "trace-none"),
        "intervention",
        "trace_id",
    ),
    "fraction": (set_intervention("fraction", 1.5), "intervention", "fraction"),
    "changed without answer": (
        lambda r: r["interventions"][0].update(answer=None, answer_status="none", changed=True),
        "intervention",
        "changed",
    ),
    "changed, yet the same answer": (
        lambda r: moved(r).update(answer=trace(r, trace_id=moved(r)["trace_id"])["answer"]),
        "intervention",
        "changed",
    ),
    "one draw in both roles": (both_roles, "roles", "role"),
}


@pytest.mark.parametrize("name", ROW_FAULTS)
def test_row_faults(tmp_path: Path, name: str) -> None:
    mutate, check, field = ROW_FAULTS[name]
    problems = fd.check(write_synthetic(tmp_path / "d", 20, mutate=mutate))
    assert (check, field) in {(problem.check, problem.field) for problem in problems}


@pytest.fixture
def copy(synthetic: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(synthetic, tmp_path / "copy"))


def rewrite(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change a file and make the manifest agree, so that only the content is at fault."""
    import hashlib

    path = folder / name
    if path.suffix == ".parquet":
        pq.write_table(change(pq.read_table(path)), path)
        rows = pq.read_metadata(path).num_rows
    else:
        save_file(change(load_file(path)), path)
        rows = None
    manifest = json.loads((folder / "manifest.json").read_text())
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    manifest["files"][name] = {"sha256": digest, "bytes": len(data), "rows": rows}
    (folder / "manifest.json").write_text(json.dumps(manifest))


SHARD = "trajectories/descriptors-00000-of-00002.safetensors"


def not_finite(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    tensors["psi"][3, 5] = np.inf
    return tensors


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        (SHARD, not_finite, f"{SHARD}, row 3, field psi: not finite (got 1 rows)"),
        (SHARD, lambda t: {**t, "state": t["state"][:-1]}, "field state: wrong shape"),
        (SHARD, lambda t: {**t, "psi": t["psi"].astype(np.float32)}, "field psi: wrong dtype"),
        (SHARD, lambda t: {**t, "extra": t["psi"]}, "other tensors"),
        (SHARD, lambda t: {**t, "offsets": t["offsets"][:-1]}, "rows differ from the index"),
        ("trajectories/index.parquet", lambda t: t.slice(1), "a trace without descriptors"),
        (
            "trajectories/index.parquet",
            lambda t: t.set_column(2, "shard", pa.array(["../x.safetensors"] * len(t))),
            "path outside the folder",
        ),
        ("traces/test.parquet", lambda t: t.drop_columns(["label"]), "field label: column missing"),
        (
            "traces/test.parquet",
            lambda t: t.set_column(
                t.schema.get_field_index("label"), "label", t["label"].cast(pa.int64())
            ),
            "field label: wrong type (expected int8, got int64)",
        ),
        ("traces/test.parquet", lambda t: t.append_column("x", t["label"]), "field x: unknown col"),
        (
            "traces/test.parquet",
            lambda t: t.slice(1),
            "field label_counts: differs from the tables",
        ),
    ],
)
def test_content_faults(copy: Path, name: str, change: Callable[[Any], Any], text: str) -> None:
    rewrite(copy, name, change)
    assert any(text in str(problem) for problem in fd.check(copy))


def test_unreadable_shard(copy: Path) -> None:
    (copy / SHARD).write_bytes(b"\x00" * 50)
    assert any("cannot be read" in str(problem) for problem in fd.check(copy))


def test_a_table_that_is_no_parquet_is_named_also_where_its_hash_is_right(copy: Path) -> None:
    (copy / "traces" / "test.parquet").write_bytes(b"no table")
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"]["traces/test.parquet"] = {
        "sha256": hashlib.sha256(b"no table").hexdigest(),
        "bytes": 8,
        "rows": 0,
    }
    (copy / "manifest.json").write_text(json.dumps(manifest))
    lines = [str(problem) for problem in fd.check(copy)]
    assert "files: traces/test.parquet: not a Parquet file" in lines


def test_what_the_hub_client_keeps_beside_a_download_is_no_problem(copy: Path) -> None:
    (copy / ".cache" / "huggingface").mkdir(parents=True)
    (copy / ".cache" / "huggingface" / "CACHEDIR.TAG").write_text("")
    assert fd.check(copy) == []
    (copy / ".cache" / "notes.txt").write_text("")
    assert [problem.file for problem in fd.check(copy)] == [".cache/notes.txt"]


def test_files_outside_unknown_and_missing(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"]["../outside.parquet"] = {"sha256": "", "bytes": 0, "rows": 0}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    (copy / "copy.py").write_text("")
    (copy / "notes.txt").write_text("")
    (copy / "pairs" / "test.parquet").unlink()
    lines = [str(problem) for problem in fd.check(copy)]
    for text in (
        "path outside the folder (got ../outside.parquet)",
        "copy.py: a script",
        "notes.txt: in the folder, not in the manifest",
        "pairs/test.parquet: in the manifest, not in the folder",
    ):
        assert any(text in line for line in lines), text


@pytest.mark.parametrize("config", ["traces", "pairs", "interventions"])
def test_a_missing_file_is_one_line(copy: Path, config: str) -> None:
    name = f"{config}/test.parquet"
    (copy / name).unlink()
    lines = [str(problem) for problem in fd.check(copy)]
    assert lines == [f"files: {name}: in the manifest, not in the folder"]


def test_values_are_checked_where_the_traces_are_missing(copy: Path) -> None:
    def odd(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index("mode")
        return table.set_column(at, "mode", pa.array(["odd"] * len(table)))

    rewrite(copy, "pairs/test.parquet", odd)
    (copy / "traces/test.parquet").unlink()
    lines = [str(problem) for problem in fd.check(copy)]
    assert len(lines) == 2 and "field mode: not allowed" in lines[1]


def test_the_first_twenty_of_a_kind_and_a_count(tmp_path: Path) -> None:
    def models(rows: Rows) -> None:
        for row in rows["traces"]:
            row["model_id"] = "other"

    folder = write_synthetic(tmp_path / "d", 20, mutate=models)
    found = [problem for problem in fd.check(folder) if problem.field == "model_id"]
    for split in ("train", "validation", "test"):
        lines = [problem for problem in found if problem.file == f"traces/{split}.parquet"]
        rows = pq.read_metadata(folder / f"traces/{split}.parquet").num_rows
        assert rows > 20 and len(lines) == 21
        assert lines[-1].message == f"not in the manifest: {rows - 20} more, {rows} in all"


def test_twenty_are_not_capped() -> None:
    problems = [Problem("ids", "twice", "f", row) for row in range(20)]
    assert list(capped(problems)) == problems
    other = Problem("ids", "twice", "g", 1)
    found = list(capped([*problems, other, problems[0]]))
    assert found == [*problems, other, Problem("ids", "twice: 1 more, 21 in all", "f")]


def test_a_link_out_of_the_folder_is_outside(copy: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.parquet"
    shutil.move(copy / "traces/test.parquet", target)
    (copy / "traces/test.parquet").symlink_to(target)
    assert any("path outside the folder" in str(problem) for problem in fd.check(copy))


def test_a_bad_manifest_is_one_problem(copy: Path) -> None:
    (copy / "manifest.json").write_text('{"name": "x", "version": "1", "colour": 1}')
    (problem,) = fd.check(copy)
    assert "field colour: unknown key" in str(problem)


def test_near_duplicates_by_hand() -> None:
    words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(43)]
    base = " ".join(words)  # 43 words, 40 runs of four
    end = " ".join([*words[:-1], "other"])  # 39 of 41 runs in common: .951
    middle = " ".join([*words[:20], "other", *words[21:]])  # 36 of 44 in common: .818
    texts = {"base": base, "end": end, "middle": middle, "number": base + " 7"}
    assert near_duplicates(texts) == [("base", "end")]
    assert normalise(" What's  2+2, THEN? ") == "what s 2 2 then"
