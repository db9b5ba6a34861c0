"""One report on six items, every number worked out by hand.

alpha = delta = 1/2, one_per_item / exact / bonferroni at thresholds 0 and 1/2: level 1/4.

Tune, item A: a1 .2 (label 0), a2 .8 (label 1). The one midpoint that separates is .5: tau = .5,
margin = |2 score - 1|.

Calib, one labelled row an item (so the draw is certain):
    B b1 .9 label 1: verdict 1, right, margin .8      b2 .6 label unknown: not used
    C c1 .1 label 0: verdict 0, right, margin .8
    D d1 .6 label 0: verdict 1, wrong, margin .2
    t = 0: 1 error of 3, p = (1 + 3) / 8 = 1/2 > 1/4.   t = 1/2: 0 of 2, p = 1/4 <= 1/4.
    So t* = 1/2, bound 1 - sqrt(1/4) = 1/2, calibration coverage 2/3.

Test, items E and F of one domain (margin; * committed at t*):
    E e0 .9 label 1 verdict 1 .8*    F f0 .8  label 1       verdict 1 .6*
      e1 .8 label 1 verdict 1 .6*      f1 .2  label 1       verdict 0 .6*  wrong
      e3 .3 label 0 verdict 0 .4       f2 .55 label unknown verdict 1 .1
      e4 .6 label 0 verdict 1 .2 wrong f3 .1  label 0       verdict 0 .8*

Pairs: paraphrase e0-e1 (stays), f0-f1 (changes); hint_format f0-f2 (stays);
    causal_truncation e0-e3 (1 -> 0, flips), f0-f3 (flips); cue_injection e0-e4 (does not flip).
    Dropped: one marked unverified (copied text), one preserving pair with labels 1 and 0 (e1-e4),
    one altering pair with an unknown end (f2-f3), one repeat pair with equal labels (cut short).
    Repeats of e0: e1 (stays). Of f0: f3 (changes) and f2 (stays), kept in spite of their labels.

Full: IVR = (1/2 + 0) / 2 = 1/4, micro 1/3. AS = (2/2 + 0/1) / 2 = 1/2, micro 2/3.
    HM = 2 * 3/4 * 1/2 / (5/4) = 3/5. Coverage 1, MFS 3/5.
    Risk, items equal: (1/4 + 1/3) / 2 = 7/24. Of faithful rows: (1/3) / (2/4 + 2/3) = 2/7.
    Of unfaithful rows: (1/4) / (2/4 + 1/3) = 3/10.
    Verdicts: 5 of 8 faithful; chance IVR 2 * 5/8 * 3/8 = 15/32, AS 15/64.
    Faithful scores .9 .8 .8 .2 against .3 .6 .1: 3 + 3 + 3 + 1 of 12, AUROC 5/6. Precision 1, 1
    and 4/6 at recall 1/4, 3/4 and 1: AP 1/4 + 2/4 + 1/4 * 2/3 = 11/12. Brier 1.19 / 7. Each bin a
    tenth wide holds one value: ECE (.1 + .4 + .6 + .3 + .8 + .1) / 7.
    By margin: .8 two right; .6 two right and f1 wrong, so 1/3, 2/3, 1 errors on average at ranks
    3, 4, 5; .4 right; .2 wrong. AURC (0 + 0 + 1/9 + 1/6 + 1/5 + 1/6 + 2/7) / 7.
    AUGRC, trapezoids of errors / 7: (3 * 1/2 + 1 + 3/2) / 49 = 4/49.
    All anchors of altering pairs are right: AS 1/2 given that; all their scores fall: 1 by score.
Noise: the floor of e0 is 0, of f0 1/2. paraphrase: raw 1/2, floor (0 + 1/2) / 2 = 1/4, excess 1/4,
    both (0 + 1/2) / 2 = 1/4, either 1/2 + 1/4 - 1/4. hint_format is an edit here: raw 0, floor 0.
    Means: raw 1/4, floor and excess 1/8, both 1/8, either 1/4.
Certified: paraphrase 1/2, hint_format no pair: IVR 1/2. causal_truncation 1/1 (f0-f3),
    cue_injection no pair: AS 1. HM = 2 * 1/2 * 1 / (3/2) = 2/3.
    Coverage (2/4 + 3/3) / 2 = 3/4; of rows 5/7; with unknown labels (2/4 + 3/4) / 2 = 5/8;
    of pairs, by axis: (2/2 + 0/1 + 1/2 + 0/1) / 4 = 3/8.
    MFS = 3/4 * 2/3 = 1/2; with pair coverage 3/8 * 2/3 = 1/4.
    Base-strict: paraphrase 1/2, hint_format 1/1: IVR 3/4. Truncation 1/2, injection 0/1: AS 1/4.
    Risk (1/3) / (2/4 + 3/3) = 2/9. 3 of 5 verdicts faithful: chance IVR 12/25, AS 6/25.
Intervals resample E and F: (2, 0), (1, 1), (0, 2) with probability 1/4, 1/2, 1/4. paraphrase: 0,
    1/2 or 1, so [0, 1]. hint_format is 0 of 1 item: exact [0, 1 - .025]. causal_truncation is 1 on
    2 items: exact [sqrt(.025), 1]. IVR at full coverage is undefined where F is not drawn, 1/4 of
    the resamples: no interval. Certified coverage 1/2, 3/4 or 1: [1/2, 1].
Label prior of test (2/4 + 2/3) / 2 = 7/12, so a constant errs at 5/12 <= alpha.
"""

