"""check(): whether a dataset folder is sound. Files first, then rows, then descriptors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faithshift_data.atomic import sha256_file
from faithshift_data.dataset import locate
from faithshift_data.errors import InputError
from faithshift_data.folder import CARD, count_drops, count_labels, count_rows
from faithshift_data.hub import HubRepo
from faithshift_data.manifest import MANIFEST, DescriptorInfo, FileInfo, Manifest, inside
from faithshift_data.problems import Problem, capped
from faithshift_data.schema import CONFIGS, SPLITS
from faithshift_data.soundness import Tables, check_tables, check_values_of
from faithshift_data.tables import read_table
from faithshift_data.trajectories import FOLDER, INDEX, INDEX_SCHEMA, OFFSETS
from faithshift_data.withheld import check_withheld

# The Hub puts it into every repository.
ATTRIBUTES = ".gitattributes"
# What the Hub's client keeps beside the files that it downloads to a folder.
DOWNLOADED = ".cache/huggingface/"


def check(name_or_path: str | Path = "mini") -> list[Problem]:
    """Every problem of a dataset folder; an empty list if it is sound.

    Checked: the manifest and each file's sha256; schema and closed vocabularies; unique ids;
    pairs, anchors and evidence refer to rows that exist and agree; every partner has a pair;
    label rows and feature rows are disjoint; no item, question or near-duplicate in two parts;
    what an intervention changed follows from its answers; descriptors finite and exactly those of
    the traces; counts and licences in the manifest; where labels are withheld, that nothing of
    them is left.

    Of one kind of problem in one file, the first 20 are listed and the others counted. Where a
    table cannot be read, what would refer to its rows is not reported on top of it.

    Raises:
        InputError: there is no dataset at all.
    """
    place = locate(name_or_path)
    folder = place.fetch_all() if isinstance(place, HubRepo) else place
    try:
        manifest = Manifest.read(folder / MANIFEST)
    except InputError as error:
        return [Problem.of("manifest", error)]
    problems = list(_files(folder, manifest))
    tables: dict[str, dict[str, pa.Table]] = {config: {} for config in CONFIGS}
    hides = manifest.withheld is not None
    for config in CONFIGS:
        for split in SPLITS:
            name = f"{config}/{split}.parquet"
            if name in manifest.files and not (folder / name).exists():
                continue  # reported with the files
            try:
                tables[config][split] = read_table(inside(folder, name), config, withheld=hides)
            except InputError as error:
                problems.append(Problem.of("schema", error))
    alone = {config: by_split.keys() - tables["traces"] for config, by_split in tables.items()}
    problems += check_values_of({c: {s: tables[c][s] for s in alone[c]} for c in alone})
    problems += check_tables(
        {c: {s: t for s, t in tables[c].items() if s not in alone[c]} for c in tables},
        manifest.axis_names,
        {model.model_id for model in manifest.models},
    )
    problems += _licences(manifest, tables["traces"])
    if manifest.withheld is not None:
        problems += check_withheld(tables, manifest.withheld)
    if (folder / FOLDER).is_dir():
        problems += _trajectories(folder / FOLDER, manifest, tables)
    if all(len(tables[config]) == len(SPLITS) for config in CONFIGS):
        problems += _counts(manifest, tables)
    return list(capped(problems))


def _files(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    for name, info in sorted(manifest.files.items()):
        try:
            path = inside(folder, name)
        except InputError as error:
            yield Problem.of("files", error)
            continue
        if not path.is_file():
            yield Problem("files", "in the manifest, not in the folder", name)
        else:
            yield from _file(path, name, info)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(DOWNLOADED):
            continue
        if path.suffix == ".py":
            yield Problem("files", "a script; `datasets` would refuse the folder", name)
        elif path.is_file() and name not in (CARD, MANIFEST, ATTRIBUTES, *manifest.files):
            yield Problem("files", "in the folder, not in the manifest", name)
    if not (folder / CARD).is_file():
        yield Problem("files", "missing; `datasets` reads the configs from it", CARD)


def _file(path: Path, name: str, info: FileInfo) -> Iterator[Problem]:
    size = path.stat().st_size
    if size != info.bytes:
        yield Problem("hash", "wrong size", name, field="bytes", expected=info.bytes, got=size)
    digest = sha256_file(path)
    if digest != info.sha256:
        yield Problem("hash", "other content", name, None, "sha256", info.sha256, digest)
    elif path.suffix == ".parquet":
        try:
            rows = pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowException):
            yield Problem("files", "not a Parquet file", name)
            return
        if rows != info.rows:
            yield Problem("hash", "other row count", name, None, "rows", info.rows, rows)


def _counts(manifest: Manifest, tables: Tables) -> Iterator[Problem]:
    counted = {
        "label_counts": (manifest.label_counts, count_labels(tables["traces"])),
        "drops": (manifest.drops, count_drops(tables["pairs"])),
    }
    for name, tally in count_rows(tables).items():
        # Folders of an earlier version count less.
        if name in CONFIGS or name in manifest.counts:
            counted[f"counts.{name}"] = (manifest.counts.get(name, {}), tally)
    for field, (written, found) in counted.items():
        if written != found:
            yield Problem(
                "counts", "differs from the tables", MANIFEST, None, field, found, written
            )


def _licences(manifest: Manifest, traces: Mapping[str, pa.Table]) -> Iterator[Problem]:
    """A row has the licence that the manifest states for its source."""
    stated: dict[str, set[str | None]] = {}
    for source in manifest.sources:
        stated.setdefault(source.name, set()).add(source.licence)
    for split, table in traces.items():
        for row in table.group_by(["source", "licence"]).aggregate([]).to_pylist():
            known = stated.get(row["source"], {None})
            if None not in known and row["licence"] not in known:
                expected = f"{' or '.join(sorted(filter(None, known)))} of {row['source']}"
                file = f"traces/{split}.parquet"
                yield Problem(
                    "licence", "not its source's", file, None, "licence", expected, row["licence"]
                )


def _trajectories(folder: Path, manifest: Manifest, tables: Tables) -> Iterator[Problem]:
    file = f"{FOLDER}/{INDEX}"
    try:
        index = pq.read_table(folder / INDEX).cast(INDEX_SCHEMA).to_pylist()
    except (OSError, pa.ArrowInvalid, ValueError) as error:
        yield Problem("trajectories", f"cannot be read: {error}", file)
        return
    traces = {
        trace_id: split
        for split, table in tables["traces"].items()
        for trace_id in table["trace_id"].to_pylist()
    }
    unread = set(SPLITS) - set(tables["traces"])
    indexed = [row["trace_id"] for row in index]
    without = sorted(set(traces) - set(indexed))
    if len(without) != manifest.not_measured:
        for trace_id in without:
            yield Problem("trajectories", "a trace without descriptors", file, trace_id)
    shards: dict[str, dict[int, dict[str, object]]] = {}
    for row in index:
        trace_id = row["trace_id"]
        if trace_id not in traces and row["split"] in unread:
            pass
        elif trace_id not in traces:
            yield Problem("trajectories", "no such trace", file, trace_id, "trace_id")
        elif row["split"] != traces[trace_id]:
            expected = traces[trace_id]
            yield Problem("trajectories", "wrong", file, trace_id, "split", expected, row["split"])
        if row["row"] in shards.setdefault(row["shard"], {}):
            yield Problem("trajectories", "place taken twice", file, trace_id, "row")
        shards[row["shard"]][row["row"]] = row
    if len(set(indexed)) != len(indexed):
        yield Problem("trajectories", "a trace stands twice", file, field="trace_id")
    for shard, rows in sorted(shards.items()):
        yield from _shard(folder, shard, rows, manifest)
    for path in sorted(folder.glob("*.safetensors")):
        if path.name not in shards:
            yield Problem("trajectories", "not in the index", f"{FOLDER}/{path.name}")


def _shard(
    folder: Path, shard: str, rows: dict[int, dict[str, object]], manifest: Manifest
) -> Iterator[Problem]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    file = f"{FOLDER}/{shard}"
    if Path(shard).name != shard:
        yield Problem("trajectories", "path outside the folder", f"{FOLDER}/{INDEX}", got=shard)
        return
    try:
        tensors = load_file(inside(folder.parent, file))
    except InputError as error:
        yield Problem.of("trajectories", error)
        return
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        yield Problem("trajectories", f"cannot be read: {error}", file)
        return
    known = {OFFSETS, *manifest.descriptors}
    if set(tensors) != known:
        yield Problem(
            "trajectories", "other tensors", file, None, None, sorted(known), sorted(tensors)
        )
        return
    offsets = tensors[OFFSETS]
    lengths = np.diff(offsets)
    if offsets.ndim != 1 or offsets[:1].tolist() != [0] or (lengths < 0).any():
        yield Problem("trajectories", "not an offsets table", file, None, OFFSETS)
        return
    if sorted(rows) != list(range(len(lengths))):
        yield Problem(
            "trajectories", "rows differ from the index", file, None, "row", len(rows), len(lengths)
        )
        return
    for row, entry in rows.items():
        if entry["n_steps"] != lengths[row]:
            where = (f"{FOLDER}/{INDEX}", str(entry["trace_id"]), "n_steps")
            yield Problem("trajectories", "wrong", *where, int(lengths[row]), entry["n_steps"])
    for name, info in manifest.descriptors.items():
        yield from _tensor(file, name, tensors[name], info, offsets)


def _tensor(
    file: str, name: str, array: np.ndarray, info: DescriptorInfo, offsets: np.ndarray
) -> Iterator[Problem]:
    length = int(offsets[-1]) if info.resolution == "step" else len(offsets) - 1
    expected = (length, *info.shape)
    if array.shape != expected:
        yield Problem("trajectories", "wrong shape", file, None, name, expected, array.shape)
    elif str(array.dtype) != info.dtype:
        yield Problem("trajectories", "wrong dtype", file, None, name, info.dtype, array.dtype)
    elif not np.isfinite(array).all():
        bad = np.flatnonzero(~np.isfinite(array.reshape(length, -1)).all(axis=1))
        yield Problem("trajectories", "not finite", file, int(bad[0]), name, got=f"{len(bad)} rows")
