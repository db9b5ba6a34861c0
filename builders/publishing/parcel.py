"""What is published: the files of one version, checked before anything leaves the machine."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import faithshift_data as fd
from faithshift_data.atomic import canonical_json, sha256_file
from faithshift_data.errors import InputError
from faithshift_data.folder import CARD
from faithshift_data.manifest import MANIFEST, Manifest

REPO_TYPES = {"dataset": "dataset", "metric": "space", "detector": "model"}
METRIC = "meta_faithfulness"
SCRIPT = f"faithshift_bench/{METRIC}/{METRIC}.py"
WHEEL = re.compile(r"faithshift-(?P<version>[^-]+)-py3-none-any\.whl")
TAG = re.compile(r"v\d[0-9A-Za-z]*(?:[.\-+_][0-9A-Za-z]+)*")
# The folders of an ensemble's members.
MEMBER = re.compile(r"^(member-\d\d/)+")
SPACE = Path(__file__).with_name("space")


@dataclass(frozen=True)
class Parcel:
    """One version of a repository.

    Attributes:
        kind: dataset, metric or detector.
        tag: the version's name in the repository.
        mark: a file that every version of this kind has; a repository without it, yet with other
            files, is something else.
        files: path in the repository -> a local file, or bytes.
        withheld: parts of a dataset whose labels are not in it.
    """

    kind: str
    tag: str
    mark: str
    files: Mapping[str, Path | bytes]
    withheld: tuple[str, ...] = ()

    @property
    def repo_type(self) -> str:
        """dataset, space or model."""
        return REPO_TYPES[self.kind]

    @cached_property
    def sha256(self) -> dict[str, str]:
        """Path in the repository -> hex sha256 of its bytes, as they were when first asked for."""
        return {
            name: hashlib.sha256(file).hexdigest() if isinstance(file, bytes) else sha256_file(file)
            for name, file in self.files.items()
        }

    def size(self) -> int:
        """Bytes of all files."""
        return sum(
            len(f) if isinstance(f, bytes) else f.stat().st_size for f in self.files.values()
        )


def pack(what: Path, repo: str, tag: str | None) -> Parcel:
    """The parcel of a dataset folder, a saved detector's folder, or the wheel of this package.

    Args:
        what: the folder, or the wheel that ``python -m build --wheel`` made: it becomes the metric.
        repo: ``ORG/NAME`` on the Hub.
        tag: the version's name; may be left out where what is published has a version.

    Raises:
        InputError: it is none of the three, it is not sound, or its version has another name.
    """
    if what.suffix == ".whl":
        return _metric(what, repo, tag)
    if (what / MANIFEST).is_file() and not (what / "detector.json").is_file():
        return _dataset(what, tag)
    if (what / "detector.json").is_file():
        return _detector(what, tag)
    expected = "a dataset folder, a saved detector's folder, or the wheel"
    raise InputError("nothing that can be published", file=what, expected=expected)


def _dataset(folder: Path, tag: str | None) -> Parcel:
    from cards import dataset_card

    problems = fd.check(folder)
    # The card is rendered anew below, so that a missing or stale one is no obstacle.
    problems = [problem for problem in problems if problem.file != CARD]
    if problems:
        hint = f"{len(problems)} problems, `faithshift check` shows all; the first is {problems[0]}"
        raise InputError(f"not sound: {hint}", file=folder)
    manifest = Manifest.read(folder / MANIFEST)
    if manifest.key_of is not None:
        raise InputError("the key to withheld labels, never to be published", file=folder)
    files: dict[str, Path | bytes] = {name: folder / name for name in manifest.files}
    files |= {MANIFEST: folder / MANIFEST, CARD: dataset_card(folder).encode()}
    withheld = () if manifest.withheld is None else tuple(manifest.withheld.parts)
    return Parcel("dataset", _version_tag(manifest.version, tag), MANIFEST, files, withheld)


def _metric(wheel: Path, repo: str, tag: str | None) -> Parcel:
    from huggingface_hub import constants

    from cards import metric_card
    from faithshift_bench import __version__

    named = WHEEL.fullmatch(wheel.name)
    if named is None or named["version"] != __version__:
        expected = f"faithshift-{__version__}-py3-none-any.whl, of `python -m build --wheel`"
        raise InputError("not the wheel of this package", file=wheel, expected=expected)
    if repo.split("/")[-1] != METRIC:
        message = "`evaluate` looks for a script of the repository's name"
        raise InputError(message, field="--repo", expected=f"ORG/{METRIC}", got=repo)
    try:
        script = zipfile.ZipFile(wheel).read(SCRIPT).decode()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"not the wheel of this package: {error}", file=wheel) from None
    tag = _version_tag(named["version"], tag)
    url = f"{constants.ENDPOINT}/spaces/{repo}/resolve/{tag}/{wheel.name}"
    need = f"faithshift @ {url}\n"
    files: dict[str, Path | bytes] = {
        # What `evaluate` tells people to install who do not have the package.
        f"{METRIC}.py": script.replace("# From: faithshift", f"# From: {url}").encode(),
        "app.py": SPACE / "app.py",
        "requirements.txt": need.encode(),
        CARD: metric_card().replace(f"ORG/{METRIC}", repo).encode(),
        wheel.name: wheel,
    }
    return Parcel("metric", tag, f"{METRIC}.py", files)


def _detector(folder: Path, tag: str | None) -> Parcel:
    if tag is None:
        raise InputError("a fitted detector has no version of its own", field="--revision")
    from cards import detector_card
    from faithshift_bench.detectors import load_saved
    from faithshift_bench.detectors.base import ARRAYS, DESCRIPTION, REPORT

    parts = (ARRAYS, DESCRIPTION, REPORT)
    found = (p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*")) if not p.is_dir())
    names = [name for name in found if name not in (CARD, MANIFEST)]
    for name in names:
        if MEMBER.sub("", name) not in parts:
            message = "not part of a saved detector"
            raise InputError(message, file=folder / name, expected=sorted(parts))
    detector = load_saved(folder)
    about = {
        "name": detector.name,
        "revision": detector.revision,
        "needs": list(detector.needs),
        "reads_label_evidence": detector.reads_label_evidence,
        "files": {
            name: {"sha256": sha256_file(folder / name), "bytes": (folder / name).stat().st_size}
            for name in names
        },
    }
    files: dict[str, Path | bytes] = {name: folder / name for name in names}
    files |= {MANIFEST: canonical_json(about).encode(), CARD: detector_card(folder).encode()}
    return Parcel("detector", tag, DESCRIPTION, files)


def _version_tag(version: str, tag: str | None) -> str:
    """``v`` and the version: a version has one name, so that it cannot be published twice."""
    expected = f"v{version}"
    if not TAG.fullmatch(expected):
        what = "digits, letters and single dots, such as 1.0"
        raise InputError(
            "not a version", file=MANIFEST, field="version", expected=what, got=version
        )
    if tag not in (None, expected):
        message = "not the version of what is published"
        raise InputError(message, field="--revision", expected=expected, got=tag)
    return expected
