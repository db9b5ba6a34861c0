"""Fit on one dataset, score another: what the two must share, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_data import FaithShift, View

STORED = {"descriptors": "psi", "states": "state"}


def check_transfer(
    fitted: FaithShift,
    scored: FaithShift,
    needs: Sequence[str],
    progress: Callable[[str], None] = lambda line: None,
) -> None:
    """Refuse descriptors of different shapes, and say where they come from different models.

    Args:
        fitted: what a detector is fitted on.
        scored: what it scores.
        needs: parts of a view that it reads.
        progress: called with a line where the models differ.

    Raises:
        InputError: a dataset lacks a descriptor, or its shape differs.
    """
    parts = [part for part in STORED if part in needs]
    for name in (STORED[part] for part in parts):
        for data in (fitted, scored):
            if name not in data.manifest.descriptors:
                message = f"no descriptor {name}; `faithshift measure` adds it"
                raise InputError(message, file=data.name)
        left, right = (data.manifest.descriptors[name].shape for data in (fitted, scored))
        if left != right:
            message = f"descriptors of another shape than in {fitted.name}: another model's"
            raise InputError(message, file=scored.name, field=name, expected=left, got=right)
    tell_readers(parts, reader(fitted), reader(scored), progress)


def tell_readers(
    parts: Sequence[str], fitted: str, scored: str, progress: Callable[[str], None]
) -> None:
    """Say where descriptors come from two models, ``fitted`` and ``scored``."""
    if parts and fitted != scored:
        progress(
            f"{' and '.join(parts)} of two models, which need not compare: fitted on those of "
            f"{fitted}, scored on those of {scored}"
        )


def share_interventions(
    fitted: Sequence[View],
    scored: Sequence[View],
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[list[View], list[View]]:
    """Views with the interventions alone that both datasets have.

    Args:
        fitted: of the dataset that a detector is fitted on.
        scored: of the one it scores.
        progress: called with a line where some are left out.

    Raises:
        InputError: they have none in common.
    """
    left = fitted[0].interventions.names
    right = scored[0].interventions.names
    both = [name for name in left if name in right]
    if not both:
        message = "no intervention in common; `faithshift measure` adds them"
        raise InputError(
            message, expected=", ".join(left) or "some", got=", ".join(right) or "none"
        )
    if set(left) != set(right):
        dropped = ", ".join(name for name in (*left, *right) if name not in both)
        progress(f"{len(both)} interventions in common; not in both, and left out: {dropped}")
    left_views, right_views = (
        [view.with_interventions(both) for view in views] for views in (fitted, scored)
    )
    return left_views, right_views


def reader(data: FaithShift) -> str:
    """The model whose descriptors a dataset holds."""
    measured = data.manifest.measured_with.get("model_id")
    return str(measured or ", ".join(model.model_id for model in data.manifest.models))
