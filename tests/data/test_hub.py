"""Datasets on a Hub: what is downloaded when, and one line where something is in the way."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

import faithshift_data as fd
from faithshift_data.hub import _described, hub_name
from tests.conftest import Online
from tests.hub.client import ROOT, Done
from tests.hub.server import READER, TOKEN
from tests.hub.store import Repo

_numbers = itertools.count()


@dataclass(frozen=True)
class Remote:
    """A dataset on the Hub under a name of its own, so that no cache knows it."""

    online: Online
    name: str
    repo: Repo

    def run(self, code: str, folder: Path, **env: str) -> Done:
        """Run code that may use ``fd`` and ``NAME``."""
        head = f"import json, faithshift_data as fd\nNAME = {self.name!r}\n"
        return self.online.client.python(head + code, folder, **env)

    def line(self, code: str, folder: Path, **env: str) -> str:
        """The one line of the InputError that code ends in."""
        done = self.run(
            f"try:\n    {code}\nexcept fd.InputError as e:\n    print(e)", folder, **env
        )
        assert done.status == 0 and done.out.count("\n") == 1, done
        assert not any(token in done.out + done.err for token in (TOKEN, READER))
        return done.out.rstrip()

    def sent(self) -> Counter[str]:
        """Bytes that were sent, by file."""
        found: Counter[str] = Counter()
        for seen in self.online.hub.seen:
            path = re.search(r"/resolve/[^/]+/(.*)$", seen.path)
            if path and seen.method == "GET" and seen.status in (200, 206):
                found[path[1]] += seen.size
        return found


@pytest.fixture
def remote(online: Online, synthetic: Path) -> Remote:
    """The synthetic folder, published as v0.1.0."""
    name = f"org/data-{next(_numbers)}"
    repo = online.hub.store.create("dataset", name)
    repo.tags["v0.1.0"] = online.hub.store.commit(repo, contents(synthetic))
    return Remote(online, name, repo)


def contents(folder: Path) -> dict[str, bytes]:
    """relative path -> bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_file_is_downloaded_when_it_is_read(
    remote: Remote, synthetic: Path, tmp_path: Path
) -> None:
    done = remote.run("ds = fd.open(NAME, revision='v0.1.0'); print(ds.name)", tmp_path)
    assert done.out == "synthetic\n", done.err
    assert set(remote.sent()) == {"manifest.json"}
    done = remote.run("print(fd.open(NAME + '@v0.1.0').table('traces', 'test').num_rows)", tmp_path)
    assert int(done.out) == fd.open(synthetic).table("traces", "test").num_rows
    assert remote.sent().keys() == {"manifest.json", "traces/test.parquet"}
    # A view of text reads one table, and its labels are where they were.
    done = remote.run("print(fd.open(NAME).view('train').labels.tolist())", tmp_path)
    assert json.loads(done.out) == fd.open(synthetic).view("train").labels.tolist()
    assert remote.sent().keys() == {"manifest.json", "traces/test.parquet", "traces/train.parquet"}


def test_one_trace_takes_its_bytes_alone(remote: Remote, synthetic: Path, tmp_path: Path) -> None:
    local = fd.open(synthetic).trajectories
    one = local.trace_ids[300]
    shard = f"trajectories/{shard_of(synthetic, one)}"
    code = f"""
found = fd.load_trajectories(NAME)
for name in ("psi", "state"):
    print(json.dumps(found.get(name, [{one!r}])[0].tolist()))
"""
    done = remote.run(code, tmp_path)
    for name, line in zip(("psi", "state"), done.out.splitlines(), strict=True):
        assert json.loads(line) == local.get(name, [one])[0].tolist()
    sent = remote.sent()
    assert sent.keys() == {"manifest.json", "trajectories/index.parquet", shard}
    rows = sum(local.get(name, [one])[0].nbytes for name in ("psi", "state"))
    assert sent[shard] == 4096 + 16 + rows
    assert sent[shard] < (synthetic / shard).stat().st_size / 4


