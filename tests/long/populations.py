"""Populations of items with a known selective risk, from the risk model alone.

Rows have a confidence level c in {0, .05, ..., .95} and err with probability r(c), so the selective
risk at t is the mean of r over the levels from t on. Items may depend: confidence and error each
come from a Gaussian copula with one factor an item, which leaves r(c) as it is.
Imports nothing of the package.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

ALPHA = 0.25
LEVELS = np.array([k / 20 for k in range(20)])


@dataclass(frozen=True)
class Population:
    """Levels with probabilities (20,) that may differ by item type, and error rates (types, 20)."""

    name: str
    weights: np.ndarray
    rates: np.ndarray
    dependence: float

    def risk(self, threshold):
        """True selective risk at a threshold; NaN where nothing is ever selected."""
        kept = threshold - 1e-12 <= LEVELS
        mass = self.weights[:, kept].sum()
        return float((self.weights * self.rates)[:, kept].sum() / mass) if mass else float("nan")

    def is_wrong(self, threshold, alpha=ALPHA):
        """Whether a certificate at this threshold is wrong: the risk is alpha or more."""
        return bool(self.risk(threshold) >= alpha - 1e-9)

    def draw(self, rng, items, rows=20, prefix=""):
        """(confidence, errors, groups) of ``items`` items with ``rows`` rows each."""
        kind = rng.integers(0, len(self.weights), items)
        cuts = self.weights.cumsum(axis=1)[:, :-1]
        uniform = self._uniform(rng, items, rows)
        level = (uniform[:, :, None] >= cuts[kind][:, None, :]).sum(axis=2)
        errors = self._uniform(rng, items, rows) < self.rates[kind[:, None], level]
        names = np.array([f"{prefix}{k}" for k in range(items)])
        return LEVELS[level].ravel(), errors.ravel().astype(int), np.repeat(names, rows)

    def _uniform(self, rng, items, rows):
        shared, own = rng.standard_normal((items, 1)), rng.standard_normal((items, rows))
        mixed = np.sqrt(self.dependence) * shared + np.sqrt(1 - self.dependence) * own
        return special.ndtr(mixed)


def shaped(name, dependence):
    """Risk exactly alpha at its touching thresholds, and alpha or more at all but those named.

    flat: alpha everywhere. rising: alpha up to .3, then above. falling: above, alpha from .3 to .6,
    then below (right to certify). U: above, alpha from .3 to .6, then above again.
    """
    flat = np.full(20, ALPHA)
    low, middle = np.full(6, 0.4), np.full(6, ALPHA)
    rates = {
        "flat": flat,
        "rising": np.concatenate([flat[:6], ALPHA + 0.2 * np.linspace(-1, 1, 14)]),
        "falling": np.concatenate([low, middle, ALPHA - 0.2 * np.linspace(-1, 1, 8)]),
        "U": np.concatenate([low, middle, ALPHA + 0.2 * np.linspace(-1, 1, 8)]),
    }[name]
    label = "dependent" if dependence else "independent"
    return Population(f"{name}, {label}", np.full((1, 20), 1 / 20), rates[None], dependence)


def uneven():
    """Half of the items have few confident rows and no error there: risk alpha at 0 and up to .5.

    The other half has 19 of 20 rows confident and errs at alpha / .95 there. Drawing among
    confident rows weighs both halves alike and sees half of the risk.
    """
    weights, rates = np.zeros((2, 20)), np.full((2, 20), ALPHA)
    weights[0, [0, 10]], weights[1, [0, 10]] = (0.05, 0.95), (0.95, 0.05)
    rates[0, 10], rates[1, 10] = ALPHA / 0.95, 0.0
    return Population("uneven items", weights, rates, 0.0)


def informative(error, dependence=0.3):
    """Error rates fall as the square of the distance from full confidence; for power."""
    shape = (1 - LEVELS - 0.025) ** 2
    rates = error * shape / shape.mean()
    name = f"square, mean error {error:g}"
    return Population(name, np.full((1, 20), 1 / 20), rates[None], dependence)


NULLS = [
    *(shaped(name, d) for name in ("flat", "rising", "falling", "U") for d in (0.0, 0.7)),
    uneven(),
]
