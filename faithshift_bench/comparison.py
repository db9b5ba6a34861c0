"""compare: several detectors on the same traces, items, draws and axes, everything frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import faithshift_bench
from faithshift_bench.about import check_name
from faithshift_bench.blocks import Design, block
from faithshift_bench.core import MIN_PAIRS, Evaluation, evaluate_arrays
from faithshift_bench.detectors.registry import CONTROLS
from faithshift_bench.evaluation import data_hash, frame_of
from faithshift_bench.metrics.verdicts import margin
from faithshift_bench.options import check_whole
from faithshift_bench.score_stream import Matched, match_scores
from faithshift_bench.scores import Aligned
from faithshift_bench.sides import Side, matched_selection, own_selection
from faithshift_bench.stats import item_weights, swap_signs
from faithshift_bench.studies.hypotheses import hypotheses_sha256
from faithshift_data.atomic import canonical_json
from faithshift_data.errors import InputError
from faithshift_data.schema import LabelRule

if TYPE_CHECKING:
    from faithshift_data import FaithShift

CONTROL_SEEDS = (0, 1, 2, 3)
NOTES = [
    "Verdict thresholds and certificates are frozen; the claim is about these operating points on "
    "new items from these models, conditions and prompts.",
    "Intervals: one set of resamples of test items within domain for all. p: two-sided, whole "
    "items swapped between two detectors, adjusted by Benjamini-Hochberg.",
    "Resolvable: the true gap that 4 of 5 such studies would find at the 5 % level.",
]


@dataclass(frozen=True)
class Comparison:
    """Detectors beside each other, at their own operating points and at matched coverage.

    Attributes:
        detectors: name, seeds, tau and certified threshold of each, whether it is a control and
            whether it reads evidence of the kind constructed labels rest on.
        own: the block at the certified thresholds (full coverage where the data have no calib
            rows); a detector with nothing certified is under ``not_comparable``.
        matched: the block at one coverage for all, set on tune and calib without labels.
        settings: alpha, delta, coverage, resamples, permutations, seed, level.
        data: name, version and hash.
        notes: what the intervals, tests and claims cover.
        version: of the package.

    A block holds ``axes`` in common, ``rows`` (mfs, hm, coverage, ivr, as and the interval of
    MFS; None is undefined), ``pairs`` (gap of MFS, first minus second, its interval, p, adjusted
    p, resolvable gap, and the gaps of IVR and AS), ``first`` (who shares the first place) and
    its ``sentence``.
    """

    detectors: list[dict[str, Any]]
    own: dict[str, Any]
    matched: dict[str, Any]
    settings: dict[str, Any]
    data: dict[str, Any]
    notes: list[str]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, NaN refused, a final newline."""
        return canonical_json(asdict(self))

    def to_text(self) -> str:
        """Both blocks as aligned text."""
        from faithshift_bench.comparison_text import comparison_text

        return comparison_text(self)


