"""Questions of a dataset on the Hub, at one commit, or of a local copy in the same shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from builders.sources.given import SHAPE, Given, Unusable
from faithshift_data.errors import InputError, reason_of

if TYPE_CHECKING:
    from builders.presets.uses import SourceUse

Row = Mapping[str, Any]


@dataclass(frozen=True)
class HubSource:
    """A dataset of the Hub.

    Attributes:
        name: as presets name it, and the domain of its items.
        repo: ``ORG/NAME``.
        revision: the commit it is pinned to, 40 hex digits.
        configs: whose rows are read, in this order; a config is the task of its questions.
        split: that is read.
        licence: of the questions.
        columns: that a row must have.
        read: a row and its config -> the question; raises ``Unusable``.
    """

    name: str
    repo: str
    revision: str
    configs: tuple[str, ...]
    split: str
    licence: str
    columns: tuple[str, ...]
    read: Callable[[Row, str], Given]

    def questions(self, use: SourceUse, wanted: int, seed: int) -> Iterator[Given | Unusable]:
        """Every row of the configs that are asked for.

        Raises:
            InputError: the dataset is not there, has another shape, or has no such config.
        """
        for config in use.tasks or self.configs:
            if config not in self.configs:
                expected = ", ".join(self.configs)
                raise InputError(
                    "unknown", file=self.name, field="tasks", expected=expected, got=config
                )
            for row in self._rows(use, config):
                try:
                    yield self.read(row, config)
                except Unusable as reason:
                    yield reason
                except (TypeError, KeyError, AttributeError, IndexError):
                    yield Unusable(SHAPE)

    def stated(self, use: SourceUse) -> tuple[str, str, str]:
        """Repository, licence, and the commit and split, or that it is a local copy."""
        place = f"{self.repo}, split {self.split}"
        pinned = f"{place}, a local copy" if use.path else f"{place}, at {self.commit(use)}"
        return self.repo, self.licence, pinned

    def commit(self, use: SourceUse) -> str:
        """The commit that a use reads."""
        return use.revision or self.revision

    def _rows(self, use: SourceUse, config: str) -> Iterator[Row]:
        from datasets import load_dataset

        if use.path and not Path(use.path).is_dir():
            raise InputError("no such folder", file=use.path, expected=f"a copy of {self.repo}")
        where = use.path or self.repo
        with TemporaryDirectory() as aside:
            how: dict[str, Any] = {"revision": self.commit(use)}
            if use.path:
                # The usual cache takes two folders of one name for the same data.
                how = {"cache_dir": aside, "keep_in_memory": True}
            try:
                data = load_dataset(where, config, split=self.split, **how)
            except Exception as error:
                # The client has no common base for a dataset that is not there.
                raise InputError(f"cannot be read: {reason_of(error)}", file=where) from None
            lacking = [name for name in self.columns if name not in data.column_names]
            if lacking:
                got = ", ".join(data.column_names)
                raise InputError("missing column", file=where, expected=lacking[0], got=got)
            yield from data