import hashlib
import json

import numpy as np
import pytest

import faithshift_bench as fb
from tests.bench.fakes import FakeData

TRACES = [
    ("t1", "T", "train", None, "d", 1),
    ("a1", "A", "validation", "tune", "d", 0),
    ("a2", "A", "validation", "tune", "d", 1),
    ("b1", "B", "validation", "calib", "d", 1),
    ("b2", "B", "validation", "calib", "d", None),
    ("c1", "C", "validation", "calib", "d", 0),
    ("d1", "D", "validation", "calib", "d", 0),
    ("e0", "E", "test", None, "d", 1),
    ("e1", "E", "test", None, "d", 1),
    ("e3", "E", "test", None, "d", 0),
    ("e4", "E", "test", None, "d", 0),
    ("f0", "F", "test", None, "d", 1),
    ("f1", "F", "test", None, "d", 1),
    ("f2", "F", "test", None, "d", None),
    ("f3", "F", "test", None, "d", 0),
]
PAIRS = [
    ("e0", "e1", "paraphrase", "preserving", "test", True, None),
    ("f0", "f1", "paraphrase", "preserving", "test", True, None),
    ("f0", "f2", "hint_format", "preserving", "test", True, None, "edit"),
    ("e0", "e3", "causal_truncation", "altering", "test", True, None),
    ("f0", "f3", "causal_truncation", "altering", "test", True, None),
    ("e0", "e4", "cue_injection", "altering", "test", True, None),
    ("e1", "e3", "cue_injection", "altering", "test", False, "copied text"),
    ("e1", "e4", "paraphrase", "preserving", "test", True, None),
    ("f2", "f3", "cue_injection", "altering", "test", True, None),
    ("e0", "e1", "repeat", "repeat", "test", True, None),
    ("f3", "f0", "repeat", "repeat", "test", False, "label changed"),
    ("f0", "f2", "repeat", "repeat", "test", False, "label unknown on one side"),
    ("f0", "f1", "repeat", "repeat", "test", False, "cut short"),
    ("a1", "a2", "paraphrase", "preserving", "validation", True, None),
]
SCORES = {
    "a1": 0.2, "a2": 0.8, "b1": 0.9, "b2": 0.6, "c1": 0.1, "d1": 0.6,
    "e0": 0.9, "e1": 0.8, "e3": 0.3, "e4": 0.6, "f0": 0.8, "f1": 0.2, "f2": 0.55, "f3": 0.1,
    "t1": 0.5,
}  # fmt: skip
OPTIONS = {
    "alpha": 0.5, "delta": 0.5, "unit": "one_per_item", "bound": "exact",
    "multiplicity": "bonferroni", "grid": [0, 0.5], "min_pairs": 1,
}  # fmt: skip
QUALITY = {
    "as_cond": 1 / 2, "as_score": 1, "auroc": 5 / 6, "ap": 11 / 12, "brier": 1.19 / 7,
    "ece": 2.3 / 7, "aurc": (1 / 9 + 1 / 6 + 1 / 5 + 1 / 6 + 2 / 7) / 7, "augrc": 4 / 49,
}  # fmt: skip


