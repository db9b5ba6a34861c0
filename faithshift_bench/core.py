"""The evaluation on arrays: tau on tune, certificates on calib, two operating points on test.

Shared by :func:`faithshift_bench.evaluate_scores` and the ``meta_faithfulness`` metric, so that
both print the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faithshift_bench.certificates import certificate_of, summary, together
from faithshift_bench.frame import Frame, describe
from faithshift_bench.metrics.verdicts import Threshold, margin, youden_threshold
from faithshift_bench.noise import noise_floor
from faithshift_bench.options import check_share, check_whole
from faithshift_bench.points import Point, operating_point
from faithshift_bench.quality import quality, upside_down
from faithshift_bench.risk.certificate import COVERS
from faithshift_bench.risk.protocol import DEFAULT, ONE_PER_ITEM, PUBLISHED, Protocol
from faithshift_bench.stats import item_weights
from faithshift_bench.studies.hypotheses import hypotheses_sha256
from faithshift_data.errors import InputError

__all__ = [
    "DEFAULT",
    "MIN_PAIRS",
    "ONE_PER_ITEM",
    "PUBLISHED",
    "Evaluation",
    "Protocol",
    "evaluate_arrays",
]

MIN_PAIRS = 10
REDRAWS = 200
CONDITIONAL = (
    "Intervals resample test items within domain, with tau and the certified threshold frozen."
)


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate_arrays` found; plain dicts and lists, ready for JSON.

    ``headline`` is a copy of the point that counts, with its name under ``operating_point``:
    ``certified`` where calibration rows were given, else ``full``. ``beside`` summarises the other
    certificate protocols; ``seeds`` holds each seed's tau, points and certificate.
    """

    headline: Point
    full: Point
    certified: Point
    seeds: list[dict[str, Any]]
    beside: list[dict[str, Any]]
    settings: dict[str, Any]
    data: dict[str, Any]
    flags: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def evaluate_arrays(
    frame: Frame,
    scores: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    seeds: Sequence[int] | None = None,
    threshold: float | str = "youden",
    alpha: float = 0.25,
    delta: float = 0.05,
    protocol: Protocol = DEFAULT,
    beside: Sequence[Protocol] = (ONE_PER_ITEM, PUBLISHED),
    n_resamples: int = 1000,
    seed: int = 0,
    draw_seed: int = 0,
    min_pairs: int = MIN_PAIRS,
    redraws: int = REDRAWS,
) -> Evaluation:
    """Evaluate scores (S, n), one row a detector seed, on the traces of ``frame``.

    Args:
        frame: traces and pairs; scores are in the order of ``frame.trace_id``.
        scores: (S, n) in [0, 1], the probability that a trace is faithful.
        confidence: (S, n) in [0, 1]; the margin around tau where omitted.
        seeds: (S,) names of the seeds; 0..S-1 where omitted.
        threshold: ``youden`` (fitted on labelled tune rows), or a number in [0, 1].
        alpha: risk target of the certificates.
        delta: their error probability, for each seed alone.
        protocol: how the certificate that counts is made. One that needs tune rows is replaced by
            the published style, with a flag, where there are none.
        beside: further protocols printed beside it.
        n_resamples: bootstrap resamples; 0 leaves intervals out.
        seed: of the bootstrap.
        draw_seed: of ``one_per_item``; belongs to the data version.
        min_pairs: verified test pairs an axis needs to enter the macro mean.
        redraws: half-size re-draws behind ``p_certify``.

    Raises:
        InputError: on scores or confidences of the wrong shape or range, options out of range, or
            without test rows.
    """
    for name, share in (("alpha", alpha), ("delta", delta)):
        check_share(name, share)
    whole = {"n_resamples": n_resamples, "seed": seed, "draw_seed": draw_seed, "redraws": redraws}
    for name, value in whole.items():
        check_whole(name, value)
    check_whole("min_pairs", min_pairs, 1)
    values = _scores(frame, scores, "score")
    names = list(range(len(values))) if seeds is None else [int(s) for s in seeds]
    given = None if confidence is None else _scores(frame, confidence, "confidence")
    if len(frame.rows("test")) == 0:
        raise InputError("no test rows to report on", field="fold", expected="test")
    flags: list[str] = []
    taus = [_tau(frame, row, threshold) for row in values]
    flags += sorted({tau.flag for tau in taus if tau.flag})
    flags += upside_down(frame, values)
    cuts = np.array([tau.tau for tau in taus])
    verdicts = (values > cuts[:, None]).astype(np.int8)
    trust = (
        given
        if given is not None
        else np.array([margin(row, tau) for row, tau in zip(values, cuts, strict=True)])
    )

    calibrated = len(frame.rows("calib")) > 0
    protocols = [protocol, *(p for p in beside if p != protocol)]
    if len(frame.rows("tune", labelled=True)) == 0:
        if protocol.needs_tune and calibrated:
            flags.append(f"no labelled tune rows: certified by {PUBLISHED.name}")
        protocols = [PUBLISHED, *(p for p in protocols if not p.needs_tune and p != PUBLISHED)]
    weights = _weights(frame, n_resamples, seed)
    full, full_rows = operating_point(
        frame, verdicts, trust, [0.0] * len(values), weights, min_pairs
    )
    means, each_seed = quality(frame, values, verdicts, trust, min_pairs)
    full.update(means)
    full["decomposition"] = noise_floor(
        frame, verdicts, min_pairs=min_pairs, n_resamples=n_resamples, seed=seed
    )
    for row, figures in zip(full_rows, each_seed, strict=True):
        row.update(figures)
    results = []
    for number_, each in enumerate(protocols):
        certificates = [
            certificate_of(frame, v, t, each, alpha, delta, draw_seed, redraws)
            for v, t in zip(verdicts, trust, strict=True)
        ]
        stars = [c.threshold if calibrated else None for c in certificates]
        point, rows = operating_point(
            frame, verdicts, trust, stars, None if number_ else weights, min_pairs
        )
        results.append((each, certificates, point, rows))
    _, certificates, certified, certified_rows = results[0]
    certified.update(together(certificates, calibrated))
    if calibrated:
        flags += sorted({flag for certificate in certificates for flag in certificate.flags})
    full.update({"certified": False, "reason": "everything committed, no certificate"})
    if not calibrated:
        for point in (certified, *certified_rows):
            point.update(
                dict.fromkeys(
                    (
                        k
                        for k, v in point.items()
                        if k.startswith(("mfs", "coverage")) and not isinstance(v, dict)
                    )
                )
            )
    name = "certified" if calibrated else "full"
    return Evaluation(
        headline={"operating_point": name, **(certified if calibrated else full)},
        full=full,
        certified=certified,
        seeds=[
            {
                "seed": s,
                "tau": tau.tau,
                "tau_flag": tau.flag,
                "full": f,
                "certified": c,
                "certificate": asdict(certificate) if calibrated else None,
            }
            for s, tau, f, c, certificate in zip(
                names, taus, full_rows, certified_rows, certificates, strict=True
            )
        ],
        beside=[summary(*result) for result in results[1:]] if calibrated else [],
        settings={
            "alpha": alpha,
            "delta": delta,
            "protocol": protocols[0].name,
            "threshold": threshold,
            "confidence": "margin" if given is None else "given",
            "n_resamples": n_resamples,
            "seed": seed,
            "draw_seed": draw_seed,
            "min_pairs": min_pairs,
            "redraws": redraws,
            "hypotheses": hypotheses_sha256(),
        },
        data=describe(frame, alpha),
        flags=flags,
        notes=[COVERS, CONDITIONAL],
    )


