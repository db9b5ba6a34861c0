"""Certificates of every seed under one protocol, and what they say together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faithshift_bench.frame import Frame
from faithshift_bench.points import Point
from faithshift_bench.risk.certificate import Certificate, certify
from faithshift_bench.risk.protocol import Protocol


def certificate_of(
    frame: Frame,
    verdict: NDArray[np.int8],
    trust: NDArray[np.float64],
    protocol: Protocol,
    alpha: float,
    delta: float,
    draw_seed: int,
    redraws: int,
) -> Certificate:
    """One seed's certificate: verdicts and confidence (n,) of the calib rows, tune rows beside."""
    calib, tune = (
        (trust[rows], verdict[rows] != frame.label[rows], frame.items[frame.item[rows]])
        for rows in (frame.rows("calib", labelled=True), frame.rows("tune", labelled=True))
    )
    return certify(
        calib[0],
        calib[1],
        groups=calib[2],
        unit=protocol.unit,
        bound=protocol.bound,
        multiplicity=protocol.multiplicity,
        alpha=alpha,
        delta=delta,
        thresholds=protocol.grid,
        seed=draw_seed,
        tune=tune,
        redraws=redraws,
    )


def together(certificates: list[Certificate], calibrated: bool) -> dict[str, Any]:
    """What the certificates say together: how many certified, and the nearest one's figures."""
    if not calibrated:
        return {"certified": False, "reason": "no calibration rows were given"}
    nearest = min(certificates, key=lambda c: (not c.certified, c.upper_bound))
    found = [c.threshold for c in certificates if c.threshold is not None]
    redrawn = [c.p_certify for c in certificates if c.p_certify is not None]
    return {
        "certified": bool(found),
        "seeds_certified": f"{len(found)} of {len(certificates)}",
        "threshold": float(np.mean(found)) if found else None,
        "reason": nearest.reason,
        "n_calib_items": nearest.n_items,
        "upper_bound": nearest.upper_bound,
        "least_n": nearest.least_n,
        "least_n_at_rate": nearest.least_n_at_rate,
        "least_alpha_exploratory": min(c.least_alpha for c in certificates),
        "p_certify": float(np.mean(redrawn)) if redrawn else None,
    }


def summary(
    protocol: Protocol, certificates: list[Certificate], point: Point, rows: list[Point]
) -> dict[str, Any]:
    """The row of a protocol that is printed beside the one that counts."""
    verdict = together(certificates, True)
    return {
        "protocol": protocol.name,
        **{k: point[k] for k in ("mfs", "hm", "coverage", "ivr", "as")},
        **{
            k: verdict[k]
            for k in (
                "certified",
                "seeds_certified",
                "threshold",
                "reason",
                "least_n",
                "least_alpha_exploratory",
                "p_certify",
            )
        },
        "thresholds": [row["threshold"] for row in rows],
    }