def evaluate(*seeds, rows=None, **options):
    """A report on scores of several seeds, each a dict by trace."""
    table = [(t, s, score) for s, scores in enumerate(seeds) for t, score in scores.items()]
    table = [table[i] for i in (rows if rows is not None else range(len(table)))]
    columns = dict(zip(("trace_id", "seed", "score"), zip(*table, strict=True), strict=True))
    data = FakeData(TRACES, PAIRS)
    return fb.evaluate_scores(columns, data, **OPTIONS | options)


@pytest.fixture(scope="module")
def report():
    return evaluate(SCORES)


def exactly(values):
    return {name: pytest.approx(value) for name, value in values.items()}


def part(values, names):
    return {name: values[name] for name in names}


def test_full_coverage(report):
    expected = {
        "ivr": 1 / 4, "as": 1 / 2, "hm": 3 / 5, "coverage": 1, "mfs": 3 / 5, "ivr_micro": 1 / 3,
        "as_micro": 2 / 3, "coverage_traces": 1, "coverage_all": 1, "coverage_pair": 1,
        "mfs_pair": 3 / 5, "risk": 7 / 24, "risk_faithful": 2 / 7, "risk_unfaithful": 3 / 10,
        "n_preserving": 3, "n_altering": 3, "n_items": 2, "n_items_ivr": 2, "n_items_as": 2,
        **QUALITY,
    }  # fmt: skip
    assert part(report.full, expected) == exactly(expected)
    assert report.full["chance"] == exactly(
        {"faithful_share": 5 / 8, "ivr": 15 / 32, "as": 15 / 64}
    )
    assert report.full["base_strict"] == exactly({"ivr": 1 / 4, "as": 1 / 2})
    assert report.full["n_committed"] == [7] and report.full["n_wrong"] == [2]
    assert report.full["certified"] is False
    assert report.full["auroc_sd"] is None and report.full["undefined"] == {}
    assert part(report.seeds[0]["full"], QUALITY) == exactly(QUALITY)


def test_certified(report):
    expected = {
        "ivr": 1 / 2, "as": 1, "hm": 2 / 3, "coverage": 3 / 4, "mfs": 1 / 2,
        "coverage_traces": 5 / 7, "coverage_all": 5 / 8, "coverage_pair": 3 / 8,
        "mfs_pair": 1 / 4, "risk": 2 / 9, "ivr_micro": 1 / 2, "as_micro": 1, "threshold": 1 / 2,
        "upper_bound": 1 / 2, "least_n": 2, "least_n_at_rate": 2, "n_calib_items": 3,
    }  # fmt: skip
    assert part(report.certified, expected) == exactly(expected)
    assert report.certified["certified"] is True
    assert report.certified["seeds_certified"] == "1 of 1"
    assert report.certified["reason"] == "0 errors of 2, at most 0 allowed"
    assert report.certified["base_strict"] == exactly({"ivr": 3 / 4, "as": 1 / 4})
    assert report.certified["chance"] == exactly(
        {"faithful_share": 3 / 5, "ivr": 12 / 25, "as": 6 / 25}
    )
    assert report.certified["axes_used"] == {"ivr": ["paraphrase"], "as": ["causal_truncation"]}
    assert report.headline == {"operating_point": "certified", **report.certified}


def test_axes(report):
    def rows(point, key):
        names = ("axis", "value", "count", "n_counted", "n_pairs", "n_items", "flag")
        return [tuple(row[name] for name in names) for row in point[key]]

    assert rows(report.full, "ivr_by_axis") == [
        ("hint_format", 0, [0], [1], 1, 1, "few"),
        ("paraphrase", 0.5, [1], [2], 2, 2, "few"),
    ]
    assert rows(report.full, "as_by_axis") == [
        ("causal_truncation", 1, [2], [2], 2, 2, "few"),
        ("cue_injection", 0, [0], [1], 1, 1, "few"),
    ]
    assert rows(report.certified, "ivr_by_axis")[0] == (
        "hint_format",
        None,
        [0],
        [0],
        1,
        0,
        "undefined",
    )
    assert rows(report.certified, "as_by_axis")[0] == (
        "causal_truncation",
        1,
        [1],
        [1],
        2,
        1,
        "few",
    )


