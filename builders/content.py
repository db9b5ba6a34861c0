"""How well content alone tells the labels: length, and the words themselves.

Published with a dataset, and beside a board as controls: what a detector must beat to show more
than reading.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.detectors import load_detector
from faithshift_bench.metrics.separation import no_separation, separation
from faithshift_data import FaithShift, View
from faithshift_data import open as open_data
from faithshift_data.errors import InputError
from faithshift_data.folder import write_folder

Score = Callable[[View, list[View]], NDArray[np.float64]]


@contextmanager
def draft(manifest: Mapping[str, Any], tables: Any, arrays: Any) -> Iterator[FaithShift]:
    """A dataset as it is before its audit; arguments as for ``write_folder``."""
    with tempfile.TemporaryDirectory() as scratch:
        yield open_data(write_folder(Path(scratch) / "draft", manifest, tables, arrays))


def text_audit(manifest: Mapping[str, Any], tables: Any, arrays: Any) -> dict[str, dict[str, Any]]:
    """``content_baselines`` on calib and test of a dataset that is not written yet."""
    with draft(manifest, tables, arrays) as first:
        return content_baselines(first, ("calib", "test"))


def content_baselines(data: FaithShift, parts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """AUROC of controls that are fitted on train and score the traces of ``parts``.

    Args:
        data: a complete dataset.
        parts: ``test``, ``calib`` or both.

    Returns:
        ``length_only``, ``words_of_reasoning`` and ``words_of_all`` (prompt and reasoning; logistic
        regression on words and pairs of words), each with ``auroc``, ``low`` and ``high`` (95%, by
        resampled items), ``n_traces`` and ``n_items`` with a label, and ``reason``: why there is no
        figure, or None.
    """
    train = data.view("train")
    views = [
        data.view("test") if part == "test" else data.view("validation", part) for part in parts
    ]
    rows = data.table("traces").select(["trace_id", "label"]).to_pylist()
    known = {row["trace_id"]: row["label"] for row in rows}
    found = [known[trace] for view in views for trace in view.trace_ids.tolist()]
    labels = np.array([-1 if label is None else label for label in found])
    items = np.concatenate([view.item_ids for view in views])
    return {
        name: _figures(score, train, views, labels, items)
        for name, score in {
            "length_only": _length,
            "words_of_reasoning": _words("reasoning"),
            "words_of_all": _words("prompt", "reasoning"),
        }.items()
    }


def _figures(
    score: Score, train: View, views: list[View], labels: NDArray, items: NDArray
) -> dict[str, Any]:
    try:
        return separation(score(train, views), labels, items)
    except InputError as error:
        return no_separation(error.message)


def _length(train: View, views: list[View]) -> NDArray[np.float64]:
    detector = load_detector("length_only").fit(train, seed=0)
    return np.concatenate([detector.score(view) for view in views])


def _words(*columns: str) -> Score:
    def texts(view: View) -> list[str]:
        return ["\n".join(row[name] or "" for name in columns) for row in view.text]

    def score(train: View, views: list[View]) -> NDArray[np.float64]:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        from faithshift_bench.detectors.base import labelled

        rows, labels = labelled(train)
        words = TfidfVectorizer(
            ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"\S+"
        )
        model = make_pipeline(words, LogisticRegression(C=10.0, max_iter=1000))
        shown = texts(train)
        try:
            model.fit([shown[row] for row in rows], labels)
        except ValueError as error:
            raise InputError(f"no words to learn from: {error}") from None
        return np.concatenate([model.predict_proba(texts(view))[:, 1] for view in views])

    return score
