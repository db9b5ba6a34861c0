"""Probes: what they inject, who may read them, and when a change is undefined."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from faithshift_data.measure.interventions import (
    AS_SHOWN,
    FEATURE_PROBES,
    FEATURE_SUBSET,
    LABEL_PROBES,
    Probe,
    keep_words,
)
from faithshift_data.reasoning import split_steps
from faithshift_data.schema import Role, changed

TEXT = " One two three.\nFour five six  seven eight."
REASONING = " First, we need to add 3 and 4.\nThat gives 7. So the answer is 7."
LABELS = (*LABEL_PROBES, AS_SHOWN)
PROBES = (*LABELS, *FEATURE_PROBES)


def probe(kind: str, role: Role = Role.FEATURE) -> Probe:
    return next(each for each in PROBES if each.kind == kind and each.role == role)


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


def test_the_full_set_and_the_subset() -> None:
    def plan(probes: tuple[Probe, ...]) -> set[tuple[str, float | None, int]]:
        return {(each.kind, each.fraction, each.seed) for each in probes}

    subset = {("truncate", part, 0) for part in (0.0, 0.4, 0.8)}
    subset |= {("scramble", None, 7), ("filler", None, 0)}
    assert plan(FEATURE_SUBSET) == subset
    rest = {("truncate", 0.2, 0), ("truncate", 0.6, 0), ("mistake", None, 7)}
    rest |= {("paraphrase", None, 7), ("cue_removed", None, 0)}
    assert plan(FEATURE_PROBES) == subset | rest
    assert {each.role for each in FEATURE_PROBES} == {Role.FEATURE}
    labels = {("truncate", 0.25, 0), ("truncate", 0.5, 0), ("scramble", None, 101)}
    assert plan(LABEL_PROBES) == labels
    assert {each.role for each in LABELS} == {Role.LABEL}


words = st.lists(st.sampled_from(["3", "so", "we need", "(A)", "is", "x.", "\nNo"]), max_size=30)


@given(words.map(" ".join), st.integers(0, 50))
@example("", 0)
@example("one", 0)
@example("is is is", 0)
@example("We need it. x. x.", 1)
def test_roles_never_show_the_same_words(reasoning: str, number: int) -> None:
    """Whatever the reasoning's length; ``cue_removed`` alone stands after another prompt."""
    trace = f"t-{number}"
    label = {" ".join(str(each.inject(trace, reasoning)).split()) for each in LABELS}
    features = [each.inject(trace, reasoning) for each in FEATURE_PROBES if each.kind[0] != "c"]
    assert not label & {" ".join(text.split()) for text in features if text is not None}
    assert all(each.inject(trace, reasoning) is not None for each in LABELS)


def test_all_probes_of_a_longer_reasoning_apply() -> None:
    texts = [each.inject("t-1", REASONING * 3) for each in PROBES]
    assert None not in texts
    assert len(set(texts)) == len(PROBES) - 1  # as_shown and cue_removed


@pytest.mark.parametrize(("fraction", "applies"), [(0.0, False), (0.4, False), (0.8, True)])
def test_a_short_text_takes_away_what_a_label_probe_shows(fraction: float, applies: bool) -> None:
    # Of 3 words the label probes keep none and one: 0, 0.25 and 0.5, 0.4 fall together.
    each = Probe("truncate", fraction, 0, Role.FEATURE)
    assert (each.inject("t-1", " a b c") is not None) is applies


def test_scramble_keeps_the_words_and_depends_on_seed_and_trace() -> None:
    words = " ".join(f"w{k}" for k in range(12))
    first = Probe("scramble", None, 7, Role.FEATURE)
    other = Probe("scramble", None, 8, Role.FEATURE)
    text = first.inject("t-1", words)
    assert text is not None and sorted(text.split()) == sorted(words.split())
    assert text == first.inject("t-1", words)
    assert len({text, first.inject("t-2", words), other.inject("t-1", words)}) == 3


def test_mistake_keeps_the_steps_around_it() -> None:
    steps = split_steps(REASONING)
    seen = set()
    for number in range(20):
        text = probe("mistake").inject(f"t-{number}", REASONING)
        assert text is not None
        wrong = [at for at, step in enumerate(split_steps(text)) if step != steps[at]]
        assert len(wrong) == 1
        seen.add(wrong[0])
    assert seen == {0, 1, 2}
    assert probe("mistake").inject("t-1", " Hello there.\nYes.") is None


def test_paraphrase_says_the_same_or_does_not_apply() -> None:
    text = probe("paraphrase").inject("t-1", " First, we need to add 3 and 4. It is 7.")
    assert text is not None and "3 and 4" in text and "need to" not in text
    assert probe("paraphrase").inject("t-1", " Three pens, five pens.") is None


def test_cue_removed_shows_the_same_reasoning() -> None:
    assert probe("cue_removed").inject("t-1", REASONING) == REASONING


def test_ids_tell_probes_apart() -> None:
    ids = {each.row_id(trace) for each in PROBES for trace in ("t-1", "t-2")}
    assert len(ids) == 2 * len(PROBES) == 28


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (LABEL_PROBES[0], "i-87b2e08cce735efc"),
        (LABEL_PROBES[2], "i-b91f930d97636af0"),
        (FEATURE_SUBSET[0], "i-9f7a4b5837a13a3f"),
        (FEATURE_SUBSET[4], "i-861524a811e88f74"),
        (AS_SHOWN, "i-60a54478bbd209b8"),
    ],
)
def test_ids_stay_what_they_were(each: Probe, expected: str) -> None:
    assert each.row_id("t-0000000000000000") == expected


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
