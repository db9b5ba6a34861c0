"""Training and scoring of detectors: traces a second, like lengths together, ensembles, memory.

Invented traces of 1 to 16 steps, 32 channels, most of them short. ``ratio`` is the time of SIFT's
batches in the order of the rows, which pads each to its longest trace, over that of batches of
like lengths; both give the same scores. ``ensemble`` is the time of four members in one detector
over that of the four by themselves; ``memory`` is what scoring adds at its peak, over the size of
the descriptors. ``score_of_instance_level`` compares the traces a second that are scored. Seconds
are processor time on one thread.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

N_TRAIN, N_SCORED, EPOCHS, REPEATS, MEMBERS = 1000, 20_000, 2, 3, 4
NAMES = ("hidden_state", "instance_level", "sift_small", "sift_t7")
SLOW = {"sift_t7": 20}
STEPS, CHANNELS, STATE = 16, 32, 576
PROFILE = ("filler", "scramble", "truncate@0.0", "truncate@0.4", "truncate@0.8")


def run() -> dict[str, Any]:
    """Every figure, on views of the full size."""
    import torch

    torch.set_num_threads(1)
    return measured(made(N_TRAIN, 0), made(N_SCORED, 1))


def missed(found: dict[str, Any]) -> list[str]:
    """Targets that were missed."""
    wanted = {
        "like lengths are faster": found["ratio"] > 1.2,
        "same scores": found["largest_difference"] < 1e-5,
        "an ensemble costs its members": found["ensemble"] < 1.15,
        "at most six times the descriptors": found["memory"] < 6,
    }
    return [name for name, met in wanted.items() if not met]


def measured(train: Any, scored: Any) -> dict[str, Any]:
    """Time all detectors on a view to learn from and one to score."""
    speeds, fitted = {}, {}
    for name in NAMES:
        # The first fit pays for imports.
        _fresh(name).fit(part(train, len(train) // 4), seed=0)
        fitted[name] = detector = _fresh(name)
        seconds = _seconds(lambda d=detector: d.fit(train, seed=0))
        epochs = detector.training.get("epochs", 1)
        some = part(scored, len(scored) // SLOW.get(name, 1))
        speeds[name] = {
            "trained_a_second": epochs * len(train) / seconds,
            "scored_a_second": len(some) / _least(lambda d=detector, v=some: d.score(v)),
            "parameters": detector.n_parameters,
        }
    base = speeds["instance_level"]["scored_a_second"]
    return {
        **batches(fitted["sift_small"], scored),
        "ensemble": ensemble(train, part(scored, len(scored) // 4)),
        "memory": memory(fitted["sift_small"], scored),
        "traces_a_second": speeds,
        "score_of_instance_level": {n: s["scored_a_second"] / base for n, s in speeds.items()},
        "traces": {"train": len(train), "scored": len(scored)},
    }


def batches(detector: Any, view: Any) -> dict[str, float]:
    """Batches of like lengths against batches in the order of the rows."""
    from faithshift_bench.detectors.sift.training import apply

    features, network = detector._features(view), detector.module()
    tensors, found = features.tensors(), {}

    def alike() -> None:
        found["alike"] = apply(network, tensors, lengths=features.lengths)[0]

    def as_they_come() -> None:
        found["as they come"] = apply(network, tensors)[0]

    fast, slow = _least(alike), _least(as_they_come)
    difference = np.abs(found["alike"] - found["as they come"]).max()
    return {
        "ratio": slow / fast,
        "largest_difference": float(difference),
        "mean_steps": float(features.lengths.mean()),
    }


def ensemble(train: Any, view: Any) -> float:
    """Time of four members together over that of the four alone, fitting and scoring."""
    from faithshift_bench.detectors import load_detector

    def together() -> None:
        made = load_detector("ensemble", of="instance_level", members=MEMBERS)
        made.fit(train, seed=0).score(view)

    def alone() -> None:
        for seed in range(MEMBERS):
            load_detector("instance_level").fit(train, seed=seed).score(view)

    return _least(together) / _least(alone)


def memory(detector: Any, view: Any) -> float:
    """What scoring adds at its peak, over the size of the descriptors."""
    from benchmarks.memory import reset_peak, resident_mb

    gc.collect()
    reset_peak()
    before = resident_mb()
    detector.score(view)
    return (resident_mb(peak=True) - before) / (view.descriptors[0].nbytes / 2**20)


def made(n: int, seed: int) -> View:
    """A view of ``n`` invented traces, of which faithful ones move more."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n).astype(np.int8)
    lengths = np.minimum(1 + rng.geometric(0.25, n), STEPS)
    mask = np.arange(STEPS) < lengths[:, None]
    psi = rng.normal(size=(n, STEPS, CHANNELS)).astype(np.float32) + 0.3 * labels[:, None, None]
    ids = np.array([f"t-{k:08d}" for k in range(n)])
    return View(
        split="train",
        trace_ids=ids,
        item_ids=np.array([f"i-{k // 10:08d}" for k in range(n)]),
        labels=labels,
        descriptors=((psi * mask[:, :, None]).astype(np.float32), mask),
        scalars=rng.normal(size=(n, 4)).astype(np.float32),
        states=rng.normal(size=(n, STATE)).astype(np.float32),
        interventions=SimpleNamespace(
            names=PROFILE, changed=rng.integers(0, 2, (n, len(PROFILE))).astype(np.float32)
        ),
        environments=SimpleNamespace(
            names=np.array(["base", "paraphrase"])[rng.integers(0, 2, n)],
            models=np.full(n, "m"),
            pairs=np.empty((0, 2), np.int64),
            axes=np.empty(0, dtype=str),
        ),
    )


class View(SimpleNamespace):
    """What a detector reads of a dataset."""

    def __len__(self) -> int:
        """Number of traces."""
        return len(self.trace_ids)


def part(view: View, n: int) -> View:
    """The first ``n`` traces."""
    found = View(**vars(view))
    for name in ("trace_ids", "item_ids", "labels", "scalars", "states"):
        setattr(found, name, getattr(view, name)[:n])
    found.descriptors = tuple(each[:n] for each in view.descriptors)
    changed = view.interventions.changed[:n]
    found.interventions = SimpleNamespace(names=PROFILE, changed=changed)
    rows = {"names": view.environments.names[:n], "models": view.environments.models[:n]}
    found.environments = SimpleNamespace(**{**vars(view.environments), **rows})
    return found


def _fresh(name: str) -> Any:
    from faithshift_bench.detectors import load_detector

    return load_detector(name, **({"epochs": EPOCHS} if name.startswith("sift") else {}))


def _seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def _least(work: Callable[[], object]) -> float:
    return min(_seconds(work) for _ in range(REPEATS))
