"""A set for a leaderboard: built from a secret salt, then parted into public folder and key."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from builders.presets import Preset
from builders.secret import Salt
from builders.shards import Shard
from builders.weights import Weights
from builders.withhold import withhold
from faithshift_data.atomic import is_free
from faithshift_data.errors import InputError


def build_board(
    preset: Preset,
    models: tuple[Weights, ...],
    out: Path,
    *,
    salt: Salt,
    workers: int,
    shard: Shard | None = None,
) -> str:
    """Build a secret preset.

    The public folder is ``out``, the key ``<out>.key``. Chunks lie in ``<out>.complete.work``,
    as secret as the key; a build resumes from them.

    Args:
        preset: a secret one, as loaded.
        models: as of any build.
        out: the new public folder.
        salt: draws the items and all ids.
        workers: processes.
        shard: make only this machine's chunks; every machine needs the same salt.

    Returns:
        A line that says what is where.

    Raises:
        InputError: a folder that is there already.
    """
    from builders.stages import build, build_shard

    complete, key = (out.with_name(out.name + end) for end in (".complete", ".key"))
    for folder in (out, key):
        if not is_free(folder):
            raise InputError("already exists", file=folder, expected="a new folder")
    salted = replace(preset, item_seed=salt.number("items", preset.name, preset.version))
    if shard is not None:
        return build_shard(salted, models, complete, workers=workers, shard=shard)
    if is_free(complete):
        build(salted, models, complete, workers=workers)
    withhold(complete, out, key, salt=salt)
    shutil.rmtree(complete)
    return f"{out}\n{key} (labels: never commit or publish it)"
