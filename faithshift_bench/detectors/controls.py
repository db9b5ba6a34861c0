"""Detectors that know nothing of faithfulness: what a score has to beat."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors.base import Detector, labelled
from faithshift_bench.detectors.linear import LinearDetector
from faithshift_bench.explain.inputs import Feature
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data.views import View

_WORD = re.compile(r"[^\W_]+")


class Constant(Detector):
    """One score for all: never violates invariance, never sees a change.

    Args:
        value: the score, in [0, 1].
    """

    name = "constant"
    deterministic = True

    def __init__(self, value: float = 0.5) -> None:  # noqa: D107
        super().__init__()
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
            expected = "a number in [0, 1]"
            raise InputError("bad parameter", field="value", expected=expected, got=value)
        self.params["value"] = value

    def fit(self, view: View, *, seed: int) -> Self:  # noqa: D102
        return self

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        return np.full(len(view), float(self.params["value"]))


class Random(Detector):
    """A uniform score drawn from (seed, trace id), so that it does not hang on the rows' order."""

    name = "random"

    def fit(self, view: View, *, seed: int) -> Self:  # noqa: D102
        self.params["seed"] = seed
        return self

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        self.need_fitted("seed" in self.params)
        keys = (f"{self.params['seed']}\x1f{trace}" for trace in view.trace_ids)
        draws = (hashlib.sha256(key.encode()).digest()[:8] for key in keys)
        return np.array([int.from_bytes(draw) / 2**64 for draw in draws], dtype=np.float64)


class LengthOnly(LinearDetector):
    """Logistic regression on how long the reasoning is, and nothing of what it says."""

    name = "length_only"

    def features(self, view: View) -> NDArray[np.float64]:
        """Log of 1 + characters, and of 1 + steps; shape (n, 2)."""
        sizes = [(len(row["reasoning"] or ""), len(row["steps"])) for row in view.text]
        return np.log1p(np.array(sizes, dtype=np.float64).reshape(-1, 2))

    def feature_names(self, view: View) -> list[Feature]:  # noqa: D102
        return [Feature("length", name) for name in ("characters", "steps")]


class EditDistance(LinearDetector):
    """Logistic regression on how far the words of the reasoning are from those of the question.

    The distance is Levenshtein's over words, divided by the longer text's count: 0 for reasoning
    that repeats the question, 1 for reasoning that shares no word with it in order. It is measured
    to the question, since a view names no anchor; and not to the prompt, since a prompt holds the
    hint that labels rest on. Of long reasoning it says little more than its length.
    """

    name = "edit_distance"

    def features(self, view: View) -> NDArray[np.float64]:
        """The distance, in [0, 1]; 0 where both have no words; shape (n, 1)."""
        found = [edit_distance(row["reasoning"] or "", row["question"]) for row in view.text]
        return np.array(found, dtype=np.float64).reshape(-1, 1)

    def feature_names(self, view: View) -> list[Feature]:  # noqa: D102
        return [Feature("edit distance", "to the question")]


class LabelPrior(Detector):
    """The share of faithful train traces: what can be scored without reading a trace.

    The share is taken among train traces of the same model and kind of answer, with the share of
    all train traces counted in once. Model and kind of answer are facts about the experiment.
    """

    name = "label_prior"
    deterministic = True

    def fit(self, view: View, *, seed: int) -> Self:  # noqa: D102
        rows, labels = labelled(view, both=False)
        prior = float(labels.mean())
        groups: dict[str, list[int]] = {}
        for row, label in zip(rows, labels.tolist(), strict=True):
            groups.setdefault(_group(view.text[row]), []).append(label)
        shares = {name: (sum(of) + prior) / (len(of) + 1) for name, of in groups.items()}
        self.params.update(prior=prior, shares=shares)
        return self

    def score(self, view: View) -> NDArray[np.float64]:  # noqa: D102
        self.need_fitted("shares" in self.params)
        shares, prior = self.params["shares"], self.params["prior"]
        return np.array([shares.get(_group(row), prior) for row in view.text], dtype=np.float64)


def _group(row: dict) -> str:
    return f"{row['model_id']} {row['answer_kind']}"


# Every seed asks of the same traces.
@lru_cache(maxsize=1 << 14)
def edit_distance(left: str, right: str) -> float:
    """Fewest words inserted, deleted or replaced between two texts, over the longer's count.

    Words are runs of letters and digits; case does not count. In [0, 1], and symmetric.
    """
    short, long = sorted((_WORD.findall(text.casefold()) for text in (left, right)), key=len)
    numbers = {word: k for k, word in enumerate(dict.fromkeys(long))}
    columns = np.array([numbers[word] for word in long], dtype=np.intp)
    steps = np.arange(len(long) + 1)
    row = steps
    for word in short:
        replaced = row[:-1] + (columns != numbers.get(word, -1))
        row = np.concatenate([row[:1] + 1, np.minimum(row[1:] + 1, replaced)])
        # An insertion costs one a column: the least way to each column from any one before it.
        row = np.minimum.accumulate(row - steps) + steps
    return float(row[-1]) / max(len(long), 1)
