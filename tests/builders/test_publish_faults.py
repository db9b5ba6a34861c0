"""Faults of the Hub at every step: a publication completes, or nothing is half-published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import faithshift_data as fd
from builders.publishing.patience import Patience
from faithshift_bench.detectors import load_detector
from faithshift_data.errors import InputError
from tests.builders.publishing import publish, published
from tests.conftest import Online
from tests.hub.server import TOKEN
from tests.hub.store import Repo
from tests.synthetic import write_synthetic

REPO = "org/biasing"
AT_ONCE = {"Retry-After": "0"}
WAIT = {"status": 429, "headers": AT_ONCE}
BUSY = {"status": 503, "headers": AT_ONCE}
FORBIDDEN = {"status": 403}


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two fits of a detector."""
    folder = tmp_path_factory.mktemp("detectors")
    found = {}
    for tag, seed in (("v1", 0), ("v2", 1)):
        data = fd.open(write_synthetic(folder / f"data-{seed}", 20, seed))
        detector = load_detector("biasing").fit(data.view("train"), seed=0)
        found[tag] = detector.save(folder / tag)
    return found


def run(online: Online, versions: Mapping[str, Path], tag: str, folder: Path):
    return publish(online, versions[tag], REPO, "--revision", tag, folder=folder)


def whole(online: Online, repo: Repo, revision: str, version: Path) -> bool:
    """Whether a revision holds all files of a version, and no others."""
    files = online.hub.store.contents(repo, revision)
    names = ("arrays.safetensors", "detector.json")
    return set(files) == {*names, "manifest.json", "README.md"} and all(
        files[name] == (version / name).read_bytes() for name in names
    )


@pytest.mark.parametrize(
    ("how", "route", "options"),
    [
        ("status", "info", WAIT),
        ("status", "upload", WAIT),
        ("status", "commit", WAIT),
        ("status", "create", BUSY),
        ("status", "preupload", BUSY),
        ("status", "tag", BUSY),
        ("drop", "refs", {}),
        ("drop", "verify", {}),
        ("drop", "commit", {}),
        ("lose", "create", {}),
        ("lose", "commit", {}),
        ("lose", "tag", {}),
        ("half", "upload", {}),
        ("half", "commit", {}),
        ("half", "resolve", {}),
    ],
)
def test_a_fault_that_passes_is_waited_for(
    online: Online, versions, tmp_path: Path, how: str, route: str, options
) -> None:
    fault = online.hub.fail(route, how, **options)
    done = run(online, versions, "v1", tmp_path)
    assert fault.struck and done.status == 0, done.err
    repo = online.hub.store.repos["model", REPO]
    assert len(repo.commits) == 2 and repo.tags == {"v1": repo.branches["main"]}
    assert whole(online, repo, "v1", versions["v1"])


@pytest.mark.parametrize(
    ("route", "nth", "committed"),
    [("create", 1, 0), ("upload", 1, 0), ("commit", 1, 0), ("resolve", 2, 1), ("tag", 1, 1)],
)
def test_what_is_forbidden_ends_at_once_and_is_resumed(
    online: Online, versions, tmp_path: Path, route: str, nth: int, committed: int
) -> None:
    hub = online.hub
    fault = hub.fail(route, **FORBIDDEN, nth=nth, times=100)
    done = run(online, versions, "v1", tmp_path)
    assert done.status == 1 and done.out == ""
    assert "the Hub answered 403: planted fault (the token may not do this)" in done.err
    assert done.err.splitlines()[-1].startswith("error: ") and "once more" not in done.err
    if route != "resolve":
        assert fault.calls == 1
    repo = hub.store.repos.get(("model", REPO))
    assert (repo is None) == (route == "create")
    if repo is not None:
        assert len(repo.commits) == 1 + committed and repo.tags == {}
        assert whole(online, repo, "main", versions["v1"]) == bool(committed)
    hub.faults.clear()
    seen = len(hub.seen)
    done = run(online, versions, "v1", tmp_path)
    assert done.status == 0, done.err
    repo = hub.store.repos["model", REPO]
    assert len(repo.commits) == 2 and repo.tags == {"v1": repo.branches["main"]}
    assert whole(online, repo, "v1", versions["v1"])
    assert hub.calls(seen)["commit"] == 1 - committed
    assert ("committed before: " in done.err) == bool(committed)