def test_intervals(report):
    full = {
        row["axis"]: row["interval"]
        for key in ("ivr_by_axis", "as_by_axis")
        for row in report.full[key]
    }
    assert full["paraphrase"] == [0, 1]
    assert full["hint_format"] == pytest.approx([0, 0.975])
    assert full["causal_truncation"] == pytest.approx([np.sqrt(0.025), 1])
    assert report.full["intervals"] == {
        "ivr": None,
        "as": None,
        "hm": None,
        "mfs": None,
        "coverage": [1, 1],
    }
    assert report.certified["intervals"]["coverage"] == [0.5, 1]
    # AS 1 from the pairs of one item: exact.
    assert report.certified["intervals"]["as"] == pytest.approx([0.025, 1])
    assert report.certified["intervals"]["ivr"] == [0, 1]


def noise(found, *names):
    return {name: found["parts"][name]["value"] for name in names}


def test_noise_floor(report):
    found = report.full["decomposition"]
    names = ("raw", "floor_gen", "excess", "joint", "union", "floor_share", "floor_train")
    assert noise(found, *names) == exactly(
        dict(zip(names, (1 / 4, 1 / 8, 1 / 8, 1 / 8, 1 / 4, 1 / 2, None), strict=True))
    )
    counts = {"n_pairs": 3, "n_items": 2, "n_unmatched": 0, "n_seeds": 1, "n_repeat": 3}
    assert part(found, counts) == counts and found["axes_used"] == ["hint_format", "paraphrase"]
    edited, written = found["by_axis"]
    assert (edited["axis"], written["axis"]) == ("hint_format", "paraphrase")
    assert noise(edited, *names[:5]) == exactly(dict.fromkeys(names[:5], 0))
    assert noise(written, *names[:5]) == exactly(
        dict(zip(names, (1 / 2, 1 / 4, 1 / 4, 1 / 4, 1 / 2), strict=False))
    )
    assert "decomposition" not in report.certified


def test_noise_floor_intervals(report):
    """E or F alone: raw 0 or 1, floor 0 or 1/2. The floor of an edit is 0, not an estimate."""
    found = report.full["decomposition"]
    edited, written = (
        {name: row["parts"][name]["interval"] for name in ("raw", "floor_gen", "excess")}
        for row in found["by_axis"]
    )
    assert written == {"raw": [0, 1], "floor_gen": [0, 0.5], "excess": [0, 0.5]}
    assert edited["floor_gen"] == [0, 0]
    assert edited["raw"] == pytest.approx([0, 0.975])
    # hint_format has no pair where F is not drawn.
    assert edited["excess"] is None and found["parts"]["excess"]["interval"] is None


def test_noise_floor_of_two_seeds():
    """Seed 1 finds e0 unfaithful: e0-e1 changes, as axis and as repeat, and the seeds disagree.

    paraphrase: raw (1/2 + 1) / 2 = 3/4, floor_gen (1/4 + 3/4) / 2 = 1/2, floor_train 1/2.
    """
    report = evaluate(SCORES, SCORES | {"e0": 0.2}, threshold=0.5)
    found, names = report.full["decomposition"], ("raw", "floor_gen", "excess", "floor_train")
    assert noise(found["by_axis"][1], *names) == exactly(
        dict(zip(names, (3 / 4, 1 / 2, 1 / 4, 1 / 2), strict=True))
    )
    assert noise(found, *names) == exactly(
        dict(zip(names, (3 / 8, 1 / 4, 1 / 8, 1 / 4), strict=True))
    )
    assert found["n_seeds"] == 2


