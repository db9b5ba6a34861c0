"""Round trips through a Hub: dataset, metric and detector, as their users then load them."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

import faithshift_data as fd
from faithshift_bench.detectors import load_detector
from faithshift_bench.meta_faithfulness import metric_path
from tests.builders.publishing import publish, published
from tests.conftest import Online
from tests.hub.server import READER, TOKEN
from tests.synthetic import write_synthetic

LOG = """\
checked: {what}: {kind}, {n} files, {size:,} bytes
repository: {repo}, public, new
uploaded
committed: {commit}
verified: {verified}
tagged: {tag}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_synthetic(tmp_path_factory.mktemp("small") / "data", 20)


@pytest.fixture(scope="module")
def detector(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    view = fd.open(data).view("train", needs=("text",))
    return load_detector("biasing").fit(view, seed=0).save(tmp_path_factory.mktemp("detector"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What of the package's wheel the metric needs."""
    path = tmp_path_factory.mktemp("dist") / "faithshift-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.write(
            Path(metric_path()) / "meta_faithfulness.py",
            "faithshift_bench/meta_faithfulness/meta_faithfulness.py",
        )
    return path


def test_a_dataset_goes_there_and_back(online: Online, data: Path, tmp_path: Path) -> None:
    hub = online.hub
    done = published(online, data, "org/faithshift", "--revision", "v0.1.0", folder=tmp_path)
    repo = hub.store.repos["dataset", "org/faithshift"]
    commit = repo.tags["v0.1.0"]
    assert repo.branches == {"main": commit} and len(repo.commits) == 2
    assert done.out == f"dataset org/faithshift v0.1.0 {commit}\n"
    files = hub.store.contents(repo)
    rows = sum(
        fd.open(data).table(config).num_rows for config in ("traces", "pairs", "interventions")
    )
    assert done.err == LOG.format(
        what=data, kind="dataset", repo="org/faithshift", commit=commit, tag="v0.1.0",
        n=len(files), size=sum(map(len, files.values())),
        verified=f"{len(files)} files by sha256, {rows} rows by load_dataset",
    )  # fmt: skip
    for name, content in files.items():
        if name != "README.md":
            assert content == (data / name).read_bytes(), name
    code = f"""
import datasets, faithshift_data as fd
local = fd.open({str(data)!r})
for revision in ("v0.1.0", None):
    for config in ("traces", "pairs", "interventions"):
        loaded = datasets.load_dataset("org/faithshift", config, revision=revision)
        for split, rows in loaded.items():
            assert rows.to_list() == local.table(config, split).to_pylist(), (config, split)
assert datasets.load_dataset("org/faithshift").num_rows == {{
    split: local.table("traces", split).num_rows for split in ("train", "validation", "test")
}}
there = fd.open("org/faithshift", revision="v0.1.0")
assert there.manifest == local.manifest
assert fd.check("org/faithshift") == []
"""
    done = online.client.python(code, tmp_path, HF_TOKEN="")
    assert done.status == 0, done.err


def test_a_new_version_replaces_the_old_one_on_main_and_leaves_its_tag(
    online: Online, data: Path, tmp_path: Path
) -> None:
    published(online, data, "org/faithshift", folder=tmp_path)
    repo = online.hub.store.repos["dataset", "org/faithshift"]
    old = online.hub.store.contents(repo)
    shutil.copytree(data, tmp_path / "next")
    shutil.rmtree(tmp_path / "next" / "trajectories")
    manifest = json.loads((data / "manifest.json").read_text())
    kept = {n: f for n, f in manifest["files"].items() if not n.startswith("trajectories/")}
    manifest |= {"files": kept, "descriptors": {}}
    (tmp_path / "next" / "manifest.json").write_text(json.dumps(manifest))
    before = dict(repo.branches)
    refused = online.client.builders("publish", "next", "--repo", "org/faithshift", folder=tmp_path)
    assert refused.status == 1 and refused.out == ""
    assert refused.err.splitlines()[-1] == (
        "error: org/faithshift, field --revision: this version is published, and is not "
        "overwritten; give it a new version (got v0.1.0)"
    )
    assert repo.branches == before and online.hub.store.contents(repo) == old
    manifest["version"] = "0.2.0"
    (tmp_path / "next" / "manifest.json").write_text(json.dumps(manifest))
    done = published(online, tmp_path / "next", "org/faithshift", folder=tmp_path)
    assert "no longer on main: trajectories/" in done.err
    assert online.hub.store.contents(repo, "v0.1.0") == old
    assert set(online.hub.store.contents(repo)) == {*kept, "manifest.json", "README.md"}
    assert set(repo.tags) == {"v0.1.0", "v0.2.0"} and len(repo.commits) == 3


def test_a_private_dataset_is_seen_with_a_token_only(
    online: Online, data: Path, tmp_path: Path
) -> None:
    done = published(online, data, "org/hidden", "--private", folder=tmp_path)
    assert "repository: org/hidden, private, new\n" in done.err
    code = "import faithshift_data as fd; print(fd.open('org/hidden').name)"
    assert online.client.python(code, tmp_path, HF_TOKEN=READER).out == "synthetic\n"
    # Another cache: what was downloaded with a token is there without one.
    online.hub.store.create("dataset", "org/other", private=True)
    stranger = online.client.python(code.replace("hidden", "other"), tmp_path, HF_TOKEN="")
    assert stranger.status == 1 and "if it is private" in stranger.err.splitlines()[-1]
    online.hub.store.create("dataset", "org/open")
    done = online.client.builders(
        "publish", data, "--repo", "org/open", "--private", folder=tmp_path
    )
    assert done.status == 1
    assert done.err.endswith(
        "error: org/open, field --private: this repository is public; nothing was sent\n"
    )
    assert online.hub.calls()["preupload"] == 1


def test_a_detector_goes_there_and_back(
    online: Online, data: Path, detector: Path, tmp_path: Path
) -> None:
    done = published(online, detector, "org/biasing", "--revision", "v1", folder=tmp_path)
    repo = online.hub.store.repos["model", "org/biasing"]
    files = online.hub.store.contents(repo, "v1")
    assert set(files) == {"arrays.safetensors", "detector.json", "manifest.json", "README.md"}
    assert f"verified: {len(files)} files by sha256, biasing by load\n" in done.err
    about = json.loads(files["manifest.json"])
    assert about["name"] == "biasing" and set(about["files"]) == {
        "arrays.safetensors",
        "detector.json",
    }
    code = f"""
import faithshift_data as fd, huggingface_hub as hub, numpy as np
from faithshift_bench import load_detector
view = fd.open({str(data)!r}).view("test")
there = load_detector("biasing").load(hub.snapshot_download("org/biasing", revision="v1"))
here = load_detector("biasing").load({str(detector)!r})
assert np.array_equal(there.score(view), here.score(view))
"""
    done = online.client.python(code, tmp_path)
    assert done.status == 0, done.err


def test_the_metric_is_loaded_by_its_name_on_the_hub(
    online: Online, wheel: Path, tmp_path: Path
) -> None:
    hub = online.hub
    published(online, wheel, "org/meta_faithfulness", folder=tmp_path)
    repo = hub.store.repos["space", "org/meta_faithfulness"]
    files = hub.store.contents(repo, "v0.1.0")
    assert set(files) == {
        *("app.py", "README.md", "requirements.txt", "meta_faithfulness.py"),
        wheel.name,
    }
    need = files["requirements.txt"].decode().strip()
    assert need.startswith("faithshift @ ")
    url = need.removeprefix("faithshift @ ")
    assert f"# From: {url}\n".encode() in files["meta_faithfulness.py"]
    for key in ("sdk: gradio", "app_file: app.py", "python_version:", "tags:"):
        assert key in files["README.md"].decode().split("---")[1], key
    (tmp_path / "app.py").write_bytes(files["app.py"])
    code = f"""
import sys, urllib.request, evaluate
sys.path.insert(0, ".")
from app import COLUMNS, EXAMPLE, score
columns = dict(zip(COLUMNS, map(list, zip(*EXAMPLE))))
for options in ({{}}, {{"revision": "v0.1.0"}}):
    metric = evaluate.load("org/meta_faithfulness", **options)
    result = metric.compute(**columns)
    assert (round(result["mfs"], 4), result["ivr"], result["as"]) == (0.6667, 0.0, 0.5), result
shown = score([*EXAMPLE, [""] * 7], 0.5)
assert {{name: shown[name] for name in result}} == result
assert score([["x"] * 7], 0.5)["error"]
with urllib.request.urlopen({url!r}) as answer:
    print(len(answer.read()))
"""
    done = online.client.python(code, tmp_path, HF_TOKEN="")
    assert done.status == 0, done.err
    assert done.out == f"{wheel.stat().st_size}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["mine", "--repo", "org/x"], r"mine: nothing that can be published \(expected a dataset"),
        (["DATA", "--repo", "org"], r"field --repo: not a repository \(expected ORG/NAME, got org"),
        (["DATA", "--repo", "org/x", "--revision", "main"], r"not a version .*got main"),
        (["DATA", "--repo", "org/x", "--revision", "v9"], r"expected v0.1.0, got v9"),
        (["DETECTOR", "--repo", "org/x"], r"field --revision: a fitted detector has no version"),
        (["WHEEL", "--repo", "org/metric"], r"field --repo: .*expected ORG/meta_faithfulness"),
        (
            ["AS ../x", "--repo", "org/x"],
            r"manifest.json, field version: not a version .*got \.\./x",
        ),
        (["AS v9", "--repo", "org/x"], r"manifest.json, field version: not a version .*got v9"),
        (["BROKEN", "--repo", "org/x"], r"not sound: \d+ problems, .* the first is hash: "),
        (["DATA", "--repo", "here/data"], r"here/data: stands in this directory"),
    ],
)
def test_what_cannot_be_published_never_reaches_the_hub(
    online: Online, data: Path, detector: Path, wheel: Path, tmp_path: Path, arguments, line
) -> None:
    (tmp_path / "here" / "data").mkdir(parents=True)
    known = {"DATA": data, "DETECTOR": detector, "WHEEL": wheel, "BROKEN": tmp_path / "broken"}
    if "BROKEN" in arguments:
        shutil.copytree(data, tmp_path / "broken")
        with open(tmp_path / "broken" / "pairs" / "test.parquet", "ab") as file:
            file.write(b"more")
    if arguments[0].startswith("AS "):
        known[arguments[0]] = _version(data, tmp_path / "other", arguments[0].removeprefix("AS "))
    words = [known.get(word, word) for word in arguments]
    done = online.client.builders("publish", *words, folder=tmp_path)
    assert done.status == 1 and done.out == "" and done.err.count("\n") == 1
    assert re.search(line, done.err), done.err
    assert online.hub.seen == []


@pytest.mark.parametrize("token", ["", "hf_wrongTokenDoNotPrint", READER, TOKEN + " é"])
def test_a_token_that_may_not_write_is_refused_at_once_and_not_shown(
    online: Online, detector: Path, tmp_path: Path, token: str
) -> None:
    words = ["publish", detector, "--repo", "org/biasing", "--revision", "v1"]
    done = online.client.builders(*words, folder=tmp_path, HF_TOKEN=token)
    assert done.status == 1 and done.out == ""
    assert "DoNotPrint" not in done.err and "Traceback" not in done.err
    assert "error: " in done.err.splitlines()[-1] and "token" in done.err.splitlines()[-1]
    assert not online.hub.store.repos and len(online.hub.seen) <= 2


def test_a_repository_of_something_else_is_left_alone(
    online: Online, detector: Path, tmp_path: Path
) -> None:
    store = online.hub.store
    repo = store.create("model", "org/biasing")
    store.commit(repo, {"model.bin": b"\0weights", "README.md": b"# Theirs\n"})
    before = store.contents(repo)
    words = ["publish", detector, "--repo", "org/biasing", "--revision", "v1"]
    done = online.client.builders(*words, folder=tmp_path)
    assert done.status == 1
    assert done.err.splitlines()[-1] == (
        "error: org/biasing: holds something else than a detector of FaithShift, and is left so "
        "(expected detector.json, got README.md)"
    )
    assert store.contents(repo) == before and not repo.tags


def test_withheld_labels_stay_at_home(online: Online, data: Path, tmp_path: Path) -> None:
    salt, key = tmp_path / "salt", tmp_path / "key"
    salt.write_text("0123456789abcdef" * 4)
    words = ("--withhold-labels", "test,calib", "--key", str(key), "--salt-file", str(salt))
    fault = online.hub.fail("commit", status=403)
    whole = _version(data, tmp_path / "whole", "0.1.0", preset="mini")
    failed = publish(online, whole, "org/hidden", *words, folder=tmp_path)
    assert failed.status == 1 and fault.struck
    kept = (key / "manifest.json").read_bytes()
    done = published(online, whole, "org/hidden", *words, folder=tmp_path)
    assert (key / "manifest.json").read_bytes() == kept
    line = f"withheld: labels of test and calib; {key} holds them, never publish it\n"
    for each in (failed, done):
        assert line in each.err and salt.read_text() not in each.err
        assert "warning: questions and texts of the preset mini are public" in each.err
    repo = online.hub.store.repos["dataset", "org/hidden"]
    assert len(repo.commits) == 2
    (tmp_path / "got").mkdir()
    for name, content in online.hub.store.contents(repo).items():
        (tmp_path / "got" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "got" / name).write_bytes(content)
    assert fd.check(tmp_path / "got") == []
    for row in fd.open(tmp_path / "got").table("traces").to_pylist():
        hidden = row["split"] == "test" or row["fold"] == "calib"
        assert (row["condition"] is None) == hidden and (row["label"] is None or not hidden)
    labels = {r["trace_id"]: r["label"] for r in fd.open(key).table("traces", "test").to_pylist()}
    shown = fd.open(tmp_path / "got").table("traces", "test")["trace_id"].to_pylist()
    assert set(labels) == set(shown) and {0, 1} <= set(labels.values())
    for what, line in (
        (key, "the key to withheld labels, never to be published"),
        (_version(data, tmp_path / "open", "0.2.0"), "withholds labels of calib and test, which"),
    ):
        done = publish(online, what, "org/hidden", folder=tmp_path)
        assert done.status == 1 and line in done.err, done.err
    assert len(repo.commits) == 2


def _version(data: Path, folder: Path, version: str, preset: str | None = None) -> Path:
    """The same data under another version, and said to be of a preset."""
    shutil.copytree(data, folder)
    manifest = json.loads((data / "manifest.json").read_text())
    manifest |= {"version": version, "preset": preset}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
