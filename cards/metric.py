"""The metric's card: README.md of the Space that ``evaluate.load`` and people read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from cards.render import fill, table

ROOT = Path(__file__).parent.parent
# What the page and the metric run on, of the known-good set of versions.
PINNED = ("gradio", "evaluate", "datasets", "huggingface_hub", "numpy", "scipy", "pyarrow")
ARGUMENT = re.compile(r"^        (\w+): (.*(?:\n {12}.*)*)", re.MULTILINE)


def metric_card() -> str:
    """The whole README.md of the Space: YAML front matter, then the card.

    Arguments and defaults are read off the function that computes the metric, versions off
    ``constraints.txt``.
    """
    from faithshift_bench import __version__
    from faithshift_bench.meta_faithfulness.compute import meta_faithfulness

    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(meta_faithfulness).parameters.items()
    }
    return fill(
        "metric.md",
        version=__version__,
        pinned=pinned_versions(),
        arguments=table(
            ["argument", "default", "what"], _arguments(inspect.getdoc(meta_faithfulness), defaults)
        ),
        alpha=defaults["alpha"],
        delta=defaults["delta"],
        citation=citation(),
    )


def pinned_versions() -> dict[str, str]:
    """Package -> version, of those that matter here."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    known = dict(line.split("==") for line in lines if "==" in line)
    return {name: known[name] for name in PINNED}


def citation() -> str:
    """BibTeX from ``CITATION.cff``."""
    import yaml

    found = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    authors = " and ".join(author["name"] for author in found["authors"])
    return "\n".join(
        [
            "@software{faithshift,",
            f"  title = {{{found['title']}}},",
            f"  author = {{{authors}}},",
            f"  version = {{{found['version']}}},",
            f"  license = {{{found['license']}}}",
            "}",
        ]
    )


def _arguments(doc: str | None, defaults: dict[str, object]) -> Iterator[tuple[str, str, str]]:
    block = (doc or "").partition("Args:\n")[2].partition("\n\n")[0]
    for name, what in ARGUMENT.findall(re.sub(r"^", "    ", block, flags=re.MULTILINE)):
        if name != "protocol":
            given = defaults[name]
            required = given is inspect.Parameter.empty or name in ("anchor_id", "axis", "kind")
            yield f"`{name}`", "" if required else f"`{given!r}`", what