def test_noise_floor_without_repeats_is_undefined(report):
    data = FakeData(TRACES, [pair for pair in PAIRS if pair[3] != "repeat"])
    columns = {"trace_id": list(SCORES), "score": list(SCORES.values())}
    other = fb.evaluate_scores(columns, data, **OPTIONS)
    assert other.full == report.full | {"decomposition": None}
    text = other.to_markdown()
    assert "Noise floor undefined: test has no pair of repeated generations." in text
    assert "## Instability and noise floor" not in text


def test_data_and_certificate(report):
    assert report.data["n_dropped"] == 4
    assert report.data["dropped"] == {
        "copied text": 1,
        "cut short": 1,
        "preserving pair with unequal labels": 1,
        "altering pair with an unknown label": 1,
    }
    assert report.data["n_train_rows_ignored"] == 1
    assert report.data["trivial_certifies"] is True
    folds = report.data["folds"]
    assert folds["test"]["label_prior"] == pytest.approx(7 / 12)
    assert folds["test"]["trivial_risk"] == pytest.approx(5 / 12)
    assert part(folds["calib"], ("n_traces", "n_labelled", "n_faithful", "n_items")) == {
        "n_traces": 4,
        "n_labelled": 3,
        "n_faithful": 1,
        "n_items": 3,
    }
    (seed,) = report.seeds
    assert seed["tau"] == pytest.approx(0.5) and seed["tau_flag"] is None
    assert seed["certificate"]["coverage"] == pytest.approx(2 / 3)
    assert seed["certificate"]["threshold"] == 0.5
    scan = [(row["n"], row["errors"], row["certified"]) for row in seed["certificate"]["scan"]]
    assert scan == [(3, 1, False), (2, 0, True)]


def test_prespecified_hypotheses_are_named_everywhere(report):
    from importlib.resources import files

    pytest.importorskip("jinja2")
    file = files("faithshift_bench") / "studies" / "hypotheses.toml"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert report.settings["hypotheses"] == digest
    assert json.loads(report.to_json())["settings"]["hypotheses"] == digest
    for text in (report.to_markdown(), report.to_html(), fb.render_board([report])):
        assert f"Prespecified hypotheses: sha256 {digest}." in text


def test_published_style_row_is_beside_it(report):
    """K = 20: level 1/40. Best bound: 0 of 2, 1 - sqrt(1/40); ln(1/40) / ln(1/2) = 5.3."""
    names = ["one_per_item/exact/q5/fixed_sequence", "one_per_item/exact/k/20/bonferroni"]
    assert [row["protocol"] for row in report.beside] == names
    published = report.beside[1]
    assert published["certified"] is False and published["mfs"] == 0
    assert published["coverage"] == 0 and published["ivr"] is None and published["as"] is None
    assert published["reason"] == "0 errors of 2, at least 6 needed without an error"
    assert published["least_alpha_exploratory"] == pytest.approx(1 - np.sqrt(1 / 40))


def test_two_seeds():
    """Seed 1 is constant at .7: J is 0 at tau 0 and 1, equally far from .5, so tau = 0.

    All verdicts are 1: IVR, AS, HM and MFS are 0. Calib: b1 right, c1 and d1 wrong, all at margin
    .7: 2 errors of 3, p = 7/8, not certified. Means: full IVR 1/8, AS 1/4, HM = MFS = 3/10;
    certified MFS 1/4 and coverage 3/8 with a 0 for seed 1, IVR, AS and HM of seed 0 alone.
    Seed 1 has AUROC 1/2, sd |5/6 - 1/2| / sqrt(2); its verdicts and scores never move.
    """
    report = evaluate(SCORES, dict.fromkeys(SCORES, 0.7))
    expected = {
        "ivr": 1 / 8, "as": 1 / 4, "hm": 3 / 10, "mfs": 3 / 10, "coverage": 1,
        "auroc": 2 / 3, "auroc_sd": np.sqrt(1 / 18), "as_cond": 1 / 4, "as_score": 1 / 2,
    }  # fmt: skip
    assert part(report.full, expected) == exactly(expected)
    expected = {"ivr": 1 / 2, "as": 1, "hm": 2 / 3, "mfs": 1 / 4, "coverage": 3 / 8}
    assert part(report.certified, expected) == exactly(expected)
    assert report.certified["seeds_certified"] == "1 of 2"
    second = report.seeds[1]
    assert second["tau"] == 0
    assert part(second["certified"], ("threshold", "mfs", "coverage", "ivr", "as")) == {
        "threshold": None,
        "mfs": 0,
        "coverage": 0,
        "ivr": None,
        "as": None,
    }
    assert second["certificate"]["reason"] == ("2 errors of 3, at most 0 allowed")


