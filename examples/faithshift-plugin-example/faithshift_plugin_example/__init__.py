"""A detector in a package of its own: how much of the question the reasoning takes up."""

from __future__ import annotations

import re

import numpy as np

from faithshift_bench.detectors.linear import LinearDetector
from faithshift_bench.explain.inputs import Feature

_WORD = re.compile(r"\w+")


class QuestionWords(LinearDetector):
    """Logistic regression on the share of the question's words that the reasoning repeats."""

    name = "question_words"

    def features(self, view):
        """The share, and the log of the number of words; (n, 2)."""
        found = [(_words(row["question"]), _words(row["reasoning"] or "")) for row in view.text]
        rows = [(len(q & r) / max(len(q), 1), np.log1p(len(r))) for q, r in found]
        return np.array(rows, dtype=np.float64).reshape(-1, 2)

    def feature_names(self, view):
        """For `faithshift explain`."""
        return [Feature("question", "repeated"), Feature("length", "words")]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
