"""The certificate for streams: by hand, against certify, and what it refuses."""

import math

import numpy as np
import pytest

from faithshift_bench.risk import AnytimeCertificate, certify
from faithshift_bench.risk.betting import Mixture
from faithshift_bench.risk.losses import ItemLosses


def stream(items=80, per_item=4, rate=0.05, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(items):
        yield f"i{k}", rng.integers(0, 5, per_item) / 4, (rng.random(per_item) < rate).astype(int)


def test_one_threshold_by_hand():
    """Clean items at alpha 1/4 with the bet 1.2 fixed on clean tune items: W = 1.3^n >= 20."""
    tune = ([1.0, 1.0], [0, 0], ["t", "u"])
    found = AnytimeCertificate(thresholds=[0], tune=tune)
    looks = [found.add(f"i{k}", [0.5], [0]) for k in range(12)]
    assert [look.certified for look in looks] == [False] * 11 + [True]
    assert looks[-1].certified_at == (12,) and looks[-1].coverage == 1
    assert looks[4].log_wealth[0] == pytest.approx(5 * math.log(1.3))
    # Thirty wrong items later it still stands: it was given at item 12.
    for k in range(30):
        last = found.add(f"j{k}", [0.5], [1])
    assert last.log_wealth[0] < 0 and last.certified and last.certified_at == (12,)


def test_wealth_is_that_of_the_fixed_sample():
    """At every look log-wealth equals what certify makes of the items so far."""
    found, rows = AnytimeCertificate(thresholds=[0, 0.5]), []
    for item, conf, errors in stream(30, rate=0.2):
        rows += [(c, e, item) for c, e in zip(conf, errors, strict=True)]
        look = found.add(item, conf, errors)
        c, e, g = zip(*rows, strict=True)
        fixed = certify(
            c, e, groups=g, unit="clustered", bound="betting-mixture", thresholds=[0, 0.5]
        )
        p_values = np.exp(-np.maximum(look.log_wealth, 0))
        np.testing.assert_allclose(p_values, [s.p_value for s in fixed.scan], rtol=1e-9)
        # A certificate of the fixed sample is one of the stream; not the other way round.
        assert all(
            at is not None
            for at, s in zip(look.certified_at, fixed.scan, strict=True)
            if s.certified
        )


def test_thresholds_only_fall_and_certificates_stay():
    found, before, seen = AnytimeCertificate(thresholds="k/20"), None, []
    for item, conf, errors in stream(rate=0.02):
        look = found.add(item, conf, errors)
        if before is not None:
            for old, new in zip(before.certified_at, look.certified_at, strict=True):
                assert old is None or old == new
        before = look
        seen += [look.threshold] if look.threshold is not None else []
    assert seen and seen == sorted(seen, reverse=True)
    assert before.coverage == 1 and before.threshold == 0


def test_an_item_counts_when_it_is_complete():
    whole, pieces = AnytimeCertificate(thresholds=[0, 0.5]), AnytimeCertificate(thresholds=[0, 0.5])
    expected = whole.add("a", [0.2, 0.6, 0.9], [1, 0, 0])
    waiting = pieces.add("a", [0.9], [0], complete=False)
    assert (waiting.n_items, waiting.n_waiting, waiting.log_wealth) == (0, 1, (0.0, 0.0))
    assert pieces.add("b", [], [], complete=False).n_waiting == 2
    last = pieces.add("a", [0.6, 0.2], [0, 1])
    assert last.n_waiting == 1
    assert last.log_wealth == expected.log_wealth
    # One wrong of three at t = 0: a = 1/3 - 1/4; none of two thirds at t = .5: a = -1/6.
    by_hand = Mixture(0.25).log_wealth(
        ItemLosses(np.array([[1, 2 / 3]]), np.array([[1 / 3, 0]])), 0.25
    )
    np.testing.assert_allclose(last.log_wealth, by_hand[0], rtol=1e-12)


def test_what_a_stream_refuses():
    found = AnytimeCertificate(detector="probe, tau .4")
    found.add("a", [0.5], [0], detector="probe, tau .4")
    for change, message in (
        ({"item": "a"}, "row a.*admitted before"),
        ({"item": "a", "complete": False}, "admitted before"),
        ({"detector": "probe, tau .5"}, "another detector needs a new stream"),
        ({"confidence": [], "errors": []}, "needs a labelled row"),
        ({"errors": [2]}, "errors must be 0 or 1"),
        ({"confidence": [1.5]}, "confidence must lie"),
    ):
        with pytest.raises(ValueError, match=message):
            found.add(**({"item": "b", "confidence": [0.5], "errors": [0]} | change))
    assert found.look().n_items == 1 and found.look().n_waiting == 0
    with pytest.raises(ValueError, match="tune rows"):
        AnytimeCertificate(thresholds="q5")
    with pytest.raises(ValueError, match="delta must lie"):
        AnytimeCertificate(delta=0)


@pytest.mark.parametrize(("high", "low", "least", "most"), [(0.5, 0.0, 0, 14), (0.2, 0.0, 90, 100)])
def test_under_drift_it_bounds_the_running_mean(high, low, least, most):
    """Risks alternate, the higher first: the running mean is never under (high + low) / 2.

    At a mean of alpha at most .05 of the streams may certify (14 of 100 has probability .0005);
    at .1 nearly all do.
    """
    rng, found = np.random.default_rng(4), 0
    for _ in range(100):
        stream = AnytimeCertificate(thresholds=[0])
        for k in range(80):
            errors = rng.random(4) < (low if k % 2 else high)
            look = stream.add(str(k), np.ones(4), errors.astype(int))
        found += look.certified
    assert least <= found <= most
