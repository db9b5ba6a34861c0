"""The store: whole or absent, once, within limits, whatever is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from faithshift_bench.submission import read_package
from faithshift_data.errors import InputError
from leaderboard.limits import Limits, bits_told, fitting_gain
from leaderboard.store import Store
from tests.leaderboard.crowd import FREE, made
from tests.leaderboard.test_page import entry

ROOT = Path(__file__).parent.parent.parent
NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)


def crowd(store: Path, seed: int, clients: int, each: int, kill_after: int | None = None):
    """(lines, status) of many clients; killed once so many were acknowledged."""
    argv = [sys.executable, "-m", "tests.leaderboard.crowd", str(store), str(seed)]
    process = subprocess.Popen(
        [*argv, str(clients), str(each)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    lines = []
    for line in process.stdout:
        if line.endswith("\n"):
            lines.append(line.split())
        if kill_after is not None and len(lines) == kill_after:
            process.kill()
    return lines, process.wait()


def check_crowd(folder: Path, clients: int, each: int, kills: int) -> None:
    """What was acknowledged is there, whole and once, after each kill."""
    acknowledged, store = set(), Store(folder, FREE)
    for round_ in range(kills):
        lines, status = crowd(folder, round_, clients, each, kill_after=clients)
        assert status == -signal.SIGKILL
        assert not [line for line in lines if line[0] == "fault"]
        new = Counter(line[0] for line in lines if line[1] == "new")
        assert not set(new) & acknowledged and max(new.values()) == 1
        acknowledged |= {line[0] for line in lines}
        there = store.submissions()
        assert acknowledged <= set(there) and len(there) == len(set(there))
        for name in there:
            assert read_package(store.path(name)).id == name
    store.sweep()
    assert not [path for path in (folder / "submissions").iterdir() if path.name.startswith(".")]
    lines, status = crowd(folder, kills, clients, each)
    assert status == 0 and len(lines) == clients * each
    assert acknowledged <= set(store.queue())
    assert len(store.queue()) == len(list((folder / "submissions").iterdir()))


def test_fifty_clients_and_a_kill(tmp_path):
    check_crowd(tmp_path, clients=50, each=4, kills=1)


def test_the_same_content_is_taken_once(tmp_path):
    store = Store(tmp_path / "store", Limits(a_week=1))
    package, scores = made(1, tmp_path)
    assert store.receive(package, scores, now=NOON).new
    assert not store.receive(package, scores, now=NOON).new
    assert store.queue() == store.submissions() == [package.id]
    assert store.state(package.id) == "waiting"


def test_what_is_settled_stays_so(tmp_path):
    store = Store(tmp_path / "store", FREE)
    ids = [store.receive(*made(k, tmp_path), now=NOON + timedelta(k)).id for k in range(3)]
    assert store.queue() == ids
    found = entry(0) | {"id": ids[0]}
    assert store.enter(ids[0], found) and store.reject(ids[1], "why")
    assert not store.enter(ids[1], found) and not store.reject(ids[0], "late")
    assert store.queue() == [ids[2]]
    assert [store.state(name) for name in ids] == ["entered", "rejected", "waiting"]
    assert store.entries() == [found]
    assert [each["reason"] for each in store.rejections()] == ["why"]
    assert not store.enter("f" * 64, {}) and store.state("f" * 64) == "unknown"


@pytest.mark.parametrize(
    "name", ["../x", "", "A" * 64, "0" * 63, "0" * 64 + "/..", "0" * 64 + "\n"]
)
def test_a_name_is_an_id_or_nothing(tmp_path, name):
    with pytest.raises(InputError, match="64 hex digits"):
        Store(tmp_path).path(name)


def test_litter_of_a_killed_process_is_swept_and_never_read(tmp_path):
    store = Store(tmp_path / "store", FREE)
    name = store.receive(*made(1, tmp_path)).id
    (tmp_path / "store" / "submissions" / f".{name}.x.tmp").mkdir()
    (tmp_path / "store" / "entries").mkdir()
    (tmp_path / "store" / "entries" / f".{name}.json.x.tmp").write_text("{")
    assert store.submissions() == [name] and store.entries() == []
    assert store.sweep() == 2 and store.sweep() == 0
    assert store.submissions() == [name]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"at": "20', None, "\xff"])
def test_one_file_that_is_not_whole_is_named_and_the_others_go_on(tmp_path, text):
    store = Store(tmp_path / "store", FREE)
    spoilt, sound = (store.receive(*made(k, tmp_path), now=NOON).id for k in range(2))
    for name in (spoilt, sound):
        assert store.enter(name, entry(0) | {"id": name})
    waits = store.receive(*made(2, tmp_path), now=NOON).id
    assert store.faults() == []
    path, receipt = (store.folder / each for each in (f"entries/{spoilt}.json", "submissions"))
    receipt = receipt / spoilt / "received.json"
    for file in (path, receipt):
        file.unlink()
        if text is not None:
            file.write_text(text, "latin-1")
    # An entry that says another's id stands for none.
    forged = store.folder / "entries" / f"{waits}.json"
    forged.write_text(json.dumps(entry(0) | {"id": sound}))
    lost = "a" * 64
    (store.folder / "submissions" / lost).mkdir()
    named = store.faults()
    expected = [lost, receipt, forged] + [path] * (text is not None)
    assert len(named) == len(expected) and all("\n" not in line for line in named)
    assert all(any(str(each) in line for line in named) for each in expected)
    assert [each["id"] for each in store.entries()] == [sound]
    assert set(store.submissions()) == {sound, waits}
    assert store.receive(*made(3, tmp_path), now=NOON).new


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", FREE)
    package, scores = made(1, tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("leaderboard.store.shutil.copyfile", full)
    with pytest.raises(InputError, match="No space left"):
        store.receive(package, scores)
    assert list((tmp_path / "store" / "submissions").iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "who", "names", "days", "message"),
    [
        (Limits(a_week=2), "a@b.org", "xyz", (0, 1, 6), "in seven days .expected 2"),
        (Limits(a_week=9, of_submitter=2), "a@b.org", "xyz", (0, 30, 60), "by one submitter .e"),
        (Limits(of_detector=2), "a@b.org", "xxx", (0, 30, 60), "of one detector"),
        (Limits(a_day=2), None, "xyz", (0, 0, 0), "by everybody"),
    ],
)
def test_the_third_is_one_too_many(tmp_path, limits, who, names, days, message):
    store = Store(tmp_path / "store", limits)
    taken = []
    for k, (name, day) in enumerate(zip(names, days, strict=True)):
        contact = who or f"{k}@b.org"
        package, scores = made(k, tmp_path, name=name, contact=contact)
        if k < 2:
            taken.append(store.receive(package, scores, now=NOON + timedelta(day)).id)
    with pytest.raises(InputError, match=message):
        store.receive(package, scores, now=NOON + timedelta(days[2]))
    # Controls, and what was told nothing because it was rejected, are not counted.
    assert store.receive(package, scores, now=NOON + timedelta(days[2]), control=True).new
    last, scores = made(9, tmp_path, name=names[2], contact=contact)
    assert store.reject(taken[1], "bad")
    assert store.receive(last, scores, now=NOON + timedelta(days[2])).new


def test_a_week_later_it_may_be_sent(tmp_path):
    store = Store(tmp_path / "store", Limits(a_week=1))
    store.receive(*made(0, tmp_path), now=NOON)
    second = made(1, tmp_path)
    with pytest.raises(InputError, match="seven days"):
        store.receive(*second, now=NOON + timedelta(days=7) - timedelta(seconds=1))
    assert store.receive(*second, now=NOON + timedelta(days=7)).new


def test_the_submitter_that_the_board_knows_counts(tmp_path):
    store = Store(tmp_path / "store", Limits(a_week=1))
    store.receive(*made(0, tmp_path, contact="a@b.org"), submitter="Eve", now=NOON)
    with pytest.raises(InputError, match="one submitter"):
        store.receive(*made(1, tmp_path, contact="c@d.org"), submitter="eve", now=NOON)
    receipt = json.loads(next((tmp_path / "store").rglob("received.json")).read_text())
    assert receipt == {"at": NOON.isoformat(), "submitter": "eve", "control": False}


def test_bits_and_gain_by_hand():
    # 0.0 to 1.0 by tenths, or undefined: 12 values.
    assert bits_told(2, 1) == pytest.approx(2 * 3.584962500721156)
    # sqrt((10 ln 2 + ln 20) / 200) = sqrt(9.927 / 200)
    assert fitting_gain(10, 100) == pytest.approx(0.222792, abs=1e-6)
    assert fitting_gain(10**6, 100) == 1.0 == fitting_gain(0, 0)


def test_nobody_uses_up_anothers_submissions(tmp_path):
    store = Store(tmp_path / "store", Limits(of_detector=1))
    for k in range(3):
        package, scores = made(k, tmp_path, name="theirs", contact=f"{k}@b.org")
        assert store.receive(package, scores, now=NOON).new


OTHER_LETTERS = (
    "\u0441\u043enst\u0430nt",  # Cyrillic
    "L\u0410BEL_PRIOR",
    "rand\u03bfm",  # Greek
    "rand0m",
    "1ength_on|y",
    "Iabel_prIor",
    "\u1d04\u1d0f\u0274\ua731\u1d1b\u1d00\u0274\u1d1b",  # small capitals
    "\u01a6andom",
    "c\u00f6nstant",
)


@pytest.mark.parametrize(
    "name",
    [
        "constant",
        "CONSTANT",
        "\uff43onstant",
        "edit distance",
        "Edit-Distance",
        "_random.",
        *OTHER_LETTERS,
    ],
)
def test_nobody_has_a_controls_name(tmp_path, name):
    store = Store(tmp_path / "store", FREE)
    package, scores = made(1, tmp_path, name=name)
    with pytest.raises(InputError, match="field name: taken .expected another name than the con"):
        store.receive(package, scores)
    assert store.submissions() == [] and store.receive(package, scores, control=True).new
    for free in ("constantly", "constant 2", "my length_only", "\u03b1-constant", "rand0m1"):
        assert store.receive(*made(2, tmp_path, name=free)).new
