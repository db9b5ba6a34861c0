"""Scores files: what is read, and what is refused in one line with file, row and field."""

import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faithshift_bench as fb
from faithshift_bench.cli import main
from faithshift_bench.scores import ScoreTable
from tests.bench.fakes import FakeData

IDS = ["c1", "c2", "t1", "t2"]
TRACES = [
    ("r1", "r", "train", None, "d", 1),
    ("c1", "c", "validation", "calib", "d", 1),
    ("c2", "c", "validation", "calib", "d", 0),
    ("t1", "t", "test", None, "d", 1),
    ("t2", "t", "test", None, "d", 0),
]
GOOD = [{"trace_id": t, "seed": s, "score": 0.25 * k + 0.1 * s, "confidence": 0.5}
        for s in (0, 1) for k, t in enumerate(IDS)]  # fmt: skip


def write(path, rows):
    """Rows as the kind of file that the ending names."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["trace_id", "score"]
    if path.suffix == ".csv":
        lines = [",".join(names)]
        lines += [",".join("" if row.get(n) is None else str(row[n]) for n in names)
                  for row in rows]  # fmt: skip
        path.write_text("\n".join(lines) + "\n")
    else:
        pq.write_table(pa.table({n: [row.get(n) for row in rows] for n in names}), path)
    return path


def changed(row, **values):
    rows = [dict(r) for r in GOOD]
    rows[row].update(values)
    return rows


def without(name):
    return [{k: v for k, v in row.items() if k != name} for row in GOOD]


# Name: rows, the row and the field that the message must name.
CORRUPT = {
    "no trace_id column": (without("trace_id"), None, "trace_id"),
    "no score column": (without("score"), None, "score"),
    "misspelt column": ([row | {"confidance": 1} for row in GOOD], None, "confidance"),
    "no rows": ([], None, "trace_id"),
    "missing row": (GOOD[:-1], "t2 of seed 1", "trace_id"),
    "missing test split": ([r for r in GOOD if r["trace_id"] < "t"], "t1 of seed 0", "trace_id"),
    "repeated row": ([*GOOD, GOOD[2]], "8", "trace_id"),
    "unknown trace": ([*GOOD, GOOD[0] | {"trace_id": "x9"}], "8", "trace_id"),
    "trailing space in an id": (changed(3, trace_id="t2 "), "3", "trace_id"),
    "empty id": (changed(1, trace_id=""), "1", "trace_id"),
    "null id": (changed(1, trace_id=None), "1", "trace_id"),
    "null score": (changed(5, score=None), "5", "score"),
    "NaN score": (changed(5, score=float("nan")), "5", "score"),
    "infinite score": (changed(5, score=float("inf")), "5", "score"),
    "score above 1": (changed(6, score=1.0000001), "6", "score"),
    "score below 0": (changed(6, score=-0.1), "6", "score"),
    "a logit": (changed(0, score=-3.7), "0", "score"),
    "a percentage": (changed(0, score=73.0), "0", "score"),
    "negative seed": (changed(4, seed=-1), "4", "seed"),
    "null seed": (changed(4, seed=None), "4", "seed"),
    "huge seed": (changed(4, seed=2**40), "4", "seed"),
    "confidence above 1": (changed(2, confidence=1.5), "2", "confidence"),
    "confidence NaN": (changed(2, confidence=float("nan")), "2", "confidence"),
    "confidence missing in a row": (changed(2, confidence=None), "2", "confidence"),
    "one more seed for one trace": ([*GOOD, GOOD[0] | {"seed": 7}], "c2 of seed 7", "trace_id"),
    "scores of train only": (
        [{"trace_id": "r1", "seed": 0, "score": 0.5}], "c1 of seed 0", "trace_id"),
}  # fmt: skip


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("fault", CORRUPT)
def test_each_corruption_is_refused(fault, ending, tmp_path):
    rows, row, field = CORRUPT[fault]
    path = write(tmp_path / f"mine.{ending}", rows)
    with pytest.raises(fb.InputError) as caught:
        fb.evaluate_scores(path, FakeData(TRACES))
    line = str(caught.value)
    assert "\n" not in line and f"mine.{ending}" in line
    # A JSON lines file without rows has no header either.
    assert f"field {field}" in line
    assert row is None or f"row {row}," in line
    assert "expected" in line and "got" in line


# Faults of a whole file: its name, its bytes, what the message must say.
BROKEN = {
    "cut Parquet": ("a.parquet", b"PAR1\x15\x04\x15", "not a Parquet file"),
    "empty Parquet": ("a.parquet", b"", "not a Parquet file"),
    "CSV that calls itself Parquet": ("a.parquet", b"trace_id,score\nc1,0.5\n", "not a Parquet"),
    "ragged CSV": ("a.csv", b"trace_id,score\nc1,0.5\nc2,0.5,9\n", "row 1, field score: ragged"),
    "repeated header": ("a.csv", b"trace_id,score,score\nc1,0.5,0.5\n", "repeated column"),
    "open quote": ("a.csv", b'trace_id,score\n"c1,0.5\n', "not CSV"),
    "not UTF-8": ("a.csv", b"trace_id,score\nc\xff,0.5\n", "not UTF-8"),
    "text score": ("a.csv", b"trace_id,score\nc1,high\n", "row 0, field score: bad value"),
    "comma as decimal point": ("a.csv", b'trace_id,score\nc1,"0,5"\n', "row 0, field score"),
    "empty CSV": ("a.csv", b"", "missing column"),
    "broken JSON": ("a.jsonl", b'{"trace_id": "c1", "score": 0.5}\n{"trace_id"\n', "row 1, field"),
    "JSON list": ("a.jsonl", b'["c1", 0.5]\n', "not an object"),
    "true as a score": ("a.jsonl", b'{"trace_id": "c1", "score": true}\n', "row 0, field score"),
    "number as an id": ("a.jsonl", b'{"trace_id": 7, "score": 0.5}\n', "row 0, field trace_id"),
    "half a seed": ("a.jsonl", b'{"trace_id": "c1", "score": 1, "seed": 0.5}\n', "field seed"),
    "true as a seed": ("a.jsonl", b'{"trace_id": "c1", "score": 1, "seed": true}\n', "field seed"),
    "unknown ending": ("a.xlsx", b"", "unknown kind of file"),
    "no ending": ("scores", b"", "unknown kind of file"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_each_broken_file_is_refused(fault, tmp_path):
    name, content, message = BROKEN[fault]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(fb.InputError) as caught:
        ScoreTable.load(tmp_path / name)
    line = str(caught.value)
    assert message in line and name in line and "field" in line
    assert "\n" not in line


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path / "folder.csv"):
        if path.stem == "folder":
            path.mkdir()
        with pytest.raises(fb.InputError, match="no such file"):
            ScoreTable.load(path)


@pytest.mark.parametrize("fault", ["NaN score", "missing row", "unknown trace", "misspelt column"])
def test_the_command_exits_with_status_1(fault, synthetic, tmp_path, monkeypatch, capsys):
    import faithshift_data as fd

    table = fd.open(synthetic).table("traces")
    rows = [{"trace_id": t, "score": 0.5} for t, s in
            zip(table["trace_id"].to_pylist(), table["split"].to_pylist(), strict=True)
            if s != "train"]  # fmt: skip
    match fault:
        case "NaN score":
            rows[3]["score"] = float("nan")
        case "missing row":
            rows.pop()
        case "unknown trace":
            rows[2]["trace_id"] = "nobody"
        case _:
            rows = [{"trace_id": row["trace_id"], "scores": 0.5} for row in rows]
    path = write(tmp_path / "mine.csv", rows)
    monkeypatch.setattr(
        sys, "argv", ["faithshift", "evaluate", str(path), "--data", str(synthetic)]
    )
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and "mine.csv" in err


def test_every_kind_of_input_gives_the_same_table(tmp_path):
    columns = {name: [row[name] for row in GOOD] for name in GOOD[0]}
    inputs = [write(tmp_path / f"x.{e}", GOOD) for e in ("parquet", "csv", "jsonl")]
    inputs += [str(inputs[0]), columns, pa.table(columns), pd.DataFrame(columns),
               {k: np.array(v) for k, v in columns.items()}]  # fmt: skip
    first = ScoreTable.load(inputs[0])
    assert len(first) == 8
    for each in inputs:
        table = ScoreTable.load(each)
        for name in GOOD[0]:
            np.testing.assert_array_equal(getattr(table, name), columns[name])
    assert ScoreTable.load(first) is first
    with pytest.raises(fb.InputError, match="not scores"):
        ScoreTable.load(7)


def test_alignment_by_hand():
    rows = [("t2", 3, 0.9), ("c1", 3, 0.1), ("t1", 3, 0.2), ("r1", 3, 0.4), ("t1", 0, 0.3),
            ("t2", 0, 0.5), ("c1", 0, 0.7)]  # fmt: skip
    ids, seeds, scores = map(list, zip(*rows, strict=True))
    table = ScoreTable.from_columns({"trace_id": ids, "seed": seeds, "score": scores})
    aligned = table.align(np.array(["c1", "t1", "t2"]), ignore=["r1"])
    assert aligned.seeds == (0, 3) and aligned.n_ignored == 1 and aligned.confidence is None
    np.testing.assert_array_equal(aligned.scores, [[0.7, 0.3, 0.5], [0.1, 0.2, 0.9]])


def test_seed_defaults_to_zero_and_bounds_are_scores():
    table = ScoreTable.from_columns({"trace_id": ["a", "b"], "score": [0, 1.0]})
    assert table.seed.tolist() == [0, 0] and table.score.tolist() == [0.0, 1.0]


def test_unequal_columns_are_refused():
    with pytest.raises(fb.InputError, match="row 1, field score: columns of unequal length"):
        ScoreTable.from_columns({"trace_id": ["a", "b"], "score": [0.5]})


def test_parquet_says_which_detector_it_is_of(tmp_path):
    table = pa.table({"trace_id": IDS, "score": [0.1, 0.2, 0.3, 0.4]})
    about = json.dumps({"detector": "mine", "revision": "2", "reads_label_evidence": True})
    pq.write_table(table.replace_schema_metadata({"faithshift": about}), tmp_path / "x.parquet")
    report = fb.evaluate_scores(tmp_path / "x.parquet", FakeData(TRACES))
    assert (report.detector, report.revision, report.reads_label_evidence) == ("mine", "2", True)
    assert fb.evaluate_scores(table, FakeData(TRACES), name="other").detector == "other"
    pq.write_table(table.replace_schema_metadata({"faithshift": "{"}), tmp_path / "y.parquet")
    assert fb.evaluate_scores(tmp_path / "y.parquet", FakeData(TRACES)).detector == "y"


@pytest.mark.parametrize("text", ["1.0", "1.00", " 1 ", "1"])
def test_a_seed_written_as_a_float_is_whole(text):
    assert ScoreTable.from_columns({"trace_id": ["a"], "seed": [text], "score": [0.5]}).seed == [1]


@pytest.mark.parametrize("text", ["1.5", "1.01", ".0", "1.0.0", "nan", "-1.0"])
def test_a_seed_that_is_not_whole_is_refused(text):
    with pytest.raises(fb.InputError, match="field seed: bad value"):
        ScoreTable.from_columns({"trace_id": ["a"], "seed": [text], "score": [0.5]})


def test_json_nested_without_end_is_one_line(tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(fb.InputError, match="deep.jsonl, row 0, field line: not JSON"):
        ScoreTable.load(path)


@pytest.mark.parametrize("ending", ["parquet", "odd"])
@pytest.mark.parametrize(
    ("about", "field"),
    [
        ({"reads_label_evidence": "no"}, "reads_label_evidence"),
        ({"reads_label_evidence": 1}, "reads_label_evidence"),
        ({"reads_label_evidence": None}, "reads_label_evidence"),
        ({"detector": "two\nlines"}, "detector"),
        ({"detector": "bell\x07"}, "detector"),
        ({"detector": "half\ud800"}, "detector"),
        ({"detector": "a\u2028b"}, "detector"),
        ({"detector": "mine", "revision": "1\x1b[31m"}, "revision"),
    ],
)
def test_metadata_that_cannot_be_believed_or_printed_is_refused(about, field, ending, tmp_path):
    """Both ways of reading: streamed, and as a table where a column is odd."""
    table = pa.table({name: [row[name] for row in GOOD] for name in GOOD[0]})
    if ending == "odd":
        table = table.set_column(1, "seed", table["seed"].cast(pa.float64()))
    path = tmp_path / "s.parquet"
    pq.write_table(table.replace_schema_metadata({"faithshift": json.dumps(about)}), path)
    data = FakeData(TRACES)
    for call in (fb.evaluate_scores, lambda s, d: fb.compare([s], d, controls=())):
        with pytest.raises(fb.InputError, match=f"s.parquet, field {field}: bad"):
            call(path, data)


def test_a_name_given_by_hand_is_checked_too():
    columns = {name: [row[name] for row in GOOD] for name in GOOD[0]}
    with pytest.raises(fb.InputError, match="field detector: bad name"):
        fb.evaluate_scores(columns, FakeData(TRACES), name="a\nb")
    with pytest.raises(fb.InputError, match="field names: bad name"):
        fb.compare([columns], FakeData(TRACES), controls=(), names=["a\nb"])
