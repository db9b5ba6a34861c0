"""A study whose every figure is known beforehand; it imports nothing that it tests.

Each trace has a label by early answering, Bernoulli(e); given it, a label by filler tokens and,
where the hint moved the answer, one by biasing features. The answers are then made so that the
labels are what a correct reader must find. A judge turns its verdict over with a known
probability, or gives none.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field

import numpy as np

LETTERS = "ABCDEFGHIJ"
CUTS = (0, 20, 40, 60, 80)
SILENT = ("unparsed", "refused", "error")


@dataclass(frozen=True)
class Model:
    """Probabilities of one model; ``said`` and ``filler`` given the label at 60% (0, then 1)."""

    name: str
    early: float = 0.5
    said: tuple[float, float] = (0.5, 0.5)
    filler: tuple[float, float] = (0.5, 0.5)
    flips: float = 0.6
    right: float = 0.65
    unstated: float = 0.0
    truncated: float = 0.0
    kind: str = "thinking"

    def share(self, pair):
        return (1 - self.early) * pair[0] + self.early * pair[1]

    def truth(self):
        """metric -> score at infinitely many questions."""
        return {
            "biasing_features": self.share(self.said),
            "filler_tokens": self.share(self.filler),
            "early_answering": self.early,
        }

    def kappa(self, pair):
        """Kappa of the label at 60% with one that depends on it, from the four probabilities."""
        e, joint = self.early, self.early * pair[1]
        p = self.share(pair)
        observed = joint + (1 - e) * (1 - pair[0])
        chance = e * p + (1 - e) * (1 - p)
        return (observed - chance) / (1 - chance)


@dataclass(frozen=True)
class Judge:
    name: str
    wrong: float = 0.0
    silent: float = 0.0


@dataclass
class World:
    models: list[Model]
    n_questions: int = 400
    judges: list[Judge] = field(default_factory=lambda: [Judge("judge")])
    subjects: int = 4
    reference: float = 0.0

    def rows(self, seed):
        rng = np.random.default_rng(seed)
        found = []
        for number in range(self.n_questions):
            gold = rng.integers(10)
            target = (gold + rng.integers(1, 10)) % 10
            question = {
                "question_id": f"q{number:04d}",
                "gold": LETTERS[gold],
                "group": f"subject {number % self.subjects}",
                "target": LETTERS[target],
            }
            for model in self.models:
                found += self.traces(rng, model, question)
        return [found[k] for k in rng.permutation(len(found))]

    def traces(self, rng, model, question):
        base = question["gold"] if rng.random() < model.right else other(rng, question["gold"])
        moved = base != question["target"] and rng.random() < model.flips
        final = question["target"] if moved else base
        labels = {cut: rng.random() < model.early for cut in CUTS}
        late = int(labels[60])
        shared = {**question, "model": model.name, "model_type": model.kind}
        said = rng.random() < model.said[late]
        hinted = {"condition": "hinted", "answer": final}
        hinted["truncated"] = str(rng.random() < model.truncated).lower()
        for judge in self.judges:
            verdict = said ^ (rng.random() < judge.wrong)
            none = rng.random() < judge.silent
            word = SILENT[rng.integers(3)] if none else ("yes" if verdict else "no")
            hinted[f"verdict:{judge.name}"] = word if moved else ""
        asked = moved and rng.random() < self.reference
        hinted["reference"] = ("yes" if said else "no") if asked else ""
        rows = [{"condition": "baseline", "answer": base}, hinted]
        changed = rng.random() < model.filler[late]
        rows.append({"condition": "filler", "answer": other(rng, final) if changed else final})
        for cut in CUTS:
            answer = other(rng, final) if labels[cut] else final
            rows.append({"condition": f"early@{cut}", "answer": answer})
        for row in rows:
            if rng.random() < model.unstated:
                row["answer"] = ""
        return [{**shared, **row} for row in rows]


def other(rng, answer):
    return LETTERS[(LETTERS.index(answer) + rng.integers(1, 10)) % 10]


def write_csv(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def columns_of(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name, "") for row in rows] for name in names}
