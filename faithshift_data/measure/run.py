"""Measure the traces of a dataset folder with a local model.

Each trace is read once. The pass gives the descriptors, and the forced answers of all
interventions continue from it. What is done of a long run is kept beside the folder; the folder
itself is replaced in one go, at the end.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from faithshift_data.atomic import is_free
from faithshift_data.dataset import FaithShift, embedded
from faithshift_data.dataset import open as open_data
from faithshift_data.errors import InputError, reason_of
from faithshift_data.folder import CARD, write_folder
from faithshift_data.manifest import MANIFEST
from faithshift_data.measure.behaviour import measure_behaviour
from faithshift_data.measure.engines import Engine
from faithshift_data.measure.local_model import LocalModel, need_packages
from faithshift_data.measure.measured import summarise
from faithshift_data.measure.one_trace import (
    Done,
    Row,
    Settings,
    cue_of,
    how_of,
    measure_trace,
    read_of,
)
from faithshift_data.measure.store import Store, key_of
from faithshift_data.measure.text_model import TextModel
from faithshift_data.schema import SPLITS, Role
from faithshift_data.withheld import need_labels

NO_REASONING, NO_ANSWER, LONG = "no reasoning", "no answer", "longer than the model's context"
BEYOND, FAILED = "beyond the limit", "failed"
SHOWN = 20

Bar = Callable[[Sequence[Any], str], Iterable[Any]]
Line = Callable[[str], None]
Measured = dict[str, Done]


def measure_folder(
    folder: str | Path,
    model: LocalModel | TextModel,
    settings: Settings | None = None,
    *,
    out: str | Path | None = None,
    progress: Line = lambda line: None,
    bar: Bar = lambda rows, label: rows,
) -> dict[str, Any]:
    """Add interventions and trajectories to the traces of a dataset.

    A trace is not measured without reasoning, without answer, where it is longer than the model
    reads, or where it fails; each reason is counted in the manifest. Interventions and descriptors
    of an earlier measurement are replaced, but for the rows that labels rest on. Traces and pairs
    stay as they are.

    Args:
        folder: a dataset folder; with ``out``, also an embedded name or one on the Hub.
        model: what reads the traces.
        settings: how; the defaults where omitted.
        out: a new folder for the result; None: the folder itself is replaced.
        progress: called with a line where something is to be said.
        bar: wraps the rows of a long loop, and shows how far it is.

    Returns:
        The summary that :func:`faithshift_data.measure.measured.render` prints.

    Raises:
        InputError: no dataset, a model that cannot be loaded, a place that cannot be written to,
            files in the folder that are not the dataset's, labels that are withheld, label probes
            where labels rest on rows already there, or not a single trace that could be measured.
    """
    if isinstance(model, LocalModel):
        need_packages()
    settings = settings or Settings()
    if settings.rollout and not isinstance(model, LocalModel):
        message = "an engine that gives answers alone shows no attention"
        raise InputError(message, field="--rollout", expected="--engine transformers")
    target = _target(folder, out)
    data = open_data(folder)
    need_labels(data)
    if out is None and (foreign := _foreign_files(data)):
        message = "holds files that are not the dataset's, and would be lost"
        raise InputError(message, file=folder, field="--out", got=", ".join(foreign))
    rows = data.table("traces").sort_by("trace_id").to_pylist()
    if settings.label_probes and any(row["label_evidence"] for row in rows):
        message = "labels of this dataset rest on label rows that it holds"
        raise InputError(message, file=folder, field="--label-probes")
    for line in _missing(rows, settings):
        progress(line)
    with Store.beside(target) as store:
        found, reasons, reused = _measure_all(rows, model, settings, store, progress, bar)
        if not found:
            why = ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items())) or "no traces"
            raise InputError(f"no trace could be measured: {why}", file=folder)
        tables = _tables(data, rows, found, settings)
        fields = _manifest(data, found, reasons, model, settings)
        arrays = {key: arrays for key, (_, arrays) in found.items() if arrays} or None
        card = _card(data.card)
        write_folder(target, fields, tables, arrays, card=card, overwrite=out is None)
    return summarise(target, model.row, rows, found, reasons, reused, fields["descriptors"])


def _measure_all(
    rows: Sequence[Row],
    model: LocalModel | TextModel,
    settings: Settings,
    store: Store,
    progress: Line,
    bar: Bar,
) -> tuple[Measured, Counter[str], int]:
    """What was measured by trace_id, why the others were not, and how many were done before."""
    reasons = Counter(reason for row in rows if (reason := _why_not(row)))
    whole = [row for row in rows if _why_not(row) is None]
    chosen = whole[: settings.limit]
    if len(chosen) < len(whole):
        reasons[BEYOND] = len(whole) - len(chosen)
    how = how_of(model, settings)
    keys = {row["trace_id"]: key_of({"row": read_of(row), "how": how}) for row in chosen}
    found = {name: done for name, key in keys.items() if (done := store.get(key)) is not None}
    reused = len(found)
    todo = [row for row in chosen if row["trace_id"] not in found]
    if reused:
        progress(f"{reused} traces were measured before an interruption")
    if todo:
        _load(model, settings)
        for line in _begins(todo, model.engine, settings):
            progress(line)
    batches = [todo[start : start + model.batch] for start in range(0, len(todo), model.batch)]
    for batch in bar(batches, "measuring"):
        for row, made in _measured(batch, model, settings):
            name = row["trace_id"]
            if isinstance(made, Exception):
                reasons[FAILED] += 1
                if reasons[FAILED] <= SHOWN:
                    progress(f"{name}: {reason_of(made)}")
            elif made is None:
                reasons[LONG] += 1
            else:
                store.put(keys[name], *made)
                found[name] = made
    if reasons[FAILED] > SHOWN:
        progress(f"and {reasons[FAILED] - SHOWN} more that failed")
    return found, reasons, reused


def _measured(
    batch: Sequence[Row], model: LocalModel | TextModel, settings: Settings
) -> Iterator[tuple[Row, Done | Exception | None]]:
    """Each trace of a batch with what was measured; a trace's failure is its own."""
    if isinstance(model, TextModel):
        yield from measure_behaviour(batch, model, settings)
        return
    for row in batch:
        try:
            yield row, measure_trace(row, model, settings)
        except Exception as error:  # noqa: BLE001 - a row's failure is counted, not the end
            yield row, error


