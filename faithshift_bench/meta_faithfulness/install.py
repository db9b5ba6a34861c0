"""Where the metric's script lies, and how `evaluate` finds it by its bare name."""

from __future__ import annotations

import os
from pathlib import Path

NAME = "meta_faithfulness"


def metric_path() -> str:
    """The script's folder: ``evaluate.load(metric_path())`` works without any installation."""
    return str(Path(__file__).parent)


def install_metric() -> Path:
    """Make ``evaluate.load("meta_faithfulness")`` work in any directory, offline.

    `evaluate` looks a bare name up in the working directory, on the Hub, and then in its cache of
    modules; this puts the script into that cache, once a ``HF_HOME``. The copy only names the
    class in the package, so that an upgrade of the package needs no second call. Without
    ``HF_EVALUATE_OFFLINE=1`` a load first waits for the Hub not to answer.

    Returns:
        The installed file.
    """
    from datasets import DownloadMode
    from evaluate.loading import _create_importable_file, init_dynamic_modules

    cache = init_dynamic_modules()
    module, _ = _create_importable_file(
        local_path=str(Path(metric_path()) / f"{NAME}.py"),
        local_imports=[],
        additional_files=[],
        dynamic_modules_path=cache,
        module_namespace="metrics",
        name=f"evaluate-metric/{NAME}",
        download_mode=DownloadMode.REUSE_DATASET_IF_EXISTS,
    )
    installed = Path(cache).parent.joinpath(*module.split(".")).with_suffix(".py")
    # Among several copies `evaluate` takes the one that was written last.
    os.utime(installed)
    return installed
