"""The audit of labels: checks by rule on every pair, annotators on a stratified sample."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import faithshift_data as fd
from builders.annotation import GUIDE, QUESTION_ID, VERDICTS, read_sheet, shown, to_csv, to_html
from builders.labels import NAMES, clean_counterpart
from cards.stale import is_rendered, write_card
from faithshift_bench.stats.agreement import rater_agreement
from faithshift_bench.stats.intervals import exact_interval
from faithshift_data.atomic import new_folder, sha256_file
from faithshift_data.errors import InputError
from faithshift_data.manifest import MANIFEST
from faithshift_data.withheld import need_labels

Row = Mapping[str, Any]
ANNOTATORS = ("a", "b")
CONFIDENCE = 0.95
_CODE = {"yes": 1, "no": 0, "unsure": -1, "": -1}


def audit_counts(pairs: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """The audit by rule of all pairs.

    Returns:
        axis -> ``pairs``, ``verified``, and ``checks``: name of the check -> how often it
        ``passed``, ``failed``, or was ``undecided`` (null).
    """
    found: dict[str, dict[str, Any]] = {}
    for pair in sorted(pairs, key=lambda row: (row["axis"], row["pair_id"])):
        axis = found.setdefault(pair["axis"], {"pairs": 0, "verified": 0, "checks": {}})
        axis["pairs"] += 1
        axis["verified"] += bool(pair["verified"])
        for check in pair["checks"]:
            tally = axis["checks"].setdefault(
                check["name"], {"passed": 0, "failed": 0, "undecided": 0}
            )
            tally[{True: "passed", False: "failed", None: "undecided"}[check["passed"]]] += 1
    return found


def draw(traces: Iterable[Row], n: int, seed: int) -> list[str]:
    """Ids of a stratified sample of labelled traces.

    Strata are (condition, label, domain). Each gets its proportional share of ``n`` (largest
    remainders), so that a rate over the sample needs no weights. An item gives one trace as long
    as its strata allow, so that the traces are independent. The draw depends on ids and seed
    only, not on the order of rows.

    Raises:
        InputError: ``n`` is below 1 or above the number of labelled traces, or there are none.
    """
    strata: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in traces:
        if row["label"] is not None:
            strata[row["condition"], row["label"], row["domain"]].append(row)
    total = sum(map(len, strata.values()))
    if not total:
        raise InputError("no traces with a label")
    if not 1 <= n <= total:
        raise InputError("too few or too many", field="--n", expected=f"1 to {total}", got=n)
    exact = {key: Fraction(n * len(rows), total) for key, rows in strata.items()}
    take = {key: int(share) for key, share in exact.items()}
    order = sorted(exact, key=lambda key: (take[key] - exact[key], _rank(seed, *map(str, key))))
    for key in order[: n - sum(take.values())]:
        take[key] += 1
    chosen: list[str] = []
    used: Counter[str] = Counter()
    # Rare strata choose first: their items are the hardest to find elsewhere.
    for key in sorted(strata, key=lambda key: (len(strata[key]), key)):
        left = sorted(strata[key], key=lambda row: _rank(seed, row["trace_id"]))
        for _ in range(take[key]):
            row = min(left, key=lambda row: used[row["item_id"]])
            left.remove(row)
            used[row["item_id"]] += 1
            chosen.append(row["trace_id"])
    return sorted(chosen)


def write_sheets(data: str, n: int, out: Path, *, seed: int = 0) -> Path:
    """Sheets for two annotators, CSV and HTML, each in an order of its own.

    Args:
        data: name or path of a dataset.
        n: traces to sample.
        out: a new folder.
        seed: of the sample and of both orders.

    Raises:
        InputError: see :func:`draw`; or the folder is there.
    """
    dataset, traces = _traces(data)
    ids = draw(traces.values(), n, seed)
    with new_folder(out) as folder:
        for annotator in ANNOTATORS:
            order = sorted(ids, key=lambda name: _rank(seed, annotator, name))
            _write(folder, f"annotator-{annotator}", dataset, traces, order)
    return out


def read_sheets(
    data: str, first: Path, second: Path, third: Path | None = None, *, open_to: Path | None = None
) -> dict[str, Any]:
    """Read what two annotators and perhaps an adjudicator say, and put it into the manifest.

    A trace's final verdict is the annotators' common ``yes`` or ``no``, otherwise the
    adjudicator's; a trace without one is unresolved and enters no rate.

    Args:
        data: a dataset folder or an embedded name; its manifest gets ``audit.human``, and its
            card, where it was a rendered one, says so.
        first: CSV of one annotator.
        second: CSV of the other, over the same traces.
        third: CSV of the adjudicator, over traces without a common verdict.
        open_to: a new folder for a sheet of the traces that need an adjudicator.

    Returns:
        What went into the manifest.

    Raises:
        InputError: a file that does not fit; nothing is written then.
    """
    dataset, traces = _traces(data)
    if dataset.path.parent.name == "snapshots":
        raise InputError("a download is not written to", file=dataset.path, expected="a folder")
    labelled = {name: row for name, row in traces.items() if row["label"] is not None}
    a, b = read_sheet(first, labelled), read_sheet(second, labelled)
    if sha256_file(first) == sha256_file(second):
        raise InputError("the same file as the first annotator's", file=second)
    for name in sorted(set(a) ^ set(b)):
        file, other = (second, first) if name in a else (first, second)
        raise InputError(f"a trace of {other} is missing", file=file, field="trace_id", got=name)
    agreed = {name: a[name] for name in a if a[name] == b[name] and a[name] in ("yes", "no")}
    unclear = sorted(set(a) - set(agreed))
    ruled = {}
    if third is not None:
        for number, (name, verdict) in enumerate(read_sheet(third, labelled).items(), 1):
            if name not in unclear:
                raise InputError(
                    "needs no adjudication", file=third, row=number, field="trace_id", got=name
                )
            ruled[name] = verdict
    final = agreed | {name: said for name, said in ruled.items() if said in ("yes", "no")}
    names = sorted(a)
    human = {
        "question": QUESTION_ID,
        "question_sha256": hashlib.sha256("\n".join(GUIDE).encode()).hexdigest(),
        "n": len(names),
        "n_items": len({labelled[name]["item_id"] for name in names}),
        "verdicts": {
            "first": _tally(a.values()),
            "second": _tally(b.values()),
            "adjudicator": _tally(ruled.values()),
        },
        "agreement": asdict(
            rater_agreement([_CODE[a[name]] for name in names], [_CODE[b[name]] for name in names])
        ),
        "unresolved": len(names) - len(final),
        "residual_error": residual_error({name: labelled[name] for name in final}, final),
        "files_sha256": {
            "first": sha256_file(first),
            "second": sha256_file(second),
            "adjudicator": None if third is None else sha256_file(third),
        },
    }
    if open_to is not None:
        waiting = [name for name in unclear if name not in final]
        with new_folder(open_to) as folder:
            _write(folder, "adjudicator", dataset, traces, waiting)
    manifest = dataset.manifest
    audit = {**manifest.audit, "human": human}
    rendered = is_rendered(dataset.path)
    replace(manifest, audit=audit).write(dataset.path / MANIFEST)
    if rendered:
        write_card(dataset.path)
    return human


def said(human: Mapping[str, Any]) -> str:
    """Three lines for people about what :func:`read_sheets` returned."""
    agreement, error = human["agreement"], human["residual_error"]
    kappa, ac1 = (_coefficient(agreement[name]) for name in ("kappa", "ac1"))
    low, high = error["interval"] or (0.0, 1.0)
    judged = sum(human["verdicts"]["adjudicator"].values())
    return (
        f"agreement: {_figure(agreement['observed'])} on {agreement['n']} of {human['n']} traces "
        f"with two verdicts, kappa {kappa}, AC1 {ac1}, prevalence "
        f"{_figure(agreement['prevalence'])}\n"
        f"adjudicated: {judged}, unresolved: {human['unresolved']}\n"
        f"residual error: {error['errors']} of {error['n']} labels, {_figure(error['rate'])}; "
        f"{error['confidence']:.0%} interval {low:.3f} to {high:.3f} over "
        f"{error['interval_n']} independent items"
    )


def _coefficient(found: Mapping[str, Any]) -> str:
    return _figure(found["value"]) if found["reason"] is None else f"undefined ({found['reason']})"


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def residual_error(traces: Mapping[str, Row], final: Mapping[str, str]) -> dict[str, Any]:
    """How often final verdicts contradict the labels (yes against 0, no against 1).

    Args:
        traces: labelled rows by id.
        final: ``yes`` or ``no`` for each of them.

    Returns:
        ``errors`` of ``n`` and their ``rate`` (None at n = 0); ``by_label`` and ``by_condition``
        with errors and n. ``interval`` is Clopper-Pearson's at ``confidence`` over
        independent units: where an item has several traces, one of them, drawn by id, is taken,
        and ``interval_errors`` of ``interval_n`` say what it rests on.
    """
    wrong = {name: _CODE[said] != traces[name]["label"] for name, said in final.items()}
    units: dict[str, str] = {}
    for name in sorted(wrong, key=lambda name: _rank(0, "unit", name)):
        units.setdefault(traces[name]["item_id"], name)
    errors, independent = sum(wrong.values()), sum(wrong[name] for name in units.values())
    return {
        "errors": errors,
        "n": len(wrong),
        "rate": errors / len(wrong) if wrong else None,
        "interval": exact_interval(independent, len(units), CONFIDENCE),
        "interval_errors": independent,
        "interval_n": len(units),
        "confidence": CONFIDENCE,
        "by_label": _split(wrong, {name: NAMES[row["label"]] for name, row in traces.items()}),
        "by_condition": _split(wrong, {name: row["condition"] for name, row in traces.items()}),
    }


def _split(wrong: Mapping[str, bool], group: Mapping[str, str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name in sorted(wrong, key=lambda name: (group[name], name)):
        counts = found.setdefault(group[name], {"errors": 0, "n": 0})
        counts["errors"] += wrong[name]
        counts["n"] += 1
    return found


def _traces(data: str) -> tuple[fd.FaithShift, dict[str, dict[str, Any]]]:
    dataset = fd.open(data)
    need_labels(dataset)
    rows = dataset.table("traces").to_pylist()
    return dataset, {row["trace_id"]: row for row in rows}


def _write(
    folder: Path,
    name: str,
    dataset: fd.FaithShift,
    traces: Mapping[str, Row],
    order: Sequence[str],
) -> None:
    rows = [shown(traces[each], clean_counterpart(traces[each], traces)) for each in order]
    (folder / f"{name}.csv").write_bytes(to_csv(rows).encode())
    title = f"{dataset.name} {dataset.manifest.version}: {name}"
    (folder / f"{name}.html").write_text(to_html(rows, title, f"{name}.csv"), "utf-8")


def _tally(verdicts: Iterable[str]) -> dict[str, int]:
    seen = Counter(verdict or "blank" for verdict in verdicts)
    return {name: seen[name] for name in (*VERDICTS, "blank")}


def _rank(seed: int, *parts: str) -> str:
    text = "\x1f".join([str(seed), *parts])
    return hashlib.sha256(text.encode()).hexdigest()