def _missing(rows: Sequence[Row], settings: Settings) -> Iterator[str]:
    """A line on what the traces lack, and what is done about it."""
    bare = sum(row["prompt"] == row["question"] for row in rows)
    if bare and not settings.chat:
        yield (
            f"{bare} of {len(rows)} traces have no prompt of their own: the model reads the bare "
            "question; give the text it was sent as `prompt`, or --chat to use its chat template"
        )
    cued = [row for row in rows if cue_of(row)]
    lost = sum(cue_of(row) not in row["prompt"] for row in cued)
    if lost:
        yield (
            f"{lost} of {len(cued)} cued traces have a cue text that their prompt does not hold: "
            "nothing is taken out of it"
        )


def _load(model: LocalModel | TextModel, settings: Settings) -> None:
    """Find out before the first trace what would fail on every one."""
    if isinstance(model, TextModel):
        model.capability  # noqa: B018 - refuses an engine that does not continue what is injected
    if settings.chat:
        model.chat("")
    else:
        model.engine  # noqa: B018 - loads it


def _begins(rows: Sequence[Row], engine: Engine, settings: Settings) -> Iterator[str]:
    """A line on prompts without the BOS that the model is used to.

    Raises:
        InputError: a prompt begins with two of them.
    """
    bos, expected = getattr(engine.tokenizer, "bos_token", None), engine.begins()
    for row in rows:
        if bos and row["prompt"].startswith(bos * 2):
            raise InputError("begins with BOS twice", row=row["trace_id"], field="prompt", got=bos)
    bare = sum(not row["prompt"].startswith(expected) for row in rows)
    if bare and not settings.chat:
        yield f"{bare} of {len(rows)} prompts do not begin with {expected}, as the model is used to"


def _why_not(row: Row) -> str | None:
    if not (row["reasoning"] or "").strip():
        return NO_REASONING
    return NO_ANSWER if row["answer"] is None else None


def new_place(out: str | Path, folder: str | Path) -> Path:
    """``out``, if the result of measuring ``folder`` can go there.

    Raises:
        InputError: something is there, or it lies in ``folder``.
    """
    if not is_free(Path(out)):
        raise InputError("already exists", file=out, expected="a new or empty folder")
    if Path(out).resolve().is_relative_to(Path(folder).resolve()):
        message = "lies in the folder that is measured"
        raise InputError(message, field="--out", expected="a folder elsewhere", got=out)
    return Path(out)


def _target(folder: str | Path, out: str | Path | None) -> Path:
    """Where the result goes, known to be writable in principle before anything is measured."""
    if out is not None:
        return new_place(out, folder)
    if str(folder) in embedded() or not Path(folder).is_dir():
        raise InputError(
            "only a folder of yours is measured in place", field="--out", expected="a new folder"
        )
    if Path.cwd().is_relative_to(Path(folder).resolve()):
        message = "the folder you are in cannot be replaced"
        raise InputError(message, field="--out", expected="a new folder, or to be elsewhere")
    if not os.access(folder, os.W_OK):
        raise InputError("is read-only", file=folder, field="--out", expected="a new folder")
    return Path(folder)


def _tables(
    data: FaithShift, rows: Sequence[Row], found: Measured, settings: Settings
) -> dict[str, dict[str, Any]]:
    evidence = {each for row in rows for each in row["label_evidence"]}
    kept = [
        row
        for row in data.table("interventions").to_pylist()
        if row["role"] == Role.LABEL and evidence
    ]
    made = [row for values, _ in found.values() for row in values["interventions"]]
    split = {row["trace_id"]: row["split"] for row in rows}
    interventions: dict[str, list[Row]] = {name: [] for name in SPLITS}
    for row in (*kept, *made):
        interventions[split[row["trace_id"]]].append(row)
    same = {config: {s: data.table(config, s) for s in SPLITS} for config in ("traces", "pairs")}
    return {**same, "interventions": interventions}


def _manifest(
    data: FaithShift,
    found: Measured,
    reasons: Mapping[str, int],
    model: LocalModel | TextModel,
    settings: Settings,
) -> dict[str, Any]:
    from faithshift_data.measure.descriptors import manifest_entries

    given = asdict(data.manifest)
    arrays = next(iter(found.values()))[1]
    how = {**how_of(model, settings), "limit": settings.limit}
    counts = {"measured": len(found), "not_measured": dict(sorted(reasons.items()))}
    return {
        **given,
        "descriptors": manifest_entries(arrays) if arrays else {},
        "counts": {**given["counts"], **counts},
        "environment": {**given["environment"], "measured_with": how},
        "files": {},
    }


def _card(text: str) -> str:
    """The text of a card under its YAML front matter."""
    front, fence, body = text.partition("\n---\n")
    return body.strip("\n") if fence and front.startswith("---") else text.strip("\n")


def _foreign_files(data: FaithShift) -> list[str]:
    """Files of a dataset's folder that its manifest does not name."""
    known = {*data.manifest.files, CARD, MANIFEST}
    names = (path.relative_to(data.path).as_posix() for path in sorted(data.path.rglob("*")))
    return [name for name in names if name not in known and (data.path / name).is_file()]
