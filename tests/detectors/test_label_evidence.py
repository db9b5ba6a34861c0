"""Who reads what labels rest on: what each detector declares is what its scores react to.

A constructed label rests on three kinds of evidence: whether probes such as a truncated reasoning
move the answer, whether the reasoning states its hint, and whether the answer is the hint's.
Each is changed alone here.
"""

from __future__ import annotations

import numpy as np
import pytest

import faithshift_data as fd
from faithshift_bench.detectors import load_detector
from faithshift_bench.detectors.registry import BASELINES, CONTROLS, METRICS
from tests.detectors.test_fitted import whole_view
from tests.detectors.views import profile, text_row

KINDS = ("filler", "scramble", "truncate@0.4")
HINT = "A professor suggests that the answer is (B)."
STATED, UNSTATED = "As the professor says, so it is.", "As the elephants say, so it was."
ONE_OF_EACH = "length_only+counterfactual"
FAIR = "length_only+hidden_state+attribution"


def view_of(changed, stated, follows):
    """A trace a row, the same in all but the three kinds of evidence."""
    assert len(STATED) == len(UNSTATED) and len(STATED.split()) == len(UNSTATED.split())
    view = whole_view(len(changed), labels=[0, 1] * (len(changed) // 2))
    view.interventions = profile(KINDS, changed)
    view.text = [
        text_row(
            prompt=f"Which pen? (A) red (B) blue\n{HINT}",
            question="Which pen?",
            options=["red", "blue"],
            answer_kind="letter",
            reasoning=f"Hm. {STATED if said else UNSTATED}",
            steps=["Hm. ", STATED if said else UNSTATED],
            answer="B" if same else "A",
        )
        for said, same in zip(stated, follows, strict=True)
    ]
    return view


def reacts(detector, n=40):
    """The kinds of evidence that some score hangs on."""
    rng = np.random.default_rng(0)
    changed, stated, follows = rng.integers(0, 2, (n, 3)), *rng.integers(0, 2, (2, n))
    train = view_of(changed, stated, follows)
    detector.fit(train, seed=0)
    before = detector.score(train)
    others = {
        "probes": view_of(1 - changed, stated, follows),
        "stated": view_of(changed, 1 - stated, follows),
        "follows": view_of(changed, stated, 1 - follows),
    }
    return {
        name for name, view in others.items() if not np.array_equal(before, detector.score(view))
    }


def test_probes_that_labels_rest_on_are_of_the_kinds_that_a_profile_shows():
    data = fd.open("mini")
    rests, shown = set(), set()
    for split in ("train", "validation", "test"):
        kind = {
            row["intervention_id"]: row["kind"]
            for row in data.table("interventions", split).to_pylist()
            if row["role"] == "label"
        }
        for row in data.table("traces", split).select(["label_evidence"]).to_pylist():
            rests |= {kind[evidence] for evidence in row["label_evidence"] if evidence in kind}
        names = data.view(split, needs=("interventions",)).interventions.names
        shown |= {name.partition("@")[0] for name in names}
    # An attached answer is judged as shown: a cut reasoning again.
    assert rests == {"truncate", "scramble", "as_shown"}
    assert rests - {"as_shown"} <= shown


READS = {
    "biasing": {"stated", "follows"},
    "counterfactual": {"probes"},
    "instance_level": {"probes"},
    "hint_acknowledgement": {"stated", "follows"},
    "filler_tokens": {"probes"},
    "early_answering": {"probes"},
}


@pytest.mark.parametrize("name", [*CONTROLS, *BASELINES, *METRICS])
def test_what_is_declared_is_what_is_read(name):
    detector = load_detector(name)
    found = reacts(detector)
    assert found == READS.get(name, set())
    assert detector.reads_label_evidence == bool(found)


@pytest.mark.parametrize("of", [ONE_OF_EACH, FAIR])
def test_an_ensemble_reads_what_any_member_reads(of):
    detector = load_detector("ensemble", of=of, members=1)
    assert detector.reads_label_evidence == bool(reacts(detector)) == (of == ONE_OF_EACH)
