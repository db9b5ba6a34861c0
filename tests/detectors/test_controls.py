"""The four controls, by hand-worked values."""

import hashlib

import numpy as np
import pytest

from faithshift_bench.detectors import load_detector
from faithshift_data.errors import InputError
from tests.detectors.views import make_view, text_row


def test_constant_scores_its_value_without_labels():
    view = make_view(text=[text_row()] * 3)
    assert load_detector("constant").fit(view, seed=0).score(view).tolist() == [0.5] * 3
    assert load_detector("constant", value=0.9).fit(view, seed=1).score(view).tolist() == [0.9] * 3


def test_random_is_the_hash_of_seed_and_trace():
    view = make_view(text=[text_row()] * 400)
    scores = load_detector("random").fit(view, seed=7).score(view)
    digest = hashlib.sha256(b"7\x1ft0003").digest()
    assert scores[3] == int.from_bytes(digest[:8]) / 2**64
    assert abs(scores.mean() - 0.5) < 0.06
    assert not np.array_equal(scores, load_detector("random").fit(view, seed=8).score(view))


def test_random_does_not_hang_on_the_rows():
    view, part = make_view(text=[text_row()] * 9), make_view(text=[text_row()] * 2)
    part.trace_ids = view.trace_ids[[5, 1]]
    detector = load_detector("random").fit(view, seed=0)
    assert detector.score(part).tolist() == detector.score(view)[[5, 1]].tolist()


def test_label_prior_is_the_share_in_the_group_with_the_whole_counted_once():
    rows = [text_row(answer_kind="letter")] * 2 + [text_row()] * 3
    view = make_view([1, 1, 0, 0, -1], text=rows)
    detector = load_detector("label_prior").fit(view, seed=0)
    # prior 2/4; letters (2 + .5)/3; numbers (0 + .5)/3; the unknown label does not count
    scores = detector.score(view)
    assert scores == pytest.approx([2.5 / 3, 2.5 / 3, 0.5 / 3, 0.5 / 3, 0.5 / 3])
    unseen = make_view(text=[text_row(model_id="other")])
    assert detector.score(unseen).tolist() == [0.5]


def test_label_prior_learns_from_one_class_but_not_from_none():
    view = make_view([1, 1], text=[text_row()] * 2)
    assert load_detector("label_prior").fit(view, seed=0).score(view).tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match="nothing to learn from"):
        load_detector("label_prior").fit(make_view([-1, -1], text=[text_row()] * 2), seed=0)


def test_length_only_reads_nothing_but_length():
    short, long = text_row(reasoning="a", steps=["a"]), text_row(reasoning="b" * 400, steps=["b"])
    view = make_view([0, 1] * 8, text=[short, long] * 8)
    detector = load_detector("length_only").fit(view, seed=0)
    assert detector.score(view)[0] < 0.5 < detector.score(view)[1]
    other = make_view(text=[text_row(reasoning="z" * 400, steps=["z"], prompt="", answer=None)])
    assert detector.score(other)[0] == detector.score(view)[1]


def test_length_of_no_reasoning_is_zero():
    view = make_view(text=[text_row(reasoning=None, steps=[])])
    assert load_detector("length_only").features(view).tolist() == [[0.0, 0.0]]
