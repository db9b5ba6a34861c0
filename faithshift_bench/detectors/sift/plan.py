"""How a network is trained: the objective, its weights, when to stop, what chance decides."""

from __future__ import annotations

from dataclasses import dataclass

from faithshift_bench.detectors.variance import check_vary
from faithshift_bench.options import check_choice, check_flag, check_number
from faithshift_data.errors import InputError

PENALTIES = ("irm", "irm-unbiased", "dann", "alignment")
ALONE = ("erm", "group_dro", "jit-oracle", "jit-pred")
SOURCES = ("init", "order", "dropout", "held")
ATTENTION = "attention_temperature"


@dataclass(frozen=True)
class Plan:
    """What is minimised, and how.

    The loss is the mean over environments of the log loss in each, so that no weight grows with
    their number, plus weighted penalties. Batches hold equally many rows of each environment, for
    every objective, so that a weight of 0 gives the same network as ``erm``, bit for bit.

    Attributes:
        objective: ``erm``; penalties joined by ``+``: ``irm`` (IRMv1, S eq. 16), ``irm-unbiased``
            (product of the gradients of two halves, may be negative), ``dann`` (gradient reversal,
            eq. 25), ``alignment`` (eq. 44 on preserving pairs); ``group_dro``; or one detector an
            environment, chosen by the true one (``jit-oracle``) or by a guess (``jit-pred``).
        environments: what an environment is: the ``axis`` that made a trace, or the ``model``.
        leave_out: an environment that is not trained on.
        irm_weight: weight of either IRM penalty, 0 or more. Over 1, the whole loss is divided
            by it.
        dann_weight: weight of the reversed loss of the environment head, 0 or more.
        alignment_weight: weight of the squared distance of paired representations, 0 or more.
        warmup: share of the epochs over which the IRM weight grows from 0, in [0, 1); 0 is none.
            Adam starts anew when the penalty does, and no run ends before the warm-up.
        dro_step: step of the exponentiated gradient of ``group_dro``.
        epochs: how many at most; an epoch has gone once through the largest environment.
        patience: epochs without a better value before the end; those of a warm-up do not count.
        batch: rows of each environment in a batch.
        rate: Adam's learning rate.
        stop: what chooses the epoch, on tune or held-out items: ``loss`` or ``auroc``.
        vary: what the seed decides: ``all``, or one of ``init``, ``order``, ``dropout``, ``held``
            (the items held out) with the others as under seed 0.
        stable: no dropout, and the same order in every epoch whatever the seed.
    """

    objective: str = "irm+dann"
    environments: str = "axis"
    leave_out: str = ""
    irm_weight: float = 1.0
    dann_weight: float = 0.5
    alignment_weight: float = 1.0
    warmup: float = 0.2
    dro_step: float = 0.01
    epochs: int = 50
    patience: int = 5
    batch: int = 32
    rate: float = 1e-3
    stop: str = "loss"
    vary: str = "all"
    stable: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        if not set(self.terms) <= set(PENALTIES) and self.objective not in ALONE:
            expected = f"{', '.join(ALONE)}, or some of {', '.join(PENALTIES)} joined by +"
            raise InputError("bad parameter", field="objective", expected=expected)
        if {"irm", "irm-unbiased"} <= set(self.terms) or len(set(self.terms)) < len(self.terms):
            expected = "each penalty once, and one form of IRM"
            raise InputError("bad parameter", field="objective", expected=expected)
        if self.vary == ATTENTION:
            message = "the reading model's attention is not this detector's to vary"
            expected = "data of `faithshift measure --attention-temperature`"
            raise InputError(message, field="vary", expected=expected, got=self.vary)
        check_vary(self.vary, SOURCES)
        check_choice("environments", self.environments, ("axis", "model"))
        check_choice("stop", self.stop, ("loss", "auroc"))
        for name in ("irm_weight", "dann_weight", "alignment_weight", "dro_step"):
            check_number(name, getattr(self, name), least=0, most=1e6)
        check_number("warmup", self.warmup, least=0, most=0.9)
        check_number("rate", self.rate, above=0, most=1)
        for name, most in (("epochs", 10_000), ("patience", 10_000), ("batch", 65_536)):
            check_number(name, getattr(self, name), above=0, most=most, whole=True)
        check_flag("stable", self.stable)

    @property
    def terms(self) -> tuple[str, ...]:
        """The penalties of the objective."""
        return () if self.objective in ALONE else tuple(str(self.objective).split("+"))

    @property
    def warm(self) -> int:
        """Epochs before the IRM penalty has its full weight; 0 where there is no such penalty."""
        penalised = self.irm_weight > 0 and any(term.startswith("irm") for term in self.terms)
        return round(self.warmup * self.epochs) if penalised else 0

    def irm_weight_at(self, epoch: int) -> float:
        """The weight in an epoch, counted from 1."""
        if not any(term.startswith("irm") for term in self.terms):
            return 0.0
        return float(self.irm_weight) * min(1.0, (epoch - 1) / self.warm if self.warm else 1.0)
