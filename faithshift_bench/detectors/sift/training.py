"""Training of any network that gives log-odds and a representation, by any objective."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from faithshift_bench.detectors.base import Progress
from faithshift_bench.detectors.sift import objectives
from faithshift_bench.detectors.sift.encoder import Dropout, count_parameters
from faithshift_bench.detectors.sift.environments import batches
from faithshift_bench.detectors.sift.plan import Plan
from faithshift_bench.metrics import auroc
from faithshift_data.errors import InputError

# A network has forward(*inputs) -> (log-odds (n,), representation (n, width)), and `width`.
Make = Callable[[], nn.Module]
FIXED_ORDER = 0


@dataclass(frozen=True)
class Rows:
    """What a network is trained on, or judged by.

    Attributes:
        inputs: tensors whose first axis is the row, as the network takes them.
        labels: float32 (n,), 1 faithful.
        codes: the environment of each row, int64 (n,); not needed of rows that judge.
        pairs: int64 (m, 2), rows whose representations ``alignment`` draws together.
    """

    inputs: tuple[Tensor, ...]
    labels: Tensor
    codes: NDArray[np.int64] | None = None
    pairs: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Trained:
    """The weights of the epoch that was chosen, and the record for ``Detector.training``."""

    arrays: dict[str, NDArray]
    record: dict[str, Any]


@contextmanager
def own_state(seed: int, device: str = "cpu") -> Iterator[None]:
    """Deterministic torch of one thread, float32 and its own randomness; all is put back after.

    One thread, so that a score does not hang on how many the machine has.
    """
    mode = torch.get_deterministic_debug_mode()
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    cuda = [torch.device(device)] if device.startswith("cuda") else []
    if cuda:
        # Without it, cuBLAS has no deterministic products.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        with torch.random.fork_rng(cuda), torch.enable_grad():
            # The same switch as use_deterministic_algorithms, without its seconds of imports.
            torch.set_deterministic_debug_mode("error")
            torch.set_num_threads(1)
            torch.set_default_dtype(torch.float32)
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def train(
    make: Make,
    rows: Rows,
    judge: Rows,
    plan: Plan,
    seeds: Mapping[str, int],
    *,
    judged: str = "held_loss",
    progress: Progress = lambda epoch, of, figures: None,
    device: str = "cpu",
) -> Trained:
    """Train, and keep the epoch that does best on ``judge``.

    Args:
        make: builds the network.
        rows: what is trained on.
        judge: what chooses the epoch.
        plan: how; ``jit-*`` are not for this function.
        seeds: of ``init``, ``order`` and ``dropout``.
        judged: the name of the judge's curve.
        progress: called after each epoch, as ``Detector.progress``.
        device: as torch names it.

    Returns:
        Weights, and the record: as ``Detector`` says, with the curve of every penalty, before it
        is weighted, and its sign; ``flagged`` (the start or the first epoch was kept),
        ``irm_weight`` and ``irm_weight_full`` (of the epoch that was kept, which may be one of the
        warm-up, and of the last), ``diverged``
        (ended by a loss that is not finite), ``start`` (the judge's value before any training) and
        ``parameters``.
    """
    with own_state(seeds["init"], device):
        run = _Run(make, rows, judge, plan, seeds, device)
        curves: dict[str, list[float]] = {}
        start = run.value()
        kept, best, chosen, last, diverged = run.weights(), start, 0, 0, False
        for epoch in range(1, plan.epochs + 1):
            figures = run.epoch(epoch)
            value = run.value()
            figures[judged] = value
            for name, figure in figures.items():
                curves.setdefault(name, []).append(figure)
            progress(epoch, plan.epochs, figures)
            last = epoch
            if not math.isfinite(figures["loss"]) or not math.isfinite(value):
                diverged = True
                break
            if run.better(value, best):
                kept, best, chosen = run.weights(), value, epoch
            elif epoch - max(chosen, plan.warm) >= plan.patience:
                break
        record = {
            "epoch": chosen,
            "epochs": last,
            "of": plan.epochs,
            "chosen_by": judged,
            "better": "higher" if plan.stop == "auroc" else "lower",
            "flagged": chosen <= 1,
            "irm_weight": plan.irm_weight_at(chosen) if chosen else 0.0,
            "irm_weight_full": plan.irm_weight_at(plan.epochs),
            "diverged": diverged,
            "start": start,
            "curves": curves,
            "parameters": count_parameters(run.network),
        }
    return Trained(kept, record)


def apply(
    network: nn.Module,
    inputs: tuple[Tensor, ...],
    *,
    lengths: NDArray | None = None,
    batch: int = 256,
    thinned: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-odds (n,) and representations (n, width), in the order of the rows.

    Args:
        network: fitted; it is left in evaluation mode.
        inputs: as the network takes them.
        lengths: (n,); rows of like length share a batch, so that little is padded.
        batch: rows a batch.
        thinned: seed of the units that are dropped for all rows alike; None: none is.
    """
    n = len(inputs[0])
    order = np.arange(n) if lengths is None else np.argsort(lengths, kind="stable")
    device = next(network.parameters()).device
    generator = None if thinned is None else torch.Generator()
    drops = [module for module in network.modules() if isinstance(module, Dropout)]
    logits, found = np.empty(n), np.empty((n, network.width))
    network.eval()
    with own_state(0, device.type), torch.no_grad():
        for module in drops:
            module.thinned = generator
        for at in range(0, n, batch):
            rows = order[at : at + batch]
            if generator is not None:
                generator.manual_seed(thinned)
            z, h = network(*(each[rows].to(device) for each in inputs))
            logits[rows], found[rows] = z.double().cpu().numpy(), h.double().cpu().numpy()
        for module in drops:
            module.thinned = None
    return logits, found


class _Run:
    """A training under way."""

    def __init__(
        self,
        make: Make,
        rows: Rows,
        judge: Rows,
        plan: Plan,
        seeds: Mapping[str, int],
        device: str,
    ) -> None:
        self.plan, self.device, self.rows, self.judge = plan, device, rows, judge
        self.network = make().to(device)
        self.inputs = tuple(each.to(device) for each in rows.inputs)
        self.labels = rows.labels.to(device)
        self.codes = np.zeros(len(rows.labels), np.int64) if rows.codes is None else rows.codes
        environments = int(self.codes.max()) + 1
        self.pairs = rows.pairs if rows.pairs is not None else np.empty((0, 2), np.int64)
        faithful = float(rows.labels.sum())
        self.positive = (len(rows.labels) - faithful) / faithful
        self.dann = plan.dann_weight if "dann" in plan.terms else 0.0
        self.head = objectives.EnvironmentHead(self.network.width, environments).to(device)
        self.dro = objectives.GroupWeights(environments, plan.dro_step)
        self.order_seed = FIXED_ORDER if plan.stable else seeds["order"]
        self.order = np.random.default_rng(self.order_seed)
        self.optimiser = self._adam()
        torch.manual_seed(seeds["dropout"])

    def _adam(self) -> torch.optim.Optimizer:
        parameters = [*self.network.parameters(), *(self.head.parameters() if self.dann else ())]
        return torch.optim.Adam(parameters, lr=self.plan.rate)

    def epoch(self, epoch: int) -> dict[str, float]:
        """Go through the data once; the means over its batches of loss and penalties."""
        weight = self.plan.irm_weight_at(epoch)
        if weight > 0 and epoch > 1 and self.plan.irm_weight_at(epoch - 1) == 0:
            self.optimiser = self._adam()
        if self.plan.stable:
            self.order = np.random.default_rng(self.order_seed)
        self.network.train()
        sums: dict[str, list[float]] = {}
        for groups in batches(self.codes, self.plan.batch, self.order):
            loss, figures = self.loss(groups, weight)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
            for name, figure in figures.items():
                sums.setdefault(name, []).append(figure)
        return {name: float(np.mean(values)) for name, values in sums.items()}

    def loss(
        self, groups: list[NDArray[np.int64]], irm_weight: float
    ) -> tuple[Tensor, dict[str, float]]:
        """The loss of one batch, and its parts."""
        plan, terms = self.plan, self.plan.terms
        rows = np.concatenate(groups)
        logits, h = self.network(*(each[rows] for each in self.inputs))
        sizes = [len(group) for group in groups]
        parts = list(zip(logits.split(sizes), self.labels[rows].split(sizes), strict=True))
        risks = torch.stack([objectives.risk(z, y, self.positive) for z, y in parts])
        loss = risks.mean()
        figures = {"loss": loss.item()}
        if plan.objective == "group_dro":
            loss = (self.dro(risks) * risks).sum()
            figures["worst_loss"] = risks.max().item()
        for name, penalty in (("irm", objectives.irm), ("irm-unbiased", objectives.irm_unbiased)):
            if name in terms:
                value = penalty(parts, self.positive)
                figures[name] = value.item()
                if irm_weight > 0:
                    loss = loss + irm_weight * value
        if "dann" in terms and self.dann:
            truth = torch.from_numpy(self.codes[rows]).to(self.device)
            guess = self.head(objectives.reverse(h))
            value = nn.functional.cross_entropy(guess, truth)
            figures["dann"] = value.item()
            figures["environment_accuracy"] = (guess.argmax(1) == truth).float().mean().item()
            loss = loss + self.dann * value
        if "alignment" in terms and plan.alignment_weight and len(self.pairs):
            drawn = self.order.choice(len(self.pairs), min(plan.batch, len(self.pairs)), False)
            both = self.pairs[drawn].T.reshape(-1)
            paired = self.network(*(each[both] for each in self.inputs))[1]
            value = objectives.alignment(*paired.chunk(2))
            figures["alignment"] = value.item()
            loss = loss + plan.alignment_weight * value
        return loss / max(irm_weight, 1.0), figures

    def value(self) -> float:
        """What chooses the epoch: log loss or AUROC on the judge's rows."""
        logits, _ = apply(self.network, self.judge.inputs)
        if not np.isfinite(logits).all():
            return math.nan
        if self.plan.stop == "auroc":
            found = auroc(logits, self.judge.labels.numpy().astype(int))
            if found.value is None:
                raise InputError(f"AUROC cannot choose the epoch: {found.reason}", field="stop")
            return found.value
        z = torch.from_numpy(logits)
        return objectives.risk(z, self.judge.labels.double(), self.positive).item()

    def better(self, value: float, best: float) -> bool:
        """Whether a value is better by more than rounding."""
        return value > best + 1e-9 if self.plan.stop == "auroc" else value < best - 1e-9

    def weights(self) -> dict[str, NDArray]:
        """A copy of the network's weights."""
        state = self.network.state_dict()
        return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}
