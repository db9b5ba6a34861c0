"""A dataset without the labels of test and calib, and the key that holds them.

The public folder keeps of a withheld trace what a detector reads, under ids that follow from a
secret salt alone. The key folder is the complete dataset with the same ids: scores made from the
one are evaluated with the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import faithshift_data as fd
from builders.content import content_baselines
from builders.descriptors import descriptors_of
from builders.items import PUBLISHED
from builders.probes import common_probes
from builders.secret import Salt
from cards import dataset_card
from faithshift_bench.evaluation import data_hash
from faithshift_data.atomic import new_folder
from faithshift_data.errors import InputError
from faithshift_data.folder import file_table, write_folder
from faithshift_data.manifest import MANIFEST, Manifest, Withheld
from faithshift_data.problems import Problem
from faithshift_data.schema import CONFIGS, SPLITS
from faithshift_data.views import TEXT
from faithshift_data.withheld import need_labels, part_of

Row = dict[str, Any]
Tables = dict[str, dict[str, list[Row]]]
PARTS = ("calib", "test")
# What a withheld trace keeps beside its ids: what a detector reads, and where it stands.
KEPT = (*TEXT, "split", "fold", "model_revision", "model_family", "answer_status")
# Settings that say nothing of which items were drawn.
SEEDS = ("attempts", "generation")
# What a manifest tells of all parts together, from which those of a part could be subtracted.
TOLD = ("counts", "label_counts", "drops", "screening", "audit", "seeds", "files", "draw_seed")


def withhold(
    folder: str | Path,
    public: str | Path,
    key: str | Path,
    *,
    salt: Salt | str | bytes,
    what: Sequence[str] = ("test", "calib"),
) -> Path:
    """Write the public folder and the key folder; both or none.

    Args:
        folder: a complete dataset, by name or path.
        public: a new folder, without the labels, conditions, pairs and label evidence of ``what``.
        key: a new folder, complete. It ignores itself in git; keep it off the Hub.
        salt: the secret; see ``builders.secret``.
        what: ``test``, ``calib`` or both. Certificates rest on calib: labels that an entrant could
            fit on there would make them void.

    Returns:
        The public folder.

    Raises:
        InputError: a salt that could be guessed, other parts, labels that are withheld already,
            traces without descriptors among others with them, or folders that lie in each other.
    """
    secret = _salt(salt)
    parts = tuple(part for part in PARTS if part in what)
    if not parts or set(what) - set(PARTS):
        raise InputError("unknown", field="what", expected=list(PARTS), got=list(what))
    public, key = Path(public), Path(key)
    _apart(public, key)
    data = fd.open(folder)
    for new in (public, key):
        if new.resolve().is_relative_to(data.path.resolve()):
            raise InputError("lies in the dataset", file=new, expected="a folder elsewhere")
    need_labels(data)
    if data.manifest.not_measured:
        message = "traces without descriptors would be told apart by it"
        raise InputError(message, file=data.path, expected="all measured", got="some not measured")
    names = _Names(secret, data, parts)
    complete = names.complete()
    arrays = descriptors_of(data)
    named = None if arrays is None else {names.trace(old): row for old, row in arrays.items()}
    with new_folder(public) as new_public, new_folder(key) as new_key:
        manifest = asdict(data.manifest) | {
            "files": {},
            "draw_seed": names.draw_seed(),
        }
        write_folder(new_key, manifest, complete, named, card=_key_card(data.manifest))
        (new_key / ".gitignore").write_text("*\n")
        whole = replace(Manifest.read(new_key / MANIFEST), files=file_table(new_key))
        rows, probes = names.public(complete)
        withheld = Withheld(
            parts=parts,
            probes=probes,
            commitment=_commitment(secret, whole),
            controls=content_baselines(data, parts),
        )
        told = {name: value for name, value in manifest.items() if name not in TOLD}
        seeds = {name: value for name, value in manifest["seeds"].items() if name in SEEDS}
        shown = told | {"withheld": withheld, "seeds": seeds}
        write_folder(new_public, shown, rows, named, card=dataset_card)
        made = Manifest.read(new_public / MANIFEST)
        replace(whole, key_of=data_hash(made.files)).write(new_key / MANIFEST)
        for path in (new_key, new_public):
            for problem in fd.check(path):
                raise InputError(f"not sound, nothing is written: {problem}", file=folder)
    key.chmod(0o700)
    return public


def check_key(
    public: str | Path, key: str | Path, *, salt: Salt | str | bytes | None = None
) -> list[Problem]:
    """Why a key is not that of a public folder; an empty list if it is.

    With the salt, the key is also held against what the public folder committed itself to.

    Raises:
        InputError: one of them is no dataset.
    """
    shown, whole = fd.open(public), fd.open(key)
    if shown.manifest.withheld is None:
        return [Problem("key", "withholds nothing", MANIFEST, field="withheld")]
    found, expected = whole.manifest.key_of, data_hash(shown.manifest.files)
    if found != expected:
        return [Problem("key", "of another folder", MANIFEST, None, "key_of", expected, found)]
    if salt is not None:
        committed, made = (
            shown.manifest.withheld.commitment,
            _commitment(_salt(salt), whole.manifest),
        )
        if committed != made:
            return [Problem("key", "altered", MANIFEST, None, "commitment", committed, made)]
    columns = ["trace_id", *TEXT]
    left, right = (data.table("traces").select(columns).to_pylist() for data in (shown, whole))
    other = {row["trace_id"]: row for row in right}
    return [
        Problem("key", "another trace than in the public folder", "traces", row["trace_id"])
        for row in left
        if row != other.get(row["trace_id"])
    ]


def public_source(folder: str | Path) -> str | None:
    """A warning where the dataset was built from a public preset, else None.

    Random ids hide nothing then: whoever has the published set, or builds it again, finds the
    labels by the texts.
    """
    preset = fd.open(folder).manifest.preset
    if preset not in PUBLISHED:
        return None
    return (
        f"warning: questions and texts of the preset {preset} are public, and tell the labels; "
        "for a board, build a secret preset"
    )


def _salt(value: Salt | str | bytes) -> Salt:
    return value if isinstance(value, Salt) else Salt(value)


def _commitment(salt: Salt, key: Manifest) -> str:
    return salt.digest("key", data_hash(key.files))


class _Names:
    """The new ids of withheld traces, and the tables that carry them."""

    def __init__(self, salt: Salt, data: fd.FaithShift, parts: Sequence[str]) -> None:
        self._salt, self._data, self._parts = salt, data, parts
        self._about = (data.manifest.name, data.manifest.version)
        traces = data.table("traces").to_pylist()
        self._gone = {row["trace_id"] for row in traces if self._hides(row)}
        licences = sorted({row["licence"] for row in traces if self._hides(row)})
        self._licence = " AND ".join(licences)

    def _hides(self, row: Row) -> bool:
        return part_of(row["split"], row["fold"]) in self._parts

    def _new(self, prefix: str, *parts: object) -> str:
        return f"{prefix}-{self._salt.digest(prefix, *self._about, *parts)[:32]}"

    def draw_seed(self) -> int:
        """Draws one calibration trace an item; an entrant who knew which could favour it."""
        return self._salt.number("draw", *self._about, bits=31)

    def trace(self, old: str) -> str:
        """The id that a trace has in both folders."""
        return self._new("t", old) if old in self._gone else old

    def complete(self) -> Tables:
        """All rows, those of withheld traces under their new ids."""
        return {
            config: {
                split: [
                    rename(row) if row[end] in self._gone else row
                    for row in self._data.table(config, split).to_pylist()
                ]
                for split in SPLITS
            }
            for config, end, rename in (
                ("traces", "trace_id", self._trace_row),
                ("pairs", "anchor_id", self._pair_row),
                ("interventions", "trace_id", self._intervention_row),
            )
        }

    def _trace_row(self, row: Row) -> Row:
        evidence = [
            self.trace(each) if each in self._gone else self._new("i", each)
            for each in row["label_evidence"]
        ]
        return row | {
            "trace_id": self.trace(row["trace_id"]),
            "anchor_id": row["anchor_id"] and self.trace(row["anchor_id"]),
            "label_evidence": sorted(evidence),
        }

    def _pair_row(self, row: Row) -> Row:
        ends = {end: self.trace(row[end]) for end in ("anchor_id", "partner_id")}
        return row | ends | {"pair_id": self._new("p", row["pair_id"])}

    def _intervention_row(self, row: Row) -> Row:
        names = self._new("i", row["intervention_id"]), self.trace(row["trace_id"])
        return row | dict(zip(("intervention_id", "trace_id"), names, strict=True))

    def public(self, complete: Tables) -> tuple[Tables, tuple[str, ...]]:
        """What is left without the labels, and the interventions that all such traces have."""
        hidden = {
            row["trace_id"]: row
            for rows in complete["traces"].values()
            for row in rows
            if self._hides(row)
        }
        features = [
            row
            for rows in complete["interventions"].values()
            for row in rows
            if row["trace_id"] in hidden
        ]
        back = {self.trace(old): old for old in self._gone}
        kept, probes = common_probes(hidden, features, back, self._new)
        found: Tables = {config: {} for config in CONFIGS}
        for split in SPLITS:
            found["traces"][split] = [
                self._shown(row) if row["trace_id"] in hidden else row
                for row in complete["traces"][split]
            ]
            found["pairs"][split] = [
                row for row in complete["pairs"][split] if row["anchor_id"] not in hidden
            ]
            found["interventions"][split] = [
                *(r for r in complete["interventions"][split] if r["trace_id"] not in hidden),
                *(r for r in kept if hidden[r["trace_id"]]["split"] == split),
            ]
        return found, probes

    def _shown(self, row: Row) -> Row:
        return {name: row[name] for name in KEPT} | {
            "trace_id": row["trace_id"],
            # An id of the item would join what differs in wording; scores need none.
            "item_id": self._new("q", row["trace_id"]),
            "licence": self._licence,
            "label_evidence": [],
        }


def _apart(public: Path, key: Path) -> None:
    left, right = public.resolve(), key.resolve()
    if left.is_relative_to(right) or right.is_relative_to(left):
        raise InputError("lies in the public folder, or this in it", file=key, field="key")


def _key_card(manifest: Manifest) -> str:
    return (
        f"# Key of {manifest.name} {manifest.version}\n\n"
        "All labels, also those that the public folder withholds. Do not publish it."
    )
