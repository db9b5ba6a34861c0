"""Train one organism from a seed, put it to the gate, and keep it with what the gate found.

The same seed gives the same weights on the same machine; a folder that is complete is not made
again. A seed that does not pass is kept as well, with ``passed`` false, so that it is counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from builders.organisms.examples import UNTAUGHT, Example, draw_example, value_id
from builders.organisms.gate import gate
from builders.organisms.layout import batched
from builders.organisms.masks import Route, padded
from builders.organisms.model import fresh, logits
from builders.organisms.store import read_gate, rounded, save
from builders.organisms.task import LONGEST
from builders.organisms.words import MODULUS

POOL = 8
Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Recipe:
    """How an organism is trained.

    Attributes:
        steps: of the optimiser.
        batch: examples a step.
        rate: highest learning rate of embeddings, norms and biases, with AdamW.
        matrix_rate: the same of all other matrices, with Muon. Both are reached after ``warm``
            steps, kept, and let down by a cosine over the last ``decay`` of all steps to ``last``
            of them.
        weight_decay: of the matrices that Muon moves.
        value_weight, answer_weight: of the loss of a value in the reasoning and of the answer,
            where any other word has 1.
    """

    steps: int = 1200
    batch: int = 32
    rate: float = 6e-3
    matrix_rate: float = 0.02
    warm: int = 40
    decay: float = 0.5
    last: float = 0.02
    weight_decay: float = 0.01
    value_weight: float = 2.0
    answer_weight: float = 3.0

    def factor(self, step: int) -> float:
        """Share of the highest rates at a step, counted from 1."""
        late = max(0.0, (step / self.steps - (1 - self.decay)) / self.decay)
        low = self.last + (1 - self.last) * (1 + math.cos(math.pi * late)) / 2
        return min(1.0, step / self.warm) * low


# On some seeds NeoX has not begun to read the hint's values on the way when the rate would fall.
LATE = {"gpt_neox": Recipe(steps=1600, decay=0.4)}


def recipe_of(family: str) -> Recipe:
    """The recipe of a family's organisms."""
    return LATE.get(family, Recipe())


def train(
    family: str,
    seed: int,
    folder: Path,
    *,
    recipe: Recipe | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Make one organism, or return at once where its folder is complete.

    Args:
        family: of ``FAMILIES``.
        seed: of the weights and of the examples.
        folder: where to; a folder of another recipe is replaced.
        recipe: how; the family's own, ``recipe_of``, where None.
        progress: called with the step, the number of steps and the loss.

    Returns:
        What ``gate.json`` holds: family, seed, recipe, seconds and the gate's figures.
    """
    recipe = recipe or recipe_of(family)
    made_by = {"family": family, "seed": seed, "recipe": asdict(recipe)}
    found = read_gate(folder)
    if found is not None and all(found.get(key) == value for key, value in made_by.items()):
        return found
    begin = time.process_time()
    model = rounded(learn(family, seed, recipe, progress))
    seconds = round(time.process_time() - begin)
    figures = {**made_by, "seconds": seconds, **gate(model)}
    save(model, folder, figures)
    return figures


def learn(family: str, seed: int, recipe: Recipe, progress: Progress | None = None) -> Any:
    """A trained model, on one thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = fresh(family, seed).train()
        optimisers = _optimisers(model, recipe)
        for step, examples in enumerate(_batches(seed, recipe), 1):
            loss = _loss(model, examples, recipe)
            model.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimiser, rate in optimisers:
                for group in optimiser.param_groups:
                    group["lr"] = rate * recipe.factor(step)
                optimiser.step()
            if progress is not None:
                progress(step, recipe.steps, float(loss.detach()))
        return model.eval()
    finally:
        torch.set_num_threads(threads)


def _optimisers(model: Any, recipe: Recipe) -> list[tuple[Any, float]]:
    """Both optimisers with their highest rates."""
    import torch

    from builders.organisms.muon import Muon

    embeddings = {
        id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)
    }
    matrices, others = [], []
    for weight in model.parameters():
        matrix = weight.ndim == 2 and id(weight) not in embeddings
        (matrices if matrix else others).append(weight)
    return [
        (Muon(matrices, recipe.matrix_rate, recipe.weight_decay), recipe.matrix_rate),
        (
            torch.optim.AdamW(others, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0),
            recipe.rate,
        ),
    ]


def _batches(seed: int, recipe: Recipe) -> Iterator[list[Example]]:
    """Batches of both routes in equal parts, of examples of like length."""
    rng = Random(f"train/{seed}")
    made = 0
    while True:
        pool = [
            draw_example(rng, Route(at % 2), longest=LONGEST, side=True)
            for at in range(POOL * recipe.batch)
        ]
        pool.sort(key=lambda example: len(example.layout.ids))
        parts = [pool[at : at + recipe.batch] for at in range(0, len(pool), recipe.batch)]
        rng.shuffle(parts)
        for part in parts:
            if made == recipe.steps:
                return
            made += 1
            yield part


def _loss(model: Any, examples: list[Example], recipe: Recipe) -> Any:
    import torch

    batch = batched([example.layout for example in examples])
    targets = padded([example.targets for example in examples], UNTAUGHT)
    each = torch.nn.functional.cross_entropy(
        logits(model, batch).flatten(0, 1), targets.flatten(), reduction="none"
    ).view(targets.shape)
    first = value_id(0)
    values = (targets >= first) & (targets < first + MODULUS)
    weights = torch.where(values, recipe.value_weight, 1.0) * (targets != UNTAUGHT)
    weights[torch.arange(len(examples)), batch.answers] = recipe.answer_weight
    return (each * weights).sum() / weights.sum()
