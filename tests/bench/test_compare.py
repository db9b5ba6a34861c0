"""compare: against a loop over tables, by hand, and its promises about ties, axes and controls."""

import json

import numpy as np
import pytest

import faithshift_bench as fb
import faithshift_data as fd
from faithshift_bench.detectors import run_detector
from faithshift_bench.evaluation import frame_of
from faithshift_bench.sides import Side, figures, matched_selection
from faithshift_bench.stats import item_weights, swap_signs, swap_test
from tests.bench.fakes import FakeData
from tests.synthetic import write_synthetic

DOMAIN = ("d0", "d1")


def made(n_items=24, rows=12, rule=None):
    """Test items 0..n, calib and tune items beside them; labels alternate within an item."""
    traces, pairs = [], []
    for i in range(3 * n_items):
        split, fold = [("test", None), ("validation", "calib"), ("validation", "tune")][i % 3]
        for j in range(rows):
            traces.append((f"{i:03}-{j:02}", f"{i:03}", split, fold, DOMAIN[i % 2], j % 2))
            if j > 1:
                kind = "preserving" if j % 4 < 2 else "altering"
                anchor = j % 2 if kind == "preserving" else 1 - j % 2
                axis = ("p0", "p1", "a0", "a1")[(j // 4) % 2 + 2 * (kind == "altering")]
                ends = (f"{i:03}-{anchor:02}", f"{i:03}-{j:02}")
                pairs.append((*ends, axis, kind, split, True, None))
    return FakeData(traces, pairs)


def scored(data, quality, seed=0, seeds=2):
    """Scores whose signal grows with ``quality``; a column a name."""
    rng = np.random.default_rng(seed)
    rows = data.table("traces").to_pylist()
    noise = rng.normal(size=(seeds, len(rows)))
    signal = np.array([2 * r["label"] - 1 for r in rows])
    values = 1 / (1 + np.exp(-quality * signal - noise))
    return {
        "trace_id": [r["trace_id"] for r in rows] * seeds,
        "seed": np.repeat(np.arange(seeds), len(rows)),
        "score": values.ravel(),
    }


@pytest.fixture(scope="module")
def data():
    return made()


@pytest.fixture(scope="module")
def three(data):
    return [scored(data, q, k) for k, q in enumerate((1.5, 1.45, 0.2))]


OPTIONS = {"controls": (), "names": ("good", "near", "poor"), "n_permutations": 999}


@pytest.fixture(scope="module")
def found(data, three):
    return fb.compare(three, data, **OPTIONS)


def pair(block, first, second):
    (row,) = [p for p in block["pairs"] if (p["first"], p["second"]) == (first, second)]
    return row


def test_own_points_are_those_of_evaluate(data, three, found):
    rows = {row["detector"]: row for row in found.own["rows"]}
    for name, scores in zip(OPTIONS["names"], three, strict=True):
        report = fb.evaluate_scores(scores, data)
        if not report.certified["certified"]:
            assert name not in rows
            continue
        for figure in ("mfs", "hm", "coverage", "ivr", "as"):
            assert rows[name][figure] == pytest.approx(report.certified[figure])
        assert rows[name]["interval"] == pytest.approx(report.certified["intervals"]["mfs"])
    assert {"good", "near"} <= set(rows)


def test_an_uncertified_side_is_not_comparable_at_own_points(found):
    assert [r["detector"] for r in found.own["not_comparable"]] == ["poor"]
    assert found.own["not_comparable"][0]["reason"].startswith("not comparable at own points: ")
    assert "poor" in [r["detector"] for r in found.matched["rows"]]


def slow_hm(data, verdicts, weight, chosen):
    """HM of one seed by a loop over pairs; each pair counts as often as its item is drawn."""
    sums = {}
    labels = {r["trace_id"]: r["label"] for r in data.table("traces").to_pylist()}
    for row in data.table("pairs").to_pylist():
        a, b = row["anchor_id"], row["partner_id"]
        if row["split"] == "test" and chosen[a] and chosen[b]:
            moved = int(verdicts[b]) - int(verdicts[a])
            altering = row["kind"] == "altering"
            hit = moved == labels[b] - labels[a] if altering else moved != 0
            k = sums.setdefault((row["kind"], row["axis"]), [0, 0])
            k[0] += hit * weight[a[:3]]
            k[1] += weight[a[:3]]
    ivr, sens = (
        np.mean([k / n for (kind, _), (k, n) in sums.items() if kind == wanted])
        for wanted in ("preserving", "altering")
    )
    return fb.harmonic_mean(ivr, sens)


def test_matched_block_equals_a_loop_over_the_table(data, three):
    """Points and paired intervals of twenty draws, pair by pair."""
    found = fb.compare(three, data, n_resamples=20, **OPTIONS)
    frame, _ = frame_of(data)
    items = sorted({t[:3] for t in frame.trace_id[frame.fold == "test"]})
    weights = item_weights([int(i) % 2 for i in items], 20, 0)
    draws, points = [], []
    for detector, scores in zip(found.detectors, three, strict=True):
        n = len(frame.trace_id)
        hms = np.zeros((2, 21))
        for s, frozen in enumerate(detector["seeds"]):
            values = np.array(scores["score"])[s * n : (s + 1) * n]
            assert list(scores["trace_id"][s * n : (s + 1) * n]) == list(frame.trace_id)
            tau = frozen["tau"]
            trust = np.where(values > tau, (values - tau) / (1 - tau), (tau - values) / tau)
            held = np.sort(trust[frame.fold != "test"])[::-1]
            # All items are of one size, so the share of rows is the item-weighted one.
            cut = held[int(np.ceil(0.7 * len(held) - 1e-9)) - 1]
            chosen = dict(zip(frame.trace_id, trust >= cut - 1e-12, strict=True))
            verdicts = dict(zip(frame.trace_id, values > tau, strict=True))
            for b in range(21):
                row = weights[b - 1] if b else np.ones(len(items))
                weight = dict(zip(items, row, strict=True))
                hms[s, b] = slow_hm(data, verdicts, weight, chosen)
        points.append(0.7 * hms[:, 0].mean())
        draws.append(0.7 * hms[:, 1:].mean(axis=0))
    rows = {row["detector"]: row for row in found.matched["rows"]}
    for name, point in zip(OPTIONS["names"], points, strict=True):
        assert rows[name]["mfs"] == pytest.approx(point)
    for k, first in enumerate(OPTIONS["names"]):
        for m in range(k + 1, 3):
            gap = np.quantile(draws[k] - draws[m], [0.025, 0.975])
            row = pair(found.matched, first, OPTIONS["names"][m])
            assert row["interval"] == pytest.approx(tuple(gap))


def test_near_detectors_share_the_first_place_and_the_poor_one_does_not(found):
    assert sorted(found.matched["first"][0]) == ["good", "near"]
    assert found.matched["sentence"].startswith("First place is shared by ")
    near, poor = pair(found.matched, "good", "near"), pair(found.matched, "good", "poor")
    assert near["p_adjusted"] >= 0.05 > poor["p_adjusted"] >= poor["p"] >= 1 / 1000
    assert near["interval"][0] < 0 < near["interval"][1]
    assert poor["interval"][0] > 0
    assert poor["resolvable"] < poor["gap"] and near["resolvable"] > abs(near["gap"])
    assert found.matched["smallest_resolvable_gap"] == max(
        p["resolvable"] for p in found.matched["pairs"]
    )


def test_matched_mfs_is_coverage_times_hm_and_realised_is_printed(found):
    for row in found.matched["rows"]:
        assert row["mfs"] == pytest.approx(0.70 * row["hm"], abs=1e-9)
        assert row["coverage"] == pytest.approx(0.70, abs=0.08) and row["coverage"] != 0.70
    assert "0.7 x HM" in found.to_text()


def test_matched_threshold_reads_no_label(data, three):
    """Labels of calib turned round: the matched block stays as it is, own points do not."""
    table = data.table("traces")
    rows = table.to_pylist()
    for row in rows:
        if row["fold"] == "calib":
            row["label"] = 1 - row["label"]
    other = made()
    other._tables["traces"] = type(table).from_pylist(rows, schema=table.schema)
    one, two = (fb.compare(three, d, **OPTIONS) for d in (data, other))
    assert one.matched == two.matched
    assert one.own != two.own


def test_equal_confidences_are_split_by_hash_and_nothing_else(data):
    frame, _ = frame_of(data)
    flat = np.full((2, len(frame.trace_id)), 0.4)
    side = Side("flat", np.zeros(flat.shape, np.int8), flat, (None, None))
    chosen = matched_selection(frame, side, 0.7)
    held = chosen[:, frame.fold != "test"]
    assert held.mean() == pytest.approx(0.7, abs=1 / held.shape[1])
    assert chosen[:, frame.fold == "test"].mean() == pytest.approx(0.7, abs=0.08)
    assert (chosen[0] == chosen[1]).all()
    assert matched_selection(frame, side, 1.0).all()


def test_matched_share_is_weighted_by_item():
    """One item of eight rows with high confidence, one of two with low: half is the whole first."""
    ids = [f"a{k}" for k in range(8)] + ["b0", "b1", "t0"]
    frame = fb.build_frame(
        ids, ["a"] * 8 + ["b"] * 2 + ["t"], [1] * 11, fold=["calib"] * 10 + ["test"]
    )
    trust = np.array([[0.9] * 8 + [0.1] * 2 + [0.5]])
    side = Side("x", np.ones((1, 11), np.int8), trust, (None,))
    assert matched_selection(frame, side, 0.5)[0].tolist() == [True] * 8 + [False] * 3
    assert matched_selection(frame, side, 0.76)[0, :10].sum() == 10


def test_row_order_and_order_of_files(data, three, found):
    order = np.random.default_rng(0).permutation(len(three[0]["score"]))
    shuffled = [{k: np.array(v)[order] for k, v in t.items()} for t in three]
    assert fb.compare(shuffled, data, **OPTIONS) == found
    names = {**OPTIONS, "names": OPTIONS["names"][::-1]}
    turned = fb.compare(three[::-1], data, **names)
    assert turned.matched["rows"] == found.matched["rows"]
    one, two = pair(found.matched, "good", "poor"), pair(turned.matched, "poor", "good")
    assert one["p"] == two["p"] and one["gap"] == pytest.approx(-two["gap"])
    assert turned.matched["sentence"] == found.matched["sentence"]


def test_a_detector_against_itself_and_unequal_numbers_of_seeds(data, three):
    """p = 1 and a gap of 0, also where one side repeats its seeds."""
    once = {k: np.array(v)[: len(v) // 2] for k, v in three[0].items()}
    thrice = {k: np.tile(v, 3) for k, v in once.items()}
    thrice["seed"] = np.repeat(np.arange(3), len(once["seed"]))
    found = fb.compare([once, thrice], data, controls=(), names="ab", n_permutations=99)
    row = pair(found.matched, "a", "b")
    assert row["gap"] == pytest.approx(0, abs=1e-12) and row["p"] == 1
    assert sorted(found.matched["first"][0]) == ["a", "b"]


def test_axes_in_common_leave_out_where_one_commits_on_nothing(data, three):
    """A detector without confidence in the partners of axis p1 takes the axis from all."""
    silent = {k: list(v) for k, v in three[0].items()}
    ends = {p["partner_id"] for p in data.table("pairs").to_pylist() if p["axis"] == "p1"}
    silent["confidence"] = [0.0 if t in ends else 0.9 for t in silent["trace_id"]]
    found = fb.compare([silent, three[1]], data, coverage=0.5, **{**OPTIONS, "names": "ab"})
    assert found.matched["axes"]["ivr"] == ["p0"]
    (left,) = [a for a in found.matched["axes_left_out"] if a["axis"] == "p1"]
    assert left["because"] == "a commits on none of its pairs"
    assert "Left out: p1 (preserving" in found.to_text()


def marked(columns):
    import pyarrow as pa

    about = {"reads_label_evidence": True, "detector": "reader"}
    return pa.table(columns).replace_schema_metadata({b"faithshift": json.dumps(about).encode()})


def test_readers_of_label_evidence_are_not_tested_against_the_others(data, three):
    found = fb.compare([marked(three[0]), three[2]], data, controls=(), n_permutations=99)
    assert [row["detector"] for row in found.matched["rows"]] == ["reader", "scores"]
    (row,) = found.matched["pairs"]
    assert row["p"] is None and row["p_adjusted"] is None and row["gap"] > 0
    assert row["reason"] == "one reads label evidence, one does not"
    assert found.matched["n_not_tested"] == 1
    assert found.matched["first"] == [["scores"], ["reader"]]
    assert "no label evidence: scores." in found.matched["sentence"]
    assert "reader*" in found.to_text()


def test_labels_by_mechanism_put_all_in_one_ranking(three):
    import pyarrow as pa

    data = made()
    table = data.table("traces")
    rules = pa.array(["mechanism"] * len(table))
    data._tables["traces"] = table.append_column("label_rule", rules)
    found = fb.compare([marked(three[0]), three[2]], data, controls=(), n_permutations=99)
    assert found.matched["first"] == [["reader"]] and found.matched["n_tests"] == 1


def test_without_calib_rows_own_points_are_full_coverage(three):
    data = made()
    rows = [r for r in data.table("traces").to_pylist() if r["fold"] != "calib"]
    table = data.table("traces")
    data._tables["traces"] = type(table).from_pylist(rows, schema=table.schema)
    pairs = data.table("pairs")
    keep = [p for p in pairs.to_pylist() if p["split"] == "test"]
    data._tables["pairs"] = type(pairs).from_pylist(keep, schema=pairs.schema)
    ids = {r["trace_id"] for r in rows}
    short = []
    for t in three:
        here = np.isin(t["trace_id"], list(ids))
        short.append({k: np.array(v)[here] for k, v in t.items()})
    found = fb.compare(short, data, **OPTIONS)
    assert [row["coverage"] for row in found.own["rows"]] == [1, 1, 1]
    assert found.settings["own"] == "full" and found.own["not_comparable"] == []


def test_the_test_of_mfs_holds_its_level_and_sees_a_gap():
    """400 repeats: items that differ in how hard they are, two seeds, two axes of each kind."""
    rng = np.random.default_rng(0)
    keep = swap_signs(30, 199, 0)

    def table(shift):
        """Columns as in Tables.stack: hits and counts by kind, then coverage and its whole."""
        hard = rng.beta(2, 2, size=(1, 30, 4))
        hits = rng.binomial(5, np.clip(hard + shift, 0, 1), size=(2, 30, 4))
        whole = np.full((2, 30, 2), 5.0)
        covered = np.ones((2, 30, 2))
        return np.concatenate([hits[..., :2], whole, hits[..., 2:], whole, covered], axis=2)

    def mfs(totals):
        return figures(totals, (2, 2), 0.7)["mfs"].mean(axis=0)

    shift = np.array([-0.2, -0.2, 0.2, 0.2])
    null, planted = (
        np.mean([swap_test(table(0), table(gap), mfs, keep).p <= 0.05 for _ in range(400)])
        for gap in (0, shift)
    )
    assert abs(null - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / 400)
    assert planted > 0.9


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_synthetic(tmp_path_factory.mktemp("compare") / "data", 60)


def test_controls_are_always_in_the_table(folder):
    """Scores that call themselves by a control's name stand beside it, and do not displace it."""
    ds = fd.open(folder)
    given = run_detector("random", ds, (0,))
    found = fb.compare([run_detector("hidden_state", ds, (0,)), given], ds, n_permutations=99)
    rows = {row["detector"]: row for row in found.matched["rows"]}
    controls = {"constant", "random", "length_only", "edit_distance", "label_prior"}
    assert set(rows) == {"hidden_state", "random (given)", *controls}
    assert rows["random (given)"]["n_seeds"] == 1 and rows["random"]["n_seeds"] == 4
    assert {name for name, row in rows.items() if row["control"]} == controls
    assert rows["constant"]["mfs"] == 0 and rows["constant"]["interval"][1] > 0
    assert "constant (control)" in found.to_text()
    flat = pair(found.matched, "constant", "label_prior")
    assert flat["gap"] == 0 and flat["interval"] == (0, 0)
    value = json.loads(found.to_json())
    assert value["matched"]["sentence"] == found.matched["sentence"]


def test_a_control_that_cannot_be_run_is_named(data, three):
    found = fb.compare(three[:1], data, controls=("no_such",), names="a", n_permutations=9)
    assert any(note.startswith("Control no_such could not be run: ") for note in found.notes)
    assert found.matched["sentence"] == "First place: a."


def test_two_files_of_one_detector_are_told_apart_by_file(folder, tmp_path):
    from faithshift_bench.detectors import save_scores

    ds = fd.open(folder)
    table = run_detector("constant", ds, (0,))
    files = [save_scores(table, tmp_path / f"{name}.parquet") for name in "xy"]
    found = fb.compare(files, ds, controls=(), n_permutations=9)
    names = [d["name"] for d in found.detectors]
    assert names == ["constant (x.parquet)", "constant (y.parquet)"]
    with pytest.raises(fb.InputError, match="two detectors of one name"):
        fb.compare([table, table], ds, names="aa")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"coverage": 0}, "coverage"),
        ({"coverage": 1.1}, "coverage"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"n_permutations": 0}, "n_permutations"),
        ({"min_pairs": 0}, "min_pairs"),
        ({"names": ["a"]}, "names"),
        ({"alpha": 0}, "alpha"),
    ],
)
def test_bad_options_are_refused_in_one_line(data, three, options, field):
    with pytest.raises(fb.InputError, match=f"field {field}") as caught:
        fb.compare(three, data, **{"controls": (), "names": "abc", **options})
    assert "\n" not in str(caught.value)


