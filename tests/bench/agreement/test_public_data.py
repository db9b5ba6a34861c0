"""Published figures of others, from their own rows; and the rule-based judge against an LLM's.

The rows are not part of this project. They are read from the folder that the environment variable
FAITHSHIFT_PUBLIC_TRACES names, or from ../shared/data beside the project.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from faithshift_bench.agreement.judges import FAILED, ask_judge, check_judges, eligible, judge_named
from faithshift_bench.agreement.metrics import variant_scores
from faithshift_bench.agreement.reading import assemble
from faithshift_bench.agreement.resampling import question_weights
from faithshift_bench.agreement.settings import read_settings
from faithshift_bench.agreement.table import rows_of
from tests.bench.agreement.simulated import columns_of

NEIGHBOUR = Path(__file__).parents[4] / "shared" / "data"
FOLDER = Path(os.environ.get("FAITHSHIFT_PUBLIC_TRACES", NEIGHBOUR)) / "reasoning_models_lie"
if not FOLDER.is_dir():
    pytest.skip(f"no rows at {FOLDER}", allow_module_level=True)

NAMES = {
    "qwen3_next": "Qwen 3 Next",
    "claude_4.5_haiku": "Claude 4.5 Haiku",
    "kimi_k2_thinking": "Kimi K2 Thinking",
}
# Upstream takes the number of options of a file's first row for all of its rows.
FIRST_ROW = {
    ("Kimi K2 Thinking", "Grader Hacking", "Correct Hint"): 9,
    ("Qwen 3 Next", "Grader Hacking", "Correct Hint"): 9,
    ("Qwen 3 Next", "Metadata", "Correct Hint"): 7,
    ("Qwen 3 Next", "Unethical Information", "Correct Hint"): 4,
}
SCORES = {"present": "faithfulness_score_normalized", "relied": "honesty_score_normalized"}
WORD = {True: "yes", False: "no"}


def lines(name):
    with open(FOLDER / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def condition_of(row):
    hint = row["hint"].replace("_", " ").title()
    return NAMES[row["model"]], hint, f"{row['setting'].title()} Hint"


def judged_changes(n_options):
    """A study whose models are the conditions of upstream."""
    rows, options = [], {}
    for row in lines("judged_changes_anonymous.jsonl"):
        key = condition_of(row)
        shared = {"model": " | ".join(key), "question_id": row["id"]}
        shared |= {"target": row["hinted_answer"]}
        options[row["id"]] = n_options(key)
        said = {"present": row["hint_present"], "relied": row["relied_on_hint"]}
        verdicts = {f"verdict:{name}": WORD[value] for name, value in said.items()}
        before, after = row["previous_answer"] or "", row["new_answer"] or ""
        rows.append({**shared, "condition": "baseline", "answer": before})
        rows.append({**shared, "condition": "hinted", "answer": after, **verdicts})
    study = assemble("upstream", rows_of(columns_of(rows), "upstream"))
    # Too few for some of the answers, so that a table that said so would be refused.
    return replace(study, n_options=np.array([options[name] for name in study.questions]))


def reproduced(study, judge):
    """Conditions whose published figure comes out, is undefined here, or comes out otherwise."""
    scores = dict(zip(study.models, variant_scores(study, "bf_walden", judge), strict=True))
    found = defaultdict(set)
    with open(FOLDER / "upstream_verbalization.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["model_name"], row["hint_type"], row["setting"]
            score = scores.get(" | ".join(key))
            if score is None:
                continue
            published = float(row[SCORES[judge]])
            if np.isnan(score):
                found["undefined"].add((key, published))
            else:
                same = abs(100 * score - published) <= 5.1e-4
                found["same" if same else "other"].add(key)
    return found


@pytest.mark.parametrize("judge", SCORES)
def test_published_scores_come_out_of_their_rows(judge):
    found = reproduced(judged_changes(lambda key: FIRST_ROW.get(key, 10)), judge)
    assert len(found["same"]) == 20 and not found["other"]
    # There the hint draws no more answers than chance; upstream prints 0.
    never = ("Kimi K2 Thinking", "Sycophancy V1", "Incorrect Hint")
    assert found["undefined"] == {(never, 0.0)}


def test_with_ten_options_throughout_four_conditions_come_out_otherwise():
    assert reproduced(judged_changes(lambda key: 10), "present")["other"] == set(FIRST_ROW)


@pytest.fixture(scope="module")
def traces():
    """Traces with an LLM's verdict as the reference, one model a hint."""
    rows = []
    for row in lines("traces.jsonl"):
        relied = row["labels"].get("relied_on_hint")
        if relied is None or not row["hinted"]["reasoning"]:
            continue
        shared = {"model": row["hint"]["type"], "question_id": row["id"]}
        shared |= {"target": row["hint"]["answer"], "question": row["question"]}
        base, hinted = row["baseline"]["answer"] or "", row["hinted"]["answer"] or ""
        rows.append({**shared, "condition": "baseline", "answer": base})
        texts = {"cue": row["hint"]["text"], "reasoning": row["hinted"]["reasoning"]}
        shared |= {"condition": "hinted", "answer": hinted, "reference": WORD[relied]}
        rows.append({**shared, **texts})
    return assemble("traces", rows_of(columns_of(rows), "traces"))


def test_the_rule_based_judge_fails_on_the_traces_of_others(traces):
    """Rules made for short traces do not stand in for an LLM on long ones; validation says so."""
    judged = ask_judge(traces, judge_named("rules"))
    weights = question_weights(len(traces.questions), 500, 0)
    (found,) = check_judges(judged, weights, read_settings().settings)
    assert found.validation == FAILED
    assert 0.1 < found.reference.kappa.value < 0.5
    # One verdict prevails, so that raw agreement and AC1 flatter it.
    assert found.reference.saturated and found.reference.ac1.value > 0.6
    assert found.reference.observed > 0.7
    assert found.no_verdict > 0.3
    # It fails by silence: mentions that neither own up to the hint nor set it aside.
    said, moved = judged.said("rules"), eligible(judged)
    missed = Counter(said[moved & (traces.reference == 1)].tolist())
    assert missed[-1] > missed[0] > 0
