"""The frozen report of one detector on one version of the data, and its renderings."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from faithshift_data.atomic import canonical_json
from faithshift_data.errors import InputError

if TYPE_CHECKING:
    from faithshift_bench.core import Evaluation

REPORT_VERSION = 1
POINT_KEYS = ("mfs", "hm", "coverage", "ivr", "as")


@dataclass(frozen=True)
class Report:
    """Every figure of an evaluation, in [0, 1]; None is undefined.

    Attributes:
        detector: its name.
        revision: its revision, or None.
        reads_label_evidence: whether it reads evidence of the kind constructed labels rest on.
        headline: the operating point that counts, a copy of ``full`` or ``certified`` with its
            name under ``operating_point``.
        full: every verdict committed; mfs, hm, coverage, ivr, as, their intervals, counts,
            per-axis rows, chance levels; ``decomposition`` into raw, noise floors and excess.
        certified: the same at the certified thresholds, with the decision and its reason.
        seeds: tau, both points and the certificate of each detector seed.
        beside: the same detector under the other certificate protocols.
        settings: alpha, delta, protocol, resamples and seeds; ``hypotheses`` is the sha256 of the
            file of prespecified hypotheses.
        data: name, version, hash, counts by fold, label prior, dropped pairs.
        flags: what a reader must know.
        notes: what the certificate and the intervals cover.
        version: of the package.
    """

    detector: str
    revision: str | None
    reads_label_evidence: bool
    headline: dict[str, Any]
    full: dict[str, Any]
    certified: dict[str, Any]
    seeds: list[dict[str, Any]]
    beside: list[dict[str, Any]]
    settings: dict[str, Any]
    data: dict[str, Any]
    version: str
    flags: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    report_version: int = REPORT_VERSION

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        *,
        detector: str,
        version: str,
        revision: str | None = None,
        reads_label_evidence: bool = False,
    ) -> Report:
        """A report from an evaluation; values become plain JSON (tuples become lists)."""
        parts = json.loads(canonical_json(asdict(evaluation)))
        return cls(
            detector=detector,
            revision=revision,
            version=version,
            reads_label_evidence=reads_label_evidence,
            **parts,
        )

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, NaN refused, a final newline."""
        return canonical_json(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that :meth:`to_json` wrote; ``from_json(r.to_json()) == r``.

        Raises:
            InputError: on text that is not JSON, another report version, or an unknown or
                missing key.
        """
        try:
            value = json.loads(text)
        except ValueError as error:
            raise InputError("not JSON", file="report", got=str(error)) from None
        if not isinstance(value, dict):
            raise InputError(
                "not a report", file="report", expected="a JSON object", got=type(value).__name__
            )
        if value.get("report_version") != REPORT_VERSION:
            raise InputError(
                "made by another version",
                file="report",
                field="report_version",
                expected=REPORT_VERSION,
                got=value.get("report_version"),
            )
        known = {f.name for f in fields(cls)}
        for name in sorted(known ^ set(value)):
            fault = "missing key" if name in known else "unknown key"
            raise InputError(fault, file="report", field=name)
        for point in ("headline", "full", "certified"):
            for name in POINT_KEYS:
                if name not in value[point]:
                    raise InputError("missing key", file="report", field=f"{point}.{name}")
        return cls(**value)

    def to_markdown(self) -> str:
        """The report as Markdown text."""
        from faithshift_bench.render import report_markdown

        return report_markdown(self)

    def to_html(self) -> str:
        """The report as one self-contained page; needs the ``report`` extra (jinja2)."""
        from faithshift_bench.render import reports_html

        return reports_html([self])