def test_no_scores_are_refused(data):
    for nothing in ([], "a.parquet"):
        with pytest.raises(fb.InputError, match="field scores"):
            fb.compare(nothing, data)


def test_the_command_prints_and_writes(folder, tmp_path, monkeypatch, capsys):
    import sys

    from faithshift_bench.cli import main
    from faithshift_bench.detectors import save_scores

    ds = fd.open(folder)
    files = [
        str(save_scores(run_detector(name, ds, (0,)), tmp_path / f"{name}.parquet"))
        for name in ("biasing", "hidden_state")
    ]
    argv = ["faithshift", "compare", *files, "--data", str(folder)]

    def run(*more):
        monkeypatch.setattr(sys, "argv", [*argv, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    status, out, _ = run("--json", str(tmp_path / "c.json"))
    assert status == 0 and "At matched coverage 0.7" in out and "hidden_state" in out
    written = json.loads((tmp_path / "c.json").read_text())
    assert {"own", "matched", "detectors", "notes"} <= written.keys()
    digest = written["settings"]["hypotheses"]
    assert len(digest) == 64 and any(digest in note for note in written["notes"])
    assert json.loads(run("--json", "-")[1]) == written
    status, out, err = run("--coverage", "2")
    assert (status, out) == (1, "") and err.count("\n") == 1 and "coverage" in err
