"""The stored descriptors of a dataset, for writing them into another folder."""

from __future__ import annotations

import numpy as np

import faithshift_data as fd


def descriptors_of(data: fd.FaithShift) -> dict[str, dict[str, np.ndarray]] | None:
    """trace_id -> descriptor -> array, as ``write_folder`` takes them; None without any."""
    if not data.has_trajectories:
        return None
    found = data.trajectories
    arrays = {name: found.get(name, found.trace_ids) for name in found.descriptors}
    return {
        trace_id: {name: rows[at] for name, rows in arrays.items()}
        for at, trace_id in enumerate(found.trace_ids)
    }