def test_many_traces_take_their_shard_and_no_other(
    remote: Remote, synthetic: Path, tmp_path: Path
) -> None:
    local = fd.open(synthetic).trajectories
    shard = shard_of(synthetic, local.trace_ids[0])
    many = [name for name in local.trace_ids if shard_of(synthetic, name) == shard][:9]
    code = f"""
found = fd.load_trajectories(NAME)
print(json.dumps([row.tolist() for row in found.get("psi", {many!r})]))
found.get("state", {many!r})
"""
    done = remote.run(code, tmp_path)
    assert json.loads(done.out) == [row.tolist() for row in local.get("psi", many)]
    sent = remote.sent()
    assert sent.keys() == {"manifest.json", "trajectories/index.parquet", f"trajectories/{shard}"}
    assert sent[f"trajectories/{shard}"] == (synthetic / "trajectories" / shard).stat().st_size
    # What is here is not asked for again.
    before = len(remote.online.hub.seen)
    code = f"print(len(fd.open(NAME, revision='v0.1.0').trajectories.get('psi', {many[:1]!r})))"
    assert remote.run(code, tmp_path).out == "1\n"
    asked = remote.online.hub.seen[before:]
    assert {(seen.method, seen.path.rpartition("/")[2]) for seen in asked} == {
        ("HEAD", "manifest.json")
    }


def shard_of(folder: Path, trace_id: str) -> str:
    """By the index, read without the code under test."""
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "trajectories/index.parquet").to_pylist()
    return next(row["shard"] for row in rows if row["trace_id"] == trace_id)


def test_a_changed_file_is_refused_and_a_changed_main_is_not_mixed_in(
    remote: Remote, synthetic: Path, tmp_path: Path
) -> None:
    store = remote.online.hub.store
    data = bytearray((synthetic / "pairs/test.parquet").read_bytes())
    data[-1] ^= 1
    wrong = store.commit(remote.repo, {"pairs/test.parquet": bytes(data)})
    said = remote.line(f"fd.open(NAME, revision={wrong!r}).table('pairs', 'test')", tmp_path)
    assert "pairs/test.parquet, field sha256: other content than the manifest's" in said
    # The commit that was opened stays the one that is read, whatever happens to main.
    code = """
ds = fd.open(NAME, revision="v0.1.0")
print(len(ds.table("pairs", "test")))
"""
    assert int(remote.run(code, tmp_path).out) == fd.open(synthetic).table("pairs", "test").num_rows


def test_check_fetches_all_and_info_prints(remote: Remote, synthetic: Path, tmp_path: Path) -> None:
    done = remote.run("print(fd.check(NAME), fd.open(NAME).card.partition('---')[2])", tmp_path)
    assert done.out.startswith("[] ") and "# synthetic" in done.out, done.err
    assert remote.sent().keys() >= contents(synthetic).keys()


def test_traces_are_streamed(remote: Remote, synthetic: Path, tmp_path: Path) -> None:
    code = """
import datasets
rows = datasets.load_dataset(NAME, split="test", streaming=True)
print(json.dumps([row["trace_id"] for row in rows]))
pairs = datasets.load_dataset(NAME, "pairs", split="train", streaming=True, revision="v0.1.0")
print(len(list(pairs)))
"""
    done = remote.run(code, tmp_path)
    assert done.status == 0, done.err
    ids, pairs = done.out.splitlines()
    assert json.loads(ids) == fd.open(synthetic).table("traces", "test")["trace_id"].to_pylist()
    assert int(pairs) == fd.open(synthetic).table("pairs", "train").num_rows
    # The schema is read off the first file of a config.
    files = {file for file in remote.sent() if "/" in file}
    assert files == {"traces/train.parquet", "traces/test.parquet", "pairs/train.parquet"}


def newer(remote: Remote) -> None:
    path = "manifest.json"
    manifest = json.loads(remote.online.hub.store.contents(remote.repo)[path])
    manifest |= {"manifest_version": 2, "colour": "red"}
    remote.online.hub.store.commit(remote.repo, {path: json.dumps(manifest).encode()})


def gate(remote: Remote) -> None:
    remote.repo.gated = True


def hide(remote: Remote) -> None:
    remote.repo.private = True


def empty(remote: Remote) -> None:
    remote.online.hub.store.commit(remote.repo, {}, delete=["manifest.json"])