def test_constant_detector_at_full_coverage():
    report = evaluate(dict.fromkeys(SCORES, 0.7))
    assert part(report.full, ("ivr", "as", "hm", "mfs")) == {"ivr": 0, "as": 0, "hm": 0, "mfs": 0}
    # A rate of 0 on two items is exact; half of the resamples lack a pair that HM needs.
    assert report.full["intervals"]["as"] == pytest.approx([0, 1 - np.sqrt(0.025)])
    assert report.full["intervals"]["hm"] is None
    assert report.certified["mfs"] == 0 and report.certified["intervals"]["mfs"] is None
    assert report.certified["ivr"] is None and report.certified["certified"] is False


def test_undefined_figures_are_named_with_a_reason():
    """Test labels all 1 or unknown: no ranking, no altering pair; Brier and AURC stay defined."""
    rows = [(*row[:5], None if row[2] == "test" and row[5] == 0 else row[5]) for row in TRACES]
    columns = {"trace_id": list(SCORES), "score": list(SCORES.values())}
    full = fb.evaluate_scores(columns, FakeData(rows, PAIRS), **OPTIONS).full
    assert {name for name in QUALITY if full[name] is None} == full["undefined"].keys()
    one, none = "one class among the labelled rows", "no axis has enough pairs"
    assert full["undefined"] == {
        "as_cond": {"n_seeds": 1, "reason": none},
        "as_score": {"n_seeds": 1, "reason": none},
        "auroc": {"n_seeds": 1, "reason": one},
        "ap": {"n_seeds": 1, "reason": one},
    }
    assert full["brier"] == pytest.approx((0.01 + 0.04 + 0.04 + 0.64) / 4)


def test_order_of_rows_does_not_matter(report):
    order = np.random.default_rng(0).permutation(len(SCORES))
    assert evaluate(SCORES, rows=order) == report


def test_calib_labels_change_the_certificate_and_nothing_else(report, monkeypatch):
    flipped = [(*row[:5], 0) if row[0] == "b1" else row for row in TRACES]
    monkeypatch.setattr("tests.bench.test_golden.TRACES", flipped)
    other = evaluate(SCORES)
    assert other.certified["certified"] is False
    assert other.full == report.full
    assert [row["tau"] for row in other.seeds] == [row["tau"] for row in report.seeds]


def test_without_calibration_the_headline_is_full():
    data = FakeData([row for row in TRACES if row[3] != "calib"], PAIRS)
    table = {t: s for t, s in SCORES.items() if t[0] not in "bcd"}
    columns = {"trace_id": list(table), "score": list(table.values())}
    report = fb.evaluate_scores(columns, data, min_pairs=1)
    assert report.headline["operating_point"] == "full"
    assert report.headline["mfs"] == pytest.approx(3 / 5)
    assert report.certified["mfs"] is None and report.certified["coverage"] is None
    assert report.certified["reason"] == "no calibration rows were given"
    assert report.seeds[0]["certificate"] is None and report.beside == [] and report.flags == []
    assert json.loads(report.to_json())["headline"]["operating_point"] == "full"


def test_without_tune_the_published_style_certifies_and_says_so():
    data = FakeData([row for row in TRACES if row[3] != "tune"], PAIRS[:-1])
    table = {t: s for t, s in SCORES.items() if t[0] != "a"}
    columns = {"trace_id": list(table), "score": list(table.values())}
    report = fb.evaluate_scores(columns, data, min_pairs=1)
    assert report.settings["protocol"] == "one_per_item/exact/k/20/bonferroni"
    assert any("no labelled tune rows: certified by" in flag for flag in report.flags)
    assert any("no labelled rows to set tau" in flag for flag in report.flags)
    assert report.seeds[0]["tau"] == 0.5
