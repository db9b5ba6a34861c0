"""The committed ``mini``: size, balance, and every label and pair recomputed from the rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import chain
from typing import Any

import pytest

import faithshift_data as fd
from builders.axes import used
from builders.axes.language import CUES
from builders.labels import clean_counterpart, label_trace
from builders.pairs import make_pairs
from builders.presets import load_preset
from builders.prompts import CUE_FORMATS
from builders.screening import place
from builders.sources import Item, draw_items, normalise
from faithshift_data.schema import Role

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def mini() -> fd.FaithShift:
    return fd.open("mini")


@pytest.fixture(scope="module")
def traces(mini: fd.FaithShift) -> dict[str, dict[str, Any]]:
    return {row["trace_id"]: row for row in mini.table("traces").to_pylist()}


@pytest.fixture(scope="module")
def interventions(mini: fd.FaithShift) -> dict[str, Rows]:
    rows: dict[str, Rows] = defaultdict(list)
    for row in mini.table("interventions").to_pylist():
        rows[row["trace_id"]].append(row)
    return rows


def test_check_finds_nothing(mini: fd.FaithShift) -> None:
    assert fd.check("mini") == []


def test_size(mini: fd.FaithShift) -> None:
    assert sum(file.stat().st_size for file in mini.path.rglob("*") if file.is_file()) <= 16e6
    folds = {(row["item_id"], row["split"], row["fold"]) for row in _rows(mini)}
    parts = Counter((split, fold) for _, split, fold in folds)
    assert sum(parts.values()) >= 300 and parts["validation", "calib"] >= 60


def test_every_label_follows_from_its_evidence(traces, interventions) -> None:
    for row in traces.values():
        found = label_trace(row, clean_counterpart(row, traces), interventions[row["trace_id"]])
        assert (row["label"], tuple(row["label_evidence"])) == (found.value, found.evidence)


def test_labels_do_not_read_feature_rows(traces, interventions) -> None:
    for row in traces.values():
        only = [r for r in interventions[row["trace_id"]] if r["role"] == Role.LABEL]
        found = label_trace(row, clean_counterpart(row, traces), only)
        assert found.value == row["label"]


def test_every_pair_is_recomputed(mini: fd.FaithShift, traces, interventions) -> None:
    stored = sorted(mini.table("pairs").to_pylist(), key=lambda pair: pair["pair_id"])
    semantic = {pair["pair_id"]: pair["deltas"]["semantic"] for pair in stored}
    made = sorted(make_pairs(traces, interventions, semantic), key=lambda pair: pair["pair_id"])
    assert made == stored


def test_faithful_share_in_every_split(mini: fd.FaithShift) -> None:
    labels = defaultdict(list)
    for row in _rows(mini):
        if row["label"] is not None:
            labels[row["fold"] or row["split"]].append(row["label"])
    assert set(labels) == {"train", "tune", "calib", "test"}
    for part, values in labels.items():
        share = sum(values) / len(values)
        assert 0.35 <= share <= 0.65, (part, share)


def test_all_domains_and_conditions_in_every_split(mini: fd.FaithShift) -> None:
    # The pairs of cue_injection are made of the two anchors.
    conditions = {"base", "cued_base", *used((), second=False)} - {"cue_injection"}
    assert {row["condition"] for row in _rows(mini)} == conditions
    for column, wanted in (("domain", 4), ("condition", len(conditions))):
        seen = {(row["split"], row[column]) for row in _rows(mini)}
        assert len(seen) == 3 * wanted


def test_questions_are_distinct(traces) -> None:
    questions = {row["item_id"]: row["question"] for row in traces.values() if not row["axis"]}
    assert len(set(map(normalise, questions.values()))) == len(questions)


def test_both_anchors_have_two_generations(traces) -> None:
    made = Counter(
        (row["condition"], row["gen_index"])
        for row in traces.values()
        if row["condition"] in ("base", "cued_base")
    )
    items = len({row["item_id"] for row in traces.values()})
    # Screening wants the first generation complete; a second one may state no answer.
    assert made["base", 0] == made["cued_base", 0] == items
    assert min(made["base", 1], made["cued_base", 1]) > 0.75 * items


def test_roles_hold_other_texts(interventions) -> None:
    for all_rows in interventions.values():
        # Without its cue a prompt is another one, whatever the text after it.
        rows = [row for row in all_rows if row["kind"] != "cue_removed"]
        texts = {role: {r["injected"] for r in rows if r["role"] == role} for role in Role}
        shared = texts[Role.LABEL] & texts[Role.FEATURE]
        # One or two words can be cut or shuffled in so many ways only.
        assert not {text for text in shared if len(text.split()) > 3}


def test_steps_cover_the_reasoning(traces) -> None:
    assert all("".join(row["steps"]) == row["reasoning"] for row in traces.values())


def test_injections_were_verified(interventions) -> None:
    assert all(row["injection_verified"] for rows in interventions.values() for row in rows)


def test_every_cue_is_wrong_and_only_cued_prompts_hold_it(traces) -> None:
    forms = [*chain(*CUE_FORMATS.values()), *CUES["es"].values()]
    cues = re.compile("|".join(re.escape(form.split("{")[0]) for form in forms), re.IGNORECASE)
    for row in traces.values():
        if row["cue"] is None:
            assert not cues.search(row["prompt"])
        else:
            assert row["cue"]["text"] in row["prompt"]
            assert row["cue"]["target"] != row["gold"]


def test_split_and_fold_follow_from_the_item() -> None:
    pytest.importorskip("reasoning_gym")
    preset = load_preset("mini")
    pilot: list[Item] = list(draw_items(preset.pilot_per_domain, preset.pilot_seed))
    drawn = draw_items(preset.candidates_per_domain, preset.item_seed, exclude=pilot)
    items = {item.item_id: item for item in drawn}
    assert not {item.item_id for item in pilot} & set(items)
    for row in _rows(fd.open("mini")):
        assert (row["split"], row["fold"]) == place(items[row["item_id"]], preset)


def test_screening_is_in_the_manifest_and_on_the_card(mini: fd.FaithShift) -> None:
    table = mini.manifest.screening["by_domain"]
    candidates = sum(row["candidates"] for domain in table.values() for row in domain.values())
    kept = sum(row["kept"] for domain in table.values() for row in domain.values())
    assert candidates == 4 * load_preset("mini").candidates_per_domain
    assert kept == len({row["item_id"] for row in _rows(mini)})
    card = (mini.path / "README.md").read_text()
    assert "rates among\nthem are not rates of the model" in card


def _rows(mini: fd.FaithShift) -> Rows:
    columns = ["item_id", "split", "fold", "domain", "condition", "label"]
    return mini.table("traces").select(columns).to_pylist()
