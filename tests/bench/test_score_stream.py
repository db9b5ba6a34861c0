"""Streamed scores equal those of the table; what is odd is refused as the table refuses it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faithshift_bench as fb
from faithshift_bench import score_stream
from faithshift_bench.score_stream import _stream, match_scores
from faithshift_bench.scores import ScoreTable

IDS = np.array([f"t{k:02}" for k in range(25)])
TRAIN = ["x0", "x1"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(score_stream, "BATCH_ROWS", 7)


def columns(seeds=(3, 0, 11), confidence=True):
    rng = np.random.default_rng(0)
    ids = np.tile(np.concatenate([IDS, TRAIN]), len(seeds))
    order = rng.permutation(len(ids))
    found = {
        "trace_id": ids[order],
        "seed": np.repeat(seeds, len(ids) // len(seeds))[order],
        "score": rng.random(len(ids)),
    }
    return found | ({"confidence": rng.random(len(ids))} if confidence else {})


def written(path, table):
    pq.write_table(pa.table(table), path)
    return path


@pytest.mark.parametrize("confidence", [True, False])
def test_streamed_equals_the_table(tmp_path, confidence):
    path = written(tmp_path / "s.parquet", columns(confidence=confidence))
    streamed = _stream(path, IDS, TRAIN)
    assert streamed is not None
    slow = ScoreTable.load(path).align(IDS, TRAIN)
    assert streamed.aligned.seeds == slow.seeds == (0, 3, 11)
    assert streamed.aligned.n_ignored == slow.n_ignored == 6
    np.testing.assert_array_equal(streamed.aligned.scores, slow.scores)
    if confidence:
        np.testing.assert_array_equal(streamed.aligned.confidence, slow.confidence)
    else:
        assert streamed.aligned.confidence is None
    assert streamed.source == "s.parquet"


def test_types_metadata_and_a_missing_seed_column(tmp_path):
    about = {"detector": "mine", "reads_label_evidence": True}
    table = pa.table(
        {"trace_id": IDS, "score": pa.array(np.linspace(0, 1, len(IDS)), pa.float32())}
    ).replace_schema_metadata({b"faithshift": json.dumps(about).encode()})
    path = tmp_path / "s.parquet"
    pq.write_table(table, path)
    found = _stream(path, IDS, [])
    assert found.about == about and found.aligned.seeds == (0,)
    slow = ScoreTable.load(path).align(IDS)
    np.testing.assert_array_equal(found.aligned.scores, slow.scores)


def test_the_public_way_streams_files_and_takes_the_rest(tmp_path, monkeypatch):
    path = written(tmp_path / "s.parquet", columns())
    one, two = match_scores(path, IDS, TRAIN), match_scores(columns(), IDS, TRAIN)
    np.testing.assert_array_equal(one.aligned.scores, two.aligned.scores)
    assert (one.source, two.source) == ("s.parquet", "scores")
    monkeypatch.setattr(ScoreTable, "load", lambda *_: pytest.fail("held whole"))
    match_scores(path, IDS, TRAIN)


def changed(name, row, value):
    def change(table):
        values = table[name].astype(object)
        values[row] = value
        return table | {name: values.tolist()}

    return change


FAULTS = {
    "unknown trace": changed("trace_id", 5, "nobody"),
    "repeated row": lambda t: {k: np.concatenate([v, v[:1]]) for k, v in t.items()},
    "missing row": lambda t: {k: v[t["trace_id"] != "t03"] for k, v in t.items()},
    "one seed too many": changed("seed", 5, 99),
    "null score": changed("score", 8, None),
    "NaN score": changed("score", 8, float("nan")),
    "score over 1": changed("score", 8, 1.5),
    "null id": changed("trace_id", 8, None),
    "null seed": changed("seed", 8, None),
    "seed under 0": changed("seed", 8, -1),
    "confidence over 1": changed("confidence", 8, 1.5),
    "unknown column": lambda t: t | {"verdict": t["score"]},
    "no score": lambda t: {"trace_id": t["trace_id"]},
    "no rows": lambda t: {k: v[:0] for k, v in t.items()},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_as_the_table_tells_it(tmp_path, fault):
    path = written(tmp_path / "s.parquet", FAULTS[fault](columns()))
    with pytest.raises(fb.InputError) as slow:
        ScoreTable.load(path).align(IDS, TRAIN)
    with pytest.raises(fb.InputError) as fast:
        match_scores(path, IDS, TRAIN)
    assert str(fast.value) == str(slow.value)


def test_a_swapped_seed_is_a_repeat_though_the_counts_fit(tmp_path):
    """As many rows as cells, one cell twice and one empty."""
    table = columns(seeds=(0, 1), confidence=False)
    row = int(np.flatnonzero((table["trace_id"] == "t04") & (table["seed"] == 1))[0])
    path = written(tmp_path / "s.parquet", changed("seed", row, 0)(table))
    with pytest.raises(fb.InputError, match="repeated row"):
        match_scores(path, IDS, TRAIN)


def test_no_such_file_and_not_parquet(tmp_path):
    (tmp_path / "b.parquet").write_text("hello")
    for name, message in (("a.parquet", "no such file"), ("b.parquet", "not a Parquet file")):
        with pytest.raises(fb.InputError, match=message):
            match_scores(tmp_path / name, IDS, TRAIN)
