"""open() a dataset folder: the one object that joins its tables, descriptors and manifest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from faithshift_data.errors import InputError
from faithshift_data.folder import CARD
from faithshift_data.folder import write_folder as write_folder
from faithshift_data.hub import HubRepo, hub_name
from faithshift_data.manifest import MANIFEST, Manifest
from faithshift_data.schema import CONFIGS, SPLITS
from faithshift_data.tables import read_table
from faithshift_data.trajectories import FOLDER, INDEX, Trajectories
from faithshift_data.verified import VerifiedFiles
from faithshift_data.views import View, make_view

if TYPE_CHECKING:
    import datasets

EMBEDDED = Path(__file__).parent / "embedded"


@dataclass(frozen=True)
class FaithShift:
    """A dataset folder. Files are verified and read when first asked for, and once.

    A file whose sha256 is not that of the manifest is refused, whatever is read from it. Of a
    dataset on the Hub, ``path`` is a folder of the client's cache, and a file is downloaded into
    it when something is first read from it.
    """

    path: Path
    manifest: Manifest
    _repo: HubRepo | None = field(default=None, repr=False, compare=False)
    _read: dict[tuple[str, str], pa.Table] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The manifest's name."""
        return self.manifest.name

    def table(self, config: str, split: str | None = None) -> pa.Table:
        """A table without importing ``datasets``.

        Args:
            config: ``traces``, ``pairs`` or ``interventions``.
            split: one split, or None for all, in the order train, validation, test.
        """
        _known("config", config, CONFIGS)
        if split is None:
            return pa.concat_tables([self.table(config, each) for each in SPLITS])
        _known("split", split, SPLITS)
        if (config, split) not in self._read:
            file = self._files.path(f"{config}/{split}.parquet")
            withheld = self.manifest.withheld is not None
            self._read[config, split] = read_table(file, config, withheld=withheld)
        return self._read[config, split]

    @cached_property
    def traces(self) -> datasets.DatasetDict:
        """The traces as a ``datasets.DatasetDict`` of the three splits."""
        return self._dataset("traces")

    @cached_property
    def pairs(self) -> datasets.DatasetDict:
        """The pairs as a ``datasets.DatasetDict`` of the three splits."""
        return self._dataset("pairs")

    @cached_property
    def interventions(self) -> datasets.DatasetDict:
        """The interventions as a ``datasets.DatasetDict`` of the three splits."""
        return self._dataset("interventions")

    @property
    def has_trajectories(self) -> bool:
        """Whether there are descriptors."""
        return f"{FOLDER}/{INDEX}" in self.manifest.files

    @property
    def card(self) -> str:
        """The text of README.md; empty where there is none."""
        if self._repo is not None:
            self._repo.fetch(CARD)
        path = self.path / CARD
        return path.read_text("utf-8") if path.is_file() else ""

    @cached_property
    def trajectories(self) -> Trajectories:
        """The descriptors by trace_id.

        Raises:
            InputError: the folder has none.
        """
        if not self.has_trajectories:
            message = "this dataset has no trajectories; `faithshift measure` adds them"
            raise InputError(message, file=self.path)
        return Trajectories(self._files, self.manifest.descriptors)

    def view(
        self,
        split: str,
        fold: str | None = None,
        needs: Sequence[str] = ("text",),
        *,
        only: Collection[str] | None = None,
    ) -> View:
        """What a detector may see of a split, or of one fold of validation; see ``View``.

        Traces that the manifest counts as not measured are left out where descriptors or states
        are needed.

        Args:
            split: ``train``, ``validation`` or ``test``.
            fold: ``tune`` or ``calib``, only with ``validation``.
            needs: any of ``text``, ``interventions``, ``descriptors``, ``states``,
                ``environments`` (readable in train and tune), and ``true_environments``, which no
                detector has outside an experiment.
            only: trace ids; other traces of the split are left out.
        """
        return make_view(self, split, fold, tuple(needs), only)

    def with_train(self, split: str) -> FaithShift:
        """The same data with another split in the place of train, for studies of transfer."""
        swapped = {(config, "train"): self.table(config, split) for config in CONFIGS}
        return replace(self, _read={**self._read, **swapped})

    @cached_property
    def _files(self) -> VerifiedFiles:
        return VerifiedFiles(self.path, self.manifest.files, self._repo)

    def _dataset(self, config: str) -> datasets.DatasetDict:
        import datasets

        return datasets.DatasetDict(
            {split: _to_dataset(self.table(config, split), split) for split in SPLITS}
        )