def compare(
    scores: Sequence[Any],
    data: str | Path | FaithShift = "mini",
    *,
    coverage: float = 0.70,
    controls: Sequence[str] = tuple(CONTROLS),
    names: Sequence[str] | None = None,
    alpha: float = 0.25,
    delta: float = 0.05,
    n_resamples: int = 1000,
    n_permutations: int = 9999,
    seed: int = 0,
    min_pairs: int = MIN_PAIRS,
) -> Comparison:
    """Compare detectors by MFS at their own operating points and at matched coverage.

    Args:
        scores: one or more of what :func:`evaluate_scores` takes.
        data: name or path of a dataset, or an open one.
        coverage: in (0, 1], what all detectors commit on at the matched point.
        controls: detectors run here and put beside the others. One that cannot be run on these
            data is named in the notes. Given scores of such a name get the suffix `` (given)``.
        names: what to call the detectors; from the files where omitted.
        alpha: risk target of the certificates, in (0, 1).
        delta: their error probability for each seed, in (0, 1).
        n_resamples: bootstrap resamples of test items, shared by all.
        n_permutations: swaps behind each p.
        seed: of both.
        min_pairs: verified test pairs an axis needs to enter the macro mean.

    Raises:
        InputError: in one line, where scores do not fit the data, two detectors have one name, or
            an option is out of range.
    """
    import faithshift_data as fd
    from faithshift_bench.detectors.runs import run_detector

    for name, value, least in (
        ("n_resamples", n_resamples, 1),
        ("n_permutations", n_permutations, 1),
        ("min_pairs", min_pairs, 1),
        ("seed", seed, 0),
    ):
        check_whole(name, value, least)
    if not 0 < coverage <= 1:
        raise InputError("out of range", field="coverage", expected="over 0, to 1", got=coverage)
    if len(scores) == 0 or isinstance(scores, str):
        raise InputError("no scores", field="scores", expected="a list of scores", got=scores)
    ds = fd.open(data) if isinstance(data, str | Path) else data
    frame, train = frame_of(ds)
    matched = [match_scores(each, frame.trace_id, train) for each in scores]
    reserved = {*CONTROLS, *controls}
    called = [f"{n} (given)" if n in reserved else n for n in _names(matched, names)]
    _refuse_twice(called)
    n_given = len(called)
    notes = [*NOTES, f"Prespecified hypotheses: sha256 {hypotheses_sha256()}."]
    for control in dict.fromkeys(controls):
        try:
            table = run_detector(control, ds, CONTROL_SEEDS)
            matched.append(match_scores(table, frame.trace_id, train))
            called.append(control)
        except InputError as error:
            notes.append(f"Control {control} could not be run: {error}.")
    detectors, sides = [], []
    for row, (name, (aligned, _, said)) in enumerate(zip(called, matched, strict=True)):
        about = {
            "control": row >= n_given,
            "reads_label_evidence": bool(said.get("reads_label_evidence", False)),
        }
        evaluation = evaluate_arrays(
            frame,
            aligned.scores,
            aligned.confidence,
            seeds=aligned.seeds,
            alpha=alpha,
            delta=delta,
            beside=(),
            n_resamples=0,
            redraws=0,
            draw_seed=ds.manifest.draw_seed,
            min_pairs=min_pairs,
        )
        side, frozen = _freeze(name, aligned, evaluation, about)
        sides.append(side)
        detectors.append({"name": name, **about, "seeds": frozen})
    items = np.unique(frame.item[frame.rows("test")])
    design = Design(
        items=items,
        weights=item_weights(frame.stratum[items], n_resamples, seed),
        keep=swap_signs(len(items), n_permutations, seed),
        min_pairs=min_pairs,
        fair=_by_mechanism(ds),
    )
    calibrated = len(frame.rows("calib")) > 0
    held = calibrated or len(frame.rows("tune")) > 0
    if not held and coverage < 1:
        raise InputError(
            "no tune or calib rows to set the matched threshold", field="coverage", expected="1"
        )
    return Comparison(
        detectors=detectors,
        own=block(frame, sides, [own_selection(s) for s in sides], design, None),
        matched=block(
            frame, sides, [matched_selection(frame, s, coverage) for s in sides], design, coverage
        ),
        settings={
            "alpha": alpha,
            "delta": delta,
            "coverage": coverage,
            "n_resamples": n_resamples,
            "n_permutations": n_permutations,
            "seed": seed,
            "min_pairs": min_pairs,
            "own": "certified" if calibrated else "full",
            "hypotheses": hypotheses_sha256(),
        },
        data={
            "name": ds.manifest.name,
            "version": ds.manifest.version,
            "hash": data_hash(ds.manifest.files),
            "n_items": len(items),
        },
        notes=notes,
        version=faithshift_bench.__version__,
    )


def _freeze(
    name: str, aligned: Aligned, evaluation: Evaluation, about: dict[str, bool]
) -> tuple[Side, list[dict[str, Any]]]:
    """A side with its tau from tune and its certificate from calib, as ``evaluate`` sets them."""
    taus = np.array([row["tau"] for row in evaluation.seeds])
    calibrated = evaluation.headline["operating_point"] == "certified"
    stars = tuple(row["certified"]["threshold"] if calibrated else 0.0 for row in evaluation.seeds)
    trust = aligned.confidence
    if trust is None:
        trust = np.array([margin(s, t) for s, t in zip(aligned.scores, taus, strict=True)])
    verdicts = (aligned.scores > taus[:, None]).astype(np.int8)
    reason = None if any(t is not None for t in stars) else evaluation.certified["reason"]
    side = Side(name, verdicts, trust, stars, reason=reason, **about)
    frozen = [
        {"seed": seed, "tau": float(tau), "threshold": star}
        for seed, tau, star in zip(aligned.seeds, taus, stars, strict=True)
    ]
    return side, frozen


def _names(tables: list[Matched], names: Sequence[str] | None) -> list[str]:
    if names is not None:
        called = [str(name) for name in names]
        if len(called) != len(tables):
            raise InputError("wrong length", field="names", expected=len(tables), got=len(called))
    else:
        stems = [t.source.rsplit(".", 1)[0] for t in tables]
        called = [str(t.about.get("detector") or s) for t, s in zip(tables, stems, strict=True)]
        called = [
            n if called.count(n) == 1 else f"{n} ({t.source})"
            for n, t in zip(called, tables, strict=True)
        ]
    _refuse_twice(called)
    return [check_name(name, field="names") for name in called]


def _refuse_twice(called: list[str]) -> None:
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise InputError("two detectors of one name", field="names", got=twice)


def _by_mechanism(ds: FaithShift) -> bool:
    """Whether all labels are known by mechanism, so that no detector has read their evidence."""
    traces = ds.table("traces")
    if "label_rule" not in traces.column_names:
        return False
    rules = set(traces["label_rule"].unique().to_pylist()) - {None}
    return rules == {str(LabelRule.MECHANISM)}
