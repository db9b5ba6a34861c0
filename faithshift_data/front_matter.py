"""The YAML block at the top of a dataset's README.md, which the Hub and ``datasets`` read."""

from __future__ import annotations

from typing import Any

from faithshift_data.manifest import Manifest
from faithshift_data.schema import CONFIGS, SPLITS

# Licences that the Hub knows by these ids; any other is `other` with its name.
HUB_LICENCES = (
    "apache-2.0",
    "cc-by-4.0",
    "cc-by-nc-4.0",
    "cc-by-sa-4.0",
    "cc0-1.0",
    "mit",
    "odc-by",
)
TAGS = ("chain-of-thought", "faithfulness", "benchmark", "interpretability")
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"))


def front_matter(manifest: Manifest) -> str:
    """The block with its fences: licence, languages, size, tags, and ``configs``.

    ``traces`` is the default config. A split without rows, by the manifest's ``counts``, is not
    named in it, since ``datasets`` fails on empty splits.
    """
    import yaml

    rows = {config: manifest.counts.get(config, {}) for config in CONFIGS}
    front: dict[str, Any] = {"pretty_name": manifest.name}
    if manifest.licence:
        name = manifest.licence.lower()
        known = name in HUB_LICENCES
        front |= {"license": name} if known else {"license": "other", "license_name": name}
    if manifest.languages:
        front["language"] = list(manifest.languages)
    front["size_categories"] = [_size(sum(rows["traces"].values()))]
    front["task_categories"] = ["text-classification"]
    front["tags"] = list(TAGS)
    front["configs"] = [
        {
            "config_name": config,
            **({"default": True} if config == "traces" else {}),
            "data_files": [
                {"split": split, "path": f"{config}/{split}.parquet"}
                for split in SPLITS
                if rows[config].get(split)
            ],
        }
        for config in CONFIGS
        if any(rows[config].values())
    ]
    text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    return f"---\n{text}---\n"


def _size(n: int) -> str:
    return next((name for limit, name in _SIZES if n < limit), "1M<n<10M")
