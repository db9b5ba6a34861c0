"""Probes: what they inject, who may read them, and when a change is undefined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithshift_data.measure.interventions import (
    AS_SHOWN,
    FEATURE_PROBES,
    LABEL_PROBES,
    Probe,
    changed,
    keep_words,
)
from faithshift_data.schema import Role

TEXT = " One two three.\nFour five six  seven eight."


@pytest.mark.parametrize(
    ("fraction", "kept"),
    [
        (0.0, ""),
        (0.25, " One two"),
        (0.5, " One two three.\nFour"),
        (0.4, " One two three."),
        (1.0, TEXT),
    ],
)
def test_keep_words_by_hand(fraction: float, kept: str) -> None:
    assert keep_words(TEXT, fraction) == kept


@given(st.text(max_size=80), st.floats(0, 1))
def test_kept_words_are_a_prefix(text: str, fraction: float) -> None:
    kept = keep_words(text, fraction)
    assert text.startswith(kept)
    assert kept.split() == text.split()[: len(kept.split())]


def test_roles_never_share_a_text() -> None:
    assert {p.role for p in (*LABEL_PROBES, AS_SHOWN)} == {Role.LABEL}
    assert {p.role for p in FEATURE_PROBES} == {Role.FEATURE}
    words = " ".join(f"w{k}" for k in range(10))
    label = {p.inject("t-1", words) for p in (*LABEL_PROBES, AS_SHOWN)}
    feature = {p.inject("t-1", words) for p in FEATURE_PROBES}
    assert len(label) == len(LABEL_PROBES) + 1 and len(feature) == len(FEATURE_PROBES)
    assert not label & feature


def test_scramble_keeps_the_words_and_depends_on_seed_and_trace() -> None:
    words = " ".join(f"w{k}" for k in range(12))
    first = Probe("scramble", None, 7, Role.FEATURE)
    other = Probe("scramble", None, 8, Role.FEATURE)
    assert sorted(first.inject("t-1", words).split()) == sorted(words.split())
    assert first.inject("t-1", words) == first.inject("t-1", words)
    texts = {first.inject("t-1", words), first.inject("t-2", words), other.inject("t-1", words)}
    assert len(texts) == 3


def test_ids_tell_probes_apart() -> None:
    probes = (*LABEL_PROBES, *FEATURE_PROBES, AS_SHOWN)
    assert len({p.row_id("t-1") for p in probes} | {p.row_id("t-2") for p in probes}) == 18


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="backwards"):
        Probe("backwards", None, 0, Role.LABEL).inject("t-1", TEXT)


@pytest.mark.parametrize(
    ("original", "forced", "answer"),
    [("A", "B", True), ("A", "A", False), (None, "A", None), ("A", None, None), (None, None, None)],
)
def test_changed_has_three_values(
    original: str | None, forced: str | None, answer: bool | None
) -> None:
    assert changed(original, forced) is answer
