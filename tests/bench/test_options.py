"""Options that are no numbers, or out of range, are refused in one line that names them."""

import numpy as np
import pytest

import faithshift_bench as fb
from faithshift_bench.meta_faithfulness import compute
from faithshift_bench.risk import certify
from tests.bench.test_golden import SCORES, evaluate

BAD = [
    ({"alpha": "x"}, "alpha must be a number"),
    ({"alpha": None}, "alpha must be a number"),
    ({"alpha": True}, "alpha must be a number"),
    ({"alpha": float("nan")}, "alpha must lie"),
    ({"delta": "x"}, "delta must be a number"),
    ({"delta": 1e-300}, "delta must lie"),
    ({"seed": -1}, "field seed: bad value"),
    ({"seed": "a"}, "field seed: bad value"),
    ({"seed": 1.5}, "field seed: bad value"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_certify_and_evaluate_refuse_them(options, message):
    with pytest.raises(fb.InputError, match=message):
        certify([0.1, 0.9], [0, 1], **options)
    with pytest.raises(fb.InputError, match=message):
        evaluate(SCORES, **options)


@pytest.mark.parametrize(("options", "message"), BAD)
def test_compute_refuses_them(options, message):
    if "seed" in options:
        options, message = {"draw_seed": options["seed"]}, message.replace("seed", "draw_seed")
    with pytest.raises(fb.InputError, match=message):
        compute.meta_faithfulness(
            [0.2, 0.8], [0, 1], trace_id=["a", "b"], item_id=["a", "b"], pairs=[], **options
        )


def test_numbers_of_numpy_are_numbers():
    options = {"alpha": np.float32(0.25), "delta": np.float64(0.05), "seed": np.int64(1)}
    assert certify([0.1, 0.9], [0, 1], **options).threshold is None