@pytest.mark.parametrize(
    ("change", "code", "env", "said"),
    [
        (None, "fd.open('org/none')", {}, "org/none: no such folder, and no such dataset at http"),
        (None, "fd.open(NAME, revision='v9')", {}, "field revision: no such revision (got v9)"),
        (None, "fd.open(NAME + '@v9')", {}, "field revision: no such revision (got v9)"),
        (None, "fd.open(NAME + '@v9', revision='v0.1.0')", {}, "field revision: two revisions"),
        (None, "fd.check('org/none')", {}, "no such dataset at"),
        (gate, "fd.open(NAME)", {"HF_TOKEN": READER}, "gated: ask for access at http"),
        (gate, "fd.open(NAME)", {"HF_TOKEN": ""}, "gated: ask for access at http"),
        (hide, "fd.open(NAME)", {"HF_TOKEN": ""}, "if it is private, log in with `hf auth login`"),
        (hide, "fd.open(NAME)", {"HF_TOKEN": "hf_wrong"}, "the Hub refuses to give it (401)"),
        (empty, "fd.open(NAME)", {}, "not a FaithShift dataset: no manifest.json at http"),
        (newer, "fd.open(NAME)", {}, "made by a newer version of faithshift; upgrade it (expected"),
    ],
)
def test_what_is_in_the_way_is_one_line(
    remote: Remote,
    tmp_path: Path,
    change: Callable[[Remote], None] | None,
    code: str,
    env: dict[str, str],
    said: str,
) -> None:
    if change is not None:
        change(remote)
    assert said in remote.line(code, tmp_path, **env)


def test_a_reader_with_a_token_opens_a_private_dataset(remote: Remote, tmp_path: Path) -> None:
    hide(remote)
    assert remote.run("print(fd.open(NAME).name)", tmp_path, HF_TOKEN=READER).out == "synthetic\n"


def test_a_connection_lost_halfway_is_one_line(remote: Remote, tmp_path: Path) -> None:
    code = "fd.open(NAME).trajectories"
    remote.online.hub.fail("resolve", "drop", nth=2, times=99)
    said = remote.line(code, tmp_path)
    assert said.startswith(f"{remote.name}: not downloaded yet (trajectories/index.parquet), and")


def test_offline(remote: Remote, tmp_path: Path) -> None:
    """A process of its own, since the client reads its settings at import."""

    def alone(code: str, **more: str) -> str:
        code = (
            f"import faithshift_data as fd\ntry:\n    {code}\nexcept fd.InputError as e: print(e)"
        )
        env = {**os.environ, **remote.online.hub.env(tmp_path / "home"), **more}
        argv = [sys.executable, "-c", code]
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout

    name, off = remote.name, {"HF_HUB_OFFLINE": "1"}
    forbidden = "not downloaded yet (manifest.json), and HF_HUB_OFFLINE is set"
    assert alone(f"fd.open({name!r})", **off) == f"{name}: {forbidden}\n"
    read = f"print(len(fd.open({name!r}).table('pairs', 'test')))"
    rows = alone(read)
    assert int(rows) > 0
    part = f"t = fd.load_trajectories({name!r}); print(t.get('psi', t.trace_ids[:1])[0].shape[1])"
    assert alone(part) == "32\n"
    said = alone(part, **off)
    assert said.startswith(f"{name}: not downloaded yet (trajectories/descriptors-00000-of-00002.")
    assert said.endswith("and HF_HUB_OFFLINE is set\n") and said.count("\n") == 1
    # With neither network nor permission, what was read before is read again.
    assert alone(read, **off) == alone(read, HF_ENDPOINT="http://127.0.0.1:9") == rows


class Answered(Exception):
    """As the client's errors that carry an answer."""

    def __init__(self, status: int) -> None:
        super().__init__("hf_x")
        self.response = SimpleNamespace(status_code=status)


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (ConnectionError("a\nb"), r"(all files), and http\S+ cannot be reached (ConnectionError)"),
        (Answered(503), "the Hub answered 503 for it; try again later"),
        (Answered(403), "the Hub refuses to give it (403); log in with"),
        (OSError(28, "No space left on device"), "cannot be kept: No space left on device"),
    ],
)
def test_what_the_client_waits_long_for_is_one_line(
    cause: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError

    # The suite runs offline; what is described here happens to those who do not.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    hidden = LocalEntryNotFoundError("token hf_x\nin the text")
    hidden.__cause__ = cause
    line = str(_described(hidden, "org/data", None, None))
    assert re.search(re.escape(said).replace(r"\\S\+", r"\S+"), line), line
    assert "\n" not in line and "hf_x" not in line


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("org/data", ("org/data", None)),
        ("org/data@v1.0", ("org/data", "v1.0")),
        ("org/data@refs/pr/1", ("org/data", "refs/pr/1")),
        ("data", None),
        ("a/b/c", None),
        ("../data", None),
        ("./data", None),
        ("org/..", None),
        ("org/data@", None),
        ("/org", None),
    ],
)
def test_names(text: str, found: tuple[str, str | None] | None) -> None:
    assert hub_name(text) == found
