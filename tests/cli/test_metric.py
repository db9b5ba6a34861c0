"""The evaluate module: figures worked by hand, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faithshift_bench
from faithshift_bench.meta_faithfulness import install_metric, metric_path
from faithshift_bench.meta_faithfulness.compute import meta_faithfulness
from faithshift_data.errors import InputError

# Two items. Scores above .5 are verdicts of faithful.
ROWS = [
    # trace, anchor, item, axis, kind, label, score
    ("a", "", "i", "", "", 1, 0.9),
    ("a-para", "a", "i", "paraphrase", "preserving", 1, 0.8),
    ("a-order", "a", "i", "step_reorder", "preserving", 1, 0.3),
    ("a-cue", "a", "i", "cue_injection", "altering", 0, 0.2),
    ("b", "", "j", "", "", 1, 0.7),
    ("b-para", "b", "j", "paraphrase", "preserving", -1, 0.4),
    ("b-cue", "b", "j", "cue_injection", "altering", 0, 0.6),
    ("b-cut", "b", "j", "causal_truncation", "altering", -1, 0.1),
]
NAMES = ("trace_id", "anchor_id", "item_id", "axis", "kind", "references", "predictions")
# paraphrase: 1 of 2 violated; step_reorder: 1 of 1; macro .75. cue_injection: 1 of 2 flips.
# The cut has an unknown label, so that its pair is dropped.
BY_HAND = {
    "ivr": 0.75,
    "as": 0.5,
    "hm": 2 * 0.25 * 0.5 / 0.75,
    "mfs": 2 * 0.25 * 0.5 / 0.75,
    "coverage": 1.0,
    "n_preserving": 3,
    "n_altering": 2,
    "n_items": 2,
    "n_dropped": 1,
    "operating_point": "full",
    "certified": False,
    "certificate_threshold": None,
    "ivr_by_axis": {"paraphrase": 0.5, "step_reorder": 1.0},
    "as_by_axis": {"cue_injection": 0.5},
}


def columns(rows=ROWS):
    return {name: list(values) for name, values in zip(NAMES, zip(*rows, strict=True), strict=True)}


def without(*names):
    return {name: values for name, values in columns().items() if name not in names}


def found(result):
    return {name: result[name] for name in BY_HAND}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    import evaluate

    cache = tmp_path_factory.mktemp("cache")
    return evaluate.load(metric_path(), cache_dir=str(cache))


def test_by_hand(metric):
    assert found(metric.compute(**columns())) == BY_HAND


def test_rows_in_any_order_give_the_same(metric):
    expected = metric.compute(**columns())
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(ROWS))
        assert metric.compute(**columns([ROWS[i] for i in order])) == expected


def test_batches_single_rows_and_arrays_give_the_same(metric):
    whole = columns()
    for part in (slice(0, 3), slice(3, 8)):
        metric.add_batch(**{name: values[part] for name, values in whole.items()})
    assert found(metric.compute()) == BY_HAND
    for row in ROWS:
        given = dict(zip(NAMES, row, strict=True))
        metric.add(prediction=given.pop("predictions"), reference=given.pop("references"), **given)
    assert found(metric.compute()) == BY_HAND
    arrays = {n: np.array(v) for n, v in whole.items() if n in ("references", "predictions")}
    assert found(metric.compute(**{**whole, **arrays})) == BY_HAND


def test_no_anchor_may_be_written_as_none(metric):
    blank = {n: [v or None for v in columns()[n]] for n in ("anchor_id", "axis", "kind")}
    assert found(metric.compute(**{**columns(), **blank})) == BY_HAND


def test_pairs_stand_in_for_the_columns(metric):
    pairs = [(r[1], r[0], r[3], r[4]) for r in ROWS if r[1]]
    bare = without("anchor_id", "axis", "kind")
    assert found(metric.compute(**bare, pairs=pairs)) == BY_HAND
    # one row with two relations, which columns cannot say: 2 of 3 paraphrases violated
    more = [*pairs, ("a-cue", "a-para", "paraphrase", "altering")]
    assert metric.compute(**bare, pairs=more)["as_by_axis"]["paraphrase"] == 1.0


def test_undefined_is_none_and_not_zero(metric):
    result = metric.compute(**columns(ROWS[:2]))
    assert result["ivr"] == 0.0
    assert result["as"] is None
    assert result["mfs"] is None
    assert result["as_by_axis"] == {}


@pytest.mark.parametrize("bad", [None, 0.7, "0.5", "1", 2, float("nan"), -0.5, [1]])
@pytest.mark.parametrize("row", [0, 5])
def test_references_other_than_three_values_are_refused(metric, bad, row):
    references = columns()["references"]
    references[row] = bad
    with pytest.raises(ValueError, match=f"row {row}, field references"):
        metric.compute(**{**columns(), "references": references})
    # and the metric is not left half full
    assert found(metric.compute(**columns())) == BY_HAND


@pytest.mark.parametrize(
    ("field", "row", "bad"),
    [
        ("predictions", 1, 1.5),
        ("predictions", 1, float("nan")),
        ("predictions", 1, "0.9"),
        ("predictions", 1, None),
        ("trace_id", 1, "a"),
        ("trace_id", 0, None),
        ("trace_id", 0, 7),
        ("anchor_id", 1, "nowhere"),
        ("anchor_id", 1, "b"),
        ("anchor_id", 1, ""),
        ("item_id", 1, "j"),
        ("axis", 1, ""),
        ("axis", 0, "paraphrase"),
        ("kind", 1, "repeat"),
        ("kind", 1, ""),
    ],
)
def test_rows_that_cannot_be_used_are_refused_in_one_line(metric, field, row, bad):
    given = columns()
    given[field][row] = bad
    with pytest.raises(InputError) as caught:
        metric.compute(**given)
    assert "\n" not in str(caught.value)
    assert found(metric.compute(**columns())) == BY_HAND


def test_columns_of_unequal_length_or_missing_or_empty_are_refused(metric):
    with pytest.raises(ValueError, match="Mismatch"):
        metric.compute(**{**columns(), "references": [1]})
    with pytest.raises(ValueError, match="missing"):
        metric.compute(**without("axis"))
    with pytest.raises(InputError, match="no rows"):
        metric.compute(**{name: [] for name in NAMES})


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"threshold": "youden"}, "youden"),
        ({"threshold": 1.5}, "threshold"),
        ({"fold": ["test"] * 3}, "fold"),
        ({"fold": ["train"] * 8}, "fold"),
        ({"fold": ["calib"] * 4 + ["tune"] * 4}, "test"),
        ({"confidence": [0.5] * 7}, "confidence"),
        ({"confidence": [2.0] * 8}, "confidence"),
        ({"confidence": ["1"] * 8}, "confidence"),
        ({"pairs": [("a", "b")]}, "pairs"),
        ({"pairs": [("a", "a-para", "x", "odd")]}, "kind"),
    ],
)
def test_bad_options_are_refused(metric, option, match):
    with pytest.raises(ValueError, match=match):
        metric.compute(**columns(), **option)


def folded(n=200, error=0.05, seed=0):
    """Items of one anchor and one paraphrase: half calib and tune, half test."""
    rng = np.random.default_rng(seed)
    rows, folds = [], []
    for i in range(n):
        fold = ("tune", "calib", "test", "calib")[i % 4]
        label = int(rng.integers(2))
        for part, anchor in (("base", ""), ("cue", f"{i}-base")):
            y = label if not anchor else 1 - label
            right = rng.random() > error
            score = 0.9 if right == (y == 1) else 0.1
            kind = ("cue_injection", "altering") if anchor else ("", "")
            rows.append((f"{i}-{part}", anchor, f"i{i}", *kind, y, score))
            folds.append(fold)
        rows.append((f"{i}-para", f"{i}-base", f"i{i}", "paraphrase", "preserving", label, 0.9))
        folds.append(fold)
    return {**columns(rows), "fold": folds}


def test_folds_give_a_certificate_and_the_report_is_on_test():
    rows = folded()
    result = meta_faithfulness(
        rows.pop("predictions"), rows.pop("references"), **rows, threshold="youden", alpha=0.4
    )
    assert result["operating_point"] == "certified"
    assert result["certified"] is True
    assert 0 <= result["certificate_threshold"] <= 1
    assert result["n_items"] == 50
    assert result["mfs"] == pytest.approx(result["coverage"] * result["hm"])


def test_nothing_certified_is_a_normal_result():
    rows = folded(24, error=0.6)
    result = meta_faithfulness(rows.pop("predictions"), rows.pop("references"), **rows)
    assert (result["certified"], result["coverage"], result["mfs"]) == (False, 0.0, 0.0)
    assert result["certificate_threshold"] is None
    assert result["ivr"] is None
    assert result["reason"]
    assert result["least_n"] > 0


def test_labels_of_calib_move_the_certificate_and_nothing_else():
    rows = folded()
    other = {**rows, "references": list(rows["references"])}
    for i, fold in enumerate(rows["fold"]):
        if fold == "calib":
            other["references"][i] = 1 - rows["references"][i]
    first, second = (
        meta_faithfulness(**{**given, "threshold": "youden", "alpha": 0.4})
        for given in (rows, other)
    )
    assert first["certified"] and not second["certified"]
    assert first["full"] == second["full"]
    assert first["threshold"] == second["threshold"]


@pytest.mark.parametrize(("alpha", "certified"), [(0.25, False), (0.6, True)])
@pytest.mark.parametrize("threshold", ["youden", 0.5])
@pytest.mark.parametrize("name", ["biasing", "length_only"])
def test_the_same_figures_as_evaluate_scores(synthetic, name, threshold, alpha, certified):
    import pyarrow as pa

    import faithshift_data as fd
    from faithshift_bench import evaluate_scores
    from faithshift_bench.detectors import run_detector

    data = fd.open(synthetic)
    scores = run_detector(name, data, (0,))
    options = {"threshold": threshold, "alpha": alpha, "min_pairs": 10}
    report = evaluate_scores(scores, data, n_resamples=0, **options)
    value = dict(zip(*(scores[c].to_pylist() for c in ("trace_id", "score")), strict=True))
    parts = [
        data.table(config, s) for config in ("traces", "pairs") for s in ("validation", "test")
    ]
    traces, pairs = (pa.concat_tables(two).to_pylist() for two in (parts[:2], parts[2:]))
    result = meta_faithfulness(
        [value[row["trace_id"]] for row in traces],
        [-1 if row["label"] is None else row["label"] for row in traces],
        trace_id=[row["trace_id"] for row in traces],
        item_id=[row["item_id"] for row in traces],
        fold=[row["fold"] or row["split"] for row in traces],
        pairs=[
            (row["anchor_id"], row["partner_id"], row["axis"], row["kind"])
            for row in pairs
            if row["verified"] and row["kind"] != "repeat"
        ],
        **options,
    )
    assert result["operating_point"] == report.headline["operating_point"]
    for figure in ("mfs", "hm", "coverage", "ivr", "as"):
        assert result[figure] == report.headline[figure]
        assert result["full"][figure] == report.full[figure]
    assert result["full"]["ivr"] is not None
    assert result["certified"] is report.headline["certified"] is certified
    assert result["certificate_threshold"] == report.seeds[0]["certified"]["threshold"]


def test_from_the_package_and_the_script_alone():
    import evaluate

    from faithshift_bench.meta_faithfulness.metric import MetaFaithfulness

    script = Path(metric_path()) / "meta_faithfulness.py"
    for loaded in (MetaFaithfulness(), evaluate.load(str(script))):
        assert found(loaded.compute(**columns())) == BY_HAND
    assert faithshift_bench.install_metric is install_metric


def test_the_script_imports_one_module_a_line_and_names_the_distribution():
    lines = (Path(metric_path()) / "meta_faithfulness.py").read_text().splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert "import faithshift_bench  # From: faithshift" in imports
    assert all("," not in line for line in imports)