def _to_dataset(table: pa.Table, split: str) -> Any:
    import datasets
    from datasets.table import InMemoryTable

    features = datasets.Features.from_arrow_schema(table.schema)
    plain = InMemoryTable(table.cast(features.arrow_schema))
    return datasets.Dataset(plain, split=datasets.NamedSplit(split))


def open(name_or_path: str | Path = "mini", *, revision: str | None = None) -> FaithShift:
    """Open an embedded dataset by name, a folder by path, or a Hub dataset by ``ORG/NAME``.

    An embedded name wins over a folder of that name; write ``./mini`` for the folder. Of a Hub
    dataset the manifest alone is downloaded, and the other files when they are read.

    Args:
        name_or_path: name, path, ``ORG/NAME`` or ``ORG/NAME@REVISION``.
        revision: Hub commit, tag or branch; only for a Hub dataset.

    Raises:
        InputError: nothing is found there, it has no sound manifest, or a file that the manifest
            names is outside the folder or missing; of a Hub dataset also where it is gated or
            private, or the Hub cannot be reached.
    """
    place = locate(name_or_path, revision)
    repo = place if isinstance(place, HubRepo) else None
    folder = place.folder if isinstance(place, HubRepo) else place
    found = FaithShift(folder, Manifest.read(folder / MANIFEST), repo)
    found._files  # noqa: B018 - refuses a manifest that does not fit the folder
    return found


def path(name: str = "mini") -> Path:
    """The folder of an embedded dataset.

    Raises:
        InputError: no such embedded dataset.
    """
    if name not in embedded():
        raise InputError("no such embedded dataset", expected=embedded(), got=name)
    return EMBEDDED / name


def embedded() -> list[str]:
    """Names of the datasets that ship with the package."""
    return sorted(file.parent.name for file in EMBEDDED.glob(f"*/{MANIFEST}"))


def locate(name_or_path: str | Path, revision: str | None = None) -> Path | HubRepo:
    """What ``open`` would open: a folder, or a repository; its manifest is not read."""
    name = str(name_or_path)
    if name in embedded() or Path(name).is_dir():
        if revision is not None:
            raise InputError("only a Hub dataset has revisions", field="revision", got=revision)
        return EMBEDDED / name if name in embedded() else Path(name)
    on_hub = hub_name(name, revision)
    if on_hub is not None:
        return HubRepo.open(*on_hub)
    raise InputError("no such dataset", file=name, expected=f"a folder or one of {embedded()}")


def load(name_or_path: str | Path = "mini", **options: Any) -> datasets.DatasetDict:
    """The traces of ``open(...)`` as a ``datasets.DatasetDict``."""
    return open(name_or_path, **options).traces


def load_pairs(name_or_path: str | Path = "mini", **options: Any) -> datasets.DatasetDict:
    """The pairs of ``open(...)`` as a ``datasets.DatasetDict``."""
    return open(name_or_path, **options).pairs


def load_interventions(name_or_path: str | Path = "mini", **options: Any) -> datasets.DatasetDict:
    """The interventions of ``open(...)`` as a ``datasets.DatasetDict``."""
    return open(name_or_path, **options).interventions


def load_trajectories(name_or_path: str | Path = "mini", **options: Any) -> Trajectories:
    """The descriptors of ``open(...)``, by trace_id."""
    return open(name_or_path, **options).trajectories


def _known(what: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError("unknown", field=what, expected=list(allowed), got=value)