@pytest.mark.parametrize("route", ["preupload", "batch", "commit"])
def test_somebody_elses_commit_is_kept(
    online: Online, versions, tmp_path: Path, route: str
) -> None:
    assert run(online, versions, "v1", tmp_path).status == 0
    hub = online.hub
    repo = hub.store.repos["model", REPO]
    fault = hub.fail(route, "intrude")
    done = run(online, versions, "v2", tmp_path)
    assert fault.struck and done.status == 1
    assert done.err.endswith(
        f"error: {REPO}: somebody else changed main meanwhile, and it is left so; run again\n"
    )
    assert hub.calls()["commit"] == (2 if route == "commit" else 1)
    theirs = hub.store.contents(repo)
    assert "theirs.txt" in theirs and set(repo.tags) == {"v1"}
    assert theirs["arrays.safetensors"] == (versions["v1"] / "arrays.safetensors").read_bytes()
    done = run(online, versions, "v2", tmp_path)
    assert done.status == 0 and "no longer on main: theirs.txt\n" in done.err
    assert whole(online, repo, "main", versions["v2"])
    assert whole(online, repo, "v1", versions["v1"])


def test_waits_double_and_end() -> None:
    waits: list[float] = []
    lines: list[str] = []

    def broken() -> None:
        raise ConnectionError("reset by peer")

    with pytest.raises(InputError, match="^step: reset by peer, after 5 tries$"):
        Patience("secret", lines.append, waits.append).call("step", broken)
    assert waits == [1, 2, 4, 8]
    assert lines[0] == "step: reset by peer; once more in 1 s (1 of 5)"


def test_tries_are_bounded(online: Online, versions, tmp_path: Path) -> None:
    fault = online.hub.fail("refs", **BUSY, times=100)
    done = run(online, versions, "v1", tmp_path)
    assert done.status == 1 and fault.calls == 5
    assert "tags: the Hub answered 503: planted fault; once more in 0 s (4 of 5)\n" in done.err
    assert done.err.endswith("error: tags: the Hub answered 503: planted fault, after 5 tries\n")


def test_a_long_wait_is_left_to_the_user(online: Online, versions, tmp_path: Path) -> None:
    fault = online.hub.fail("info", status=429, headers={"Retry-After": "3600"}, times=100)
    done = run(online, versions, "v1", tmp_path)
    assert done.status == 1 and fault.calls == 1 and "once more" not in done.err


def test_other_bytes_than_were_sent_get_no_tag(online: Online, versions, tmp_path: Path) -> None:
    online.hub.fail("resolve", "corrupt", times=100)
    done = run(online, versions, "v1", tmp_path)
    assert done.status == 1
    assert "the Hub holds other bytes than were sent; the version gets no tag" in done.err
    assert not online.hub.store.repos["model", REPO].tags
    online.hub.faults.clear()
    assert run(online, versions, "v1", tmp_path).status == 0


@pytest.mark.parametrize("token", [TOKEN, "api-org.loopbackDoNotPrint"])
@pytest.mark.parametrize("status", [403, 503])
def test_a_hub_that_shows_the_token_does_not_get_it_printed(
    online: Online, versions, tmp_path: Path, status: int, token: str
) -> None:
    online.hub.roles[token] = "write"
    message = f"Bearer {token} at https://store/x?Signature=secret&Key=1"
    online.hub.fail("commit", status=status, message=message, headers=AT_ONCE, times=100)
    words = ["publish", versions["v1"], "--repo", REPO, "--revision", "v1"]
    done = online.client.builders(*words, folder=tmp_path, HF_TOKEN=token)
    assert done.status == 1 and "secret" not in done.err and "DoNotPrint" not in done.err
    assert "Bearer [token] at https://store/x?..." in done.err


def test_uploads_of_a_dataset_that_break_in_the_middle(
    online: Online, synthetic: Path, tmp_path: Path
) -> None:
    faults = [online.hub.fail("upload", "half", nth=nth) for nth in (1, 5, 9)]
    published(online, synthetic, "org/faithshift", folder=tmp_path)
    assert all(fault.struck for fault in faults)
    repo = online.hub.store.repos["dataset", "org/faithshift"]
    assert len(repo.commits) == 2 and repo.tags == {"v0.1.0": repo.branches["main"]}