def _scores(frame: Frame, values: ArrayLike, field_name: str) -> NDArray[np.float64]:
    array = np.atleast_2d(np.asarray(values, dtype=float))
    if array.ndim != 2 or array.shape[1] != len(frame.trace_id) or len(array) == 0:
        raise InputError(
            "wrong shape",
            field=field_name,
            got=array.shape,
            expected=f"(seeds, {len(frame.trace_id)})",
        )
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        s, row = np.argwhere(bad)[0]
        raise InputError(
            "out of range",
            row=frame.trace_id[row],
            field=field_name,
            expected="a number in [0, 1]",
            got=array[s, row],
        )
    return array


def _tau(frame: Frame, row: NDArray[np.float64], threshold: float | str) -> Threshold:
    if threshold == "youden":
        tune = frame.rows("tune")
        return youden_threshold(row[tune], frame.label[tune])
    if isinstance(threshold, str) or not 0 <= threshold <= 1:
        raise InputError(
            "bad threshold",
            field="threshold",
            got=threshold,
            expected='"youden" or a number in [0, 1]',
        )
    return Threshold(float(threshold), None)


def _weights(frame: Frame, n_resamples: int, seed: int) -> NDArray[np.float64] | None:
    items = np.unique(frame.item[frame.rows("test")])
    return item_weights(frame.stratum[items], n_resamples, seed) if n_resamples else None
