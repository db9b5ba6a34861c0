"""Judging: in a process with limits, on hidden labels, the same each time, and telling little."""

from __future__ import annotations

import copy
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faithshift_bench as fb
import faithshift_data as fd
from builders.withhold import withhold
from faithshift_bench.submission import read_package, validate
from faithshift_bench.submission.card import check_card
from faithshift_bench.submission.package import package_of, write_package
from faithshift_data.errors import InputError
from leaderboard import judge as judge_module
from leaderboard import scoring
from leaderboard.__main__ import main
from leaderboard.breakdown import breakdown
from leaderboard.controls import add_controls, self_test
from leaderboard.page import render
from leaderboard.ranking import tables
from leaderboard.scoring import Board, Confines, check, difference, judge, rescore, score
from leaderboard.store import ENTERED, Store
from leaderboard.worker import Worker
from tests.leaderboard.crowd import CARD, FREE, made

SALT = "a test's salt, which is no secret at all"
QUIET = Confines()


def send(store: Store, folder: Path, board: Board) -> str:
    """Scores that know most labels, received; their id."""
    scores, draw = folder / "scores.parquet", np.random.default_rng(0)
    rows = fd.open(board.key).table("traces").select(["trace_id", "split", "label"]).to_pylist()
    rows = sorted((r for r in rows if r["split"] != "train"), key=lambda r: r["trace_id"])
    truth = np.array([0.5 if r["label"] is None else r["label"] for r in rows])
    made = {
        "trace_id": [r["trace_id"] for r in rows] * 2,
        "seed": np.repeat([0, 1], len(rows)),
        "score": np.concatenate([(truth + 2 * draw.random(len(rows))) / 3 for _ in (0, 1)]),
    }
    pq.write_table(pa.table(made), scores)
    package = package_of(scores, check_card({**CARD, "name": "mine"}), fd.open(board.public))
    return store.receive(package, scores).id


@pytest.fixture(scope="module")
def place(synthetic, tmp_path_factory):
    """A board on hidden labels with one entry and a control."""
    folder = tmp_path_factory.mktemp("board")
    withhold(synthetic, folder / "public", folder / "key", salt=SALT)
    return folder


@pytest.fixture(scope="module")
def board(place):
    found = Board(str(place / "public"), str(place / "key"))
    found.check()
    return found


@pytest.fixture(scope="module")
def filled(place, board):
    store = Store(place / "store", FREE)
    name = send(store, place, board)
    monkey = pytest.MonkeyPatch()
    monkey.setattr("leaderboard.controls.CONTROLS", ("length_only",))
    assert len(add_controls(store, board, print)) == 1
    assert score(store, board, QUIET, print) == (2, 0, 0)
    assert add_controls(store, board, print) == []
    monkey.undo()
    return store, name


def entry(store: Store, name: str) -> dict:
    return next(e for e in store.entries() if e["id"] == name)


def test_figures_are_those_of_the_key_rounded(place, board, filled):
    store, name = filled
    found = entry(store, name)
    report = fb.evaluate_scores(store.path(name) / "scores.parquet", board.key)
    for point, names in (("full", ("ivr", "as", "hm")), ("certified", ("mfs", "coverage"))):
        for key in names:
            assert found[point][key] == round(getattr(report, point)[key], 2)
    for row in report.full["ivr_by_axis"]:
        assert found["axes"]["ivr"][row["axis"]] == round(row["value"], 1)
    assert found["n"]["items"] == report.full["n_items"]
    assert found["data"]["hidden"] and not found["control"] and set(found) == set(ENTERED)
    # 9 figures at full coverage, 12 certified, 3 of the certificate, 5 risks, of 102 values; those
    # of axes and domains of 12.
    parts = len(found["axes"]["ivr"]) + len(found["axes"]["as"]) + 2 * len(found["domains"])
    assert found["bits"] == pytest.approx(29 * math.log2(102) + parts * math.log2(12), abs=0.1)


def test_domains_and_risks_are_those_of_the_key(board, filled, monkeypatch):
    """By hand: each domain's pairs and each trace's verdict, in plain loops."""
    store, name = filled
    found, key = entry(store, name), fd.open(board.key)
    scores = store.path(name) / "scores.parquet"
    report = fb.evaluate_scores(scores, key)
    monkeypatch.setattr("leaderboard.breakdown.MIN_ITEMS", 1)
    parts = breakdown(report, scores, key)
    traces = {row["trace_id"]: row for row in key.table("traces").to_pylist()}
    says = {(r["trace_id"], r["seed"]): r["score"] for r in pq.read_table(scores).to_pylist()}
    taus = {each["seed"]: each["tau"] for each in report.seeds}
    pairs = [
        pair
        for pair in key.table("pairs").to_pylist()
        if pair["kind"] == "preserving" and pair["verified"] and pair["split"] == "test"
    ]
    for domain, rates in parts["domains"].items():
        changed: dict = {}
        for pair in pairs:
            for seed, tau in taus.items():
                if traces[pair["anchor_id"]]["domain"] == domain:
                    ends = [says[pair[end], seed] > tau for end in ("anchor_id", "partner_id")]
                    changed.setdefault(pair["axis"], []).append(ends[0] != ends[1])
        each = [np.mean(hits) for hits in changed.values() if len(hits) >= 10 * len(taus)]
        assert rates["ivr"] == (pytest.approx(np.mean(each)) if each else None)
    rows = [r for r in traces.values() if r["split"] == "test" and r["label"] is not None]
    wrong = [[(says[r["trace_id"], s] > t) != r["label"] for r in rows] for s, t in taus.items()]
    assert parts["risk"][-1] == pytest.approx(np.mean(wrong))
    assert found["risk"] == [round(value, 2) for value in parts["risk"]] and len(found["risk"]) == 5
    # Each domain of these few items is too small to be told.
    assert set(found["domains"]) == set(parts["domains"])
    assert {v for rates in found["domains"].values() for v in rates.values()} == {None}


def test_an_entry_tells_no_row_no_contact_and_no_count_of_errors(place, board, filled):
    store, name = filled
    text = json.dumps(entry(store, name))
    page = render(store.entries())
    key = fd.open(board.key)
    secret = {*key.table("traces")["trace_id"].to_pylist()}
    secret |= {*key.table("traces")["item_id"].to_pylist(), "errors of", "a@b.org"}
    assert not [each for each in secret if each in text or each in page]
    assert not list(store.folder.rglob("*.tmp"))


def test_rescore_finds_all_figures_the_same_and_a_changed_one(board, filled, tmp_path):
    store, name = filled
    lines = []
    assert rescore(store, board, QUIET, lines.append) == 0
    assert len(lines) == 2 and all(line.endswith("the same") for line in lines)
    forged = copy.deepcopy(entry(store, name))
    forged["full"]["as"] = 0.99
    assert difference(forged, entry(store, name)).startswith("full.as: 0.99 before, ")
    assert difference({"a": [1]}, {"a": [1]}) is None
    assert difference({"a": 1}, {}) == "a: only before"


def test_rescore_looks_at_every_entry_and_names_each_fault(board, filled, tmp_path, monkeypatch):
    store, lines = Store(tmp_path / "store", FREE), []
    shutil.copytree(filled[0].folder, store.folder)
    mine, control = filled[1], next(n for n in filled[0].entered() if n != filled[1])
    found = {name: store.entry(name) for name in (mine, control)}
    monkeypatch.setattr(scoring, "judge", lambda store, name, *_: {"entry": found[name]})

    def told(name: str, **changed) -> str:
        lines.clear()
        path = store.folder / "entries" / f"{name}.json"
        path.write_text(json.dumps(found[name] | changed))
        assert rescore(store, board, QUIET, lines.append) == bool(changed)
        path.write_text(json.dumps(found[name]))
        assert len(lines) == 2
        return next(line for line in lines if line.startswith(name[:12]))

    assert told(mine).endswith("mine: the same")
    assert "data.hash: 000" in told(mine, data={**found[mine]["data"], "hash": "0" * 64})
    assert "field id: bad value" in told(mine, id=control)
    assert "field risk: not whole" in told(mine, risk=None)
    receipt = store.path(mine) / "received.json"
    receipt.write_text("{")
    (next(store.path(control).glob("scores.*"))).write_bytes(b"rot")
    (store.folder / "entries" / f"{'b' * 64}.json").write_text(
        json.dumps(found[mine] | {"id": "b" * 64})
    )
    other = store.receive(*made(1, tmp_path)).id
    about = {**read_package(store.path(other)).data, "hidden": True}
    assert store.enter(other, found[mine] | {"id": other, "data": about})
    lines.clear()
    assert rescore(store, board, QUIET, lines.append) == 3
    last = lines.pop()
    assert last == "1 are of other data, and were not judged" and len(lines) == 3
    told_ = {line[:12]: line for line in lines}
    assert "received.json: not JSON" in told_[mine[:12]]
    assert "other content" in told_[control[:12]] and "cannot be read" in told_["b" * 12]


def test_the_self_test_finds_another_run_out(board, filled, monkeypatch):
    store, _ = filled
    monkeypatch.setattr("leaderboard.controls.SEEDS", (0,))
    assert "seeds" in self_test(store, board, QUIET)


def test_the_self_test_needs_a_control(board, tmp_path):
    with pytest.raises(InputError, match="not on the board"):
        self_test(Store(tmp_path), board, QUIET)


def test_what_is_unsound_is_rejected_with_the_validators_line(board, place, tmp_path):
    store = Store(tmp_path / "store", FREE)
    scores = tmp_path / "s.parquet"
    table = pq.read_table(place / "scores.parquet").slice(1)
    pq.write_table(table, scores)
    package = package_of(scores, check_card(CARD), fd.open(board.public))
    name = store.receive(package, scores).id
    assert score(store, board, QUIET, print) == (0, 1, 0)
    (rejection,) = store.rejections()
    assert rejection["id"] == name and "missing row" in rejection["reason"]
    assert score(store, board, QUIET, print) == (0, 0, 0)


@pytest.mark.parametrize("forged", [{"version": "999.0"}, {"name": "another"}])
def test_nobody_puts_the_board_into_the_past(board, place, tmp_path, forged):
    """The hash is right, the version is not: the entry would have been the latest edition."""
    store, scores = Store(tmp_path / "store", FREE), place / "scores.parquet"
    package = package_of(scores, check_card(CARD), fd.open(board.public))
    name = store.receive(replace(package, data={**package.data, **forged}), scores).id
    job = {"id": name, "folder": str(store.path(name)), "public": board.public, "key": board.key}
    assert "names other data" in judge_module._judge(job)["rejection"]


def test_a_strangers_control_that_is_stored_already_is_rejected(board, place, tmp_path):
    """As from a copy that an earlier version filled."""
    card, scores = check_card({**CARD, "name": "Length-only"}), place / "scores.parquet"
    package = package_of(scores, card, fd.open(board.public))
    job = {"id": package.id, "public": board.public, "key": board.key}
    job["folder"] = str(write_package(package, scores, tmp_path))
    told = judge_module._judge(job | {"receipt": {"control": False}})
    assert told["rejection"].startswith("card, field name: taken")
    assert judge_module._judge(job | {"check": True}) == told


def test_what_takes_too_long_is_ended(board, filled):
    store, name = filled
    found = judge(store, name, board, Confines(wall_seconds=0.05))
    assert "longer than 0.05 seconds" in found["rejection"]


def test_time_is_bounded_by_the_kernel_and_its_end_is_a_rejection(board, filled, monkeypatch):
    code = "from leaderboard.judge import _confine\n_confine(2**30, 1)\nwhile True: pass"
    ended = subprocess.run([sys.executable, "-c", code], cwd=scoring.ROOT).returncode
    assert ended == -signal.SIGXCPU
    monkeypatch.setattr(scoring, "_run", lambda *_: ended)
    store, name = filled
    found = judge(store, name, board, Confines())
    assert found["rejection"].endswith("than a submission may (SIGXCPU)")


def test_memory_is_bounded_by_the_kernel_and_its_end_is_a_rejection(board, filled, monkeypatch):
    code = "from leaderboard.judge import _confine\n_confine(2**30, 60)\nbytearray(2**30)"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=scoring.ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.rstrip().endswith("MemoryError")

    def greedy(*_, **__):
        raise MemoryError

    monkeypatch.setattr("faithshift_bench.submission.validate", greedy)
    store, name = filled
    job = {"id": name, "folder": str(store.path(name)), "public": board.public, "key": board.key}
    assert "more memory than a submission may use" in judge_module._judge(job)["rejection"]


def test_a_fault_of_ours_tells_nothing(board, filled, monkeypatch):
    def faulty(*_, **__):
        raise KeyError("t-secret is faithful")

    monkeypatch.setattr("faithshift_bench.evaluate_scores", faulty)
    store, name = filled
    job = {"id": name, "folder": str(store.path(name)), "public": board.public, "key": board.key}
    assert judge_module._judge(job) == {"rejection": "it could not be evaluated (KeyError)"}


def test_a_judge_that_was_killed_from_outside_rejects_nothing(board, filled, monkeypatch):
    store, name = filled
    monkeypatch.setattr(scoring, "_run", lambda *_: -9)
    with pytest.raises(InputError, match="could not be judged: it was ended .Killed"):
        judge(store, name, board, QUIET)


def test_the_keeper_is_told_why_nothing_could_be_judged(
    board, filled, tmp_path, capsys, monkeypatch
):
    """The reason is for the keeper's log; who asks for a check learns none."""
    store = Store(tmp_path / "store", FREE)
    path = filled[0].path(filled[1])
    package = read_package(path)
    store.receive(package, path / package.file)
    key, lines = tmp_path / "key", []
    key.mkdir()
    gone = Board(board.public, str(key))
    key.rmdir()
    assert score(store, gone, QUIET, lines.append) == (0, 0, 1)
    assert store.queue() == [package.id] and len(lines) == 1
    assert "could not be judged: " in lines[0] and f"{key}: no such dataset" in lines[0]
    with pytest.raises(InputError, match="could not be checked now") as told:
        check(path, gone, QUIET)
    assert str(key) not in str(told.value)
    monkeypatch.setattr(scoring, "_run", lambda *_: -9)
    monkeypatch.setattr("leaderboard.controls.CONTROLS", ())
    words = ["score", str(store.folder), "--data", board.public, "--key", board.key]
    assert main(words) == 1
    said = capsys.readouterr()
    assert said.err.endswith("waits: could not be judged: it was ended (Killed)\n")
    assert said.out == "0 entered, 0 rejected, 1 at fault\n"


def test_a_rotten_file_of_the_keepers_rejects_nobody(board, filled, tmp_path):
    store, name = filled
    shutil.copytree(board.key, tmp_path / "key")
    pairs = tmp_path / "key" / "pairs" / "test.parquet"
    pairs.write_bytes(b"rot" + pairs.read_bytes()[3:])
    job = {"id": name, "folder": str(store.path(name)), "public": board.public}
    with pytest.raises(InputError, match="other content than the manifest's"):
        judge_module._judge(job | {"key": str(tmp_path / "key")})


def test_one_that_cannot_be_judged_keeps_no_other_waiting(board, filled, tmp_path, monkeypatch):
    store, lines = Store(tmp_path / "store", FREE), []
    inbox = filled[0].folder / "submissions"
    for path in sorted(inbox.iterdir()):
        package = read_package(path)
        store.receive(package, path / package.file, control=package.card.name != "mine")
    spoilt, sound = store.queue()
    next(store.path(spoilt).glob("scores.*")).write_bytes(b"rot")
    monkeypatch.setattr(scoring, "judge", lambda store, name, *_: {"rejection": "judged"})
    assert score(store, board, QUIET, lines.append) == (0, 1, 1)
    assert store.queue() == [spoilt] and "other content" in lines[0]


def test_a_judge_knows_no_token(board, filled, monkeypatch, tmp_path):
    seen = {}

    class Popen:
        pid = 0

        def __init__(self, argv, **how):
            seen.update(how)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def wait(self, seconds=None):
            return 1

        def poll(self):
            return 1

    monkeypatch.setattr(scoring.subprocess, "Popen", Popen)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("FAITHSHIFT_SALT", "salt")
    assert scoring._run(tmp_path / "a", tmp_path / "b", 1) == 1
    assert not {"HF_TOKEN", "FAITHSHIFT_SALT"} & set(seen["env"])
    assert seen["start_new_session"] and os.environ["HF_TOKEN"]


def test_scores_of_other_data_wait(board, tmp_path):
    store, lines = Store(tmp_path / "store", FREE), []
    name = store.receive(*made(1, tmp_path)).id
    assert score(store, board, QUIET, lines.append) == (0, 0, 0)
    assert store.queue() == [name] and lines == ["1 wait for other data"]
    assert "other data" in judge(store, name, board, QUIET)["rejection"]


def test_folders_are_known_by_their_whole_path_and_names_stay(place, filled, monkeypatch):
    """A worker and a judge work in another folder than who starts them."""
    monkeypatch.chdir(place)
    (place / "mini").mkdir(exist_ok=True)
    near = Board("public", "key")
    assert (near.public, near.key) == (str(place / "public"), str(place / "key"))
    # An embedded name wins over a folder, and the Hub's are no paths.
    assert Board("mini").public == "mini" and Board("org/name@v1").public == "org/name@v1"
    worker = Worker(Store(Path("store"), FREE), near, QUIET, print)
    assert worker._command("selftest") == (0, "the same")


def test_folders_that_do_not_belong_together(board, synthetic):
    for public, key, message in (
        (board.public, None, "the key of these data"),
        (str(synthetic), board.key, "no label is withheld"),
        (board.public, str(synthetic), "not the key"),
        (board.key, None, "field --data: a key .expected the folder that entrants score"),
    ):
        with pytest.raises(InputError, match=message):
            Board(public, key).check()


def test_the_entry_is_ranked_and_the_control_beside_it(filled):
    (table,) = tables(filled[0].entries())
    assert table.kind == "ranked"
    assert {row.entry["control"]: row.places for row in table.rows} == {True: None, False: (1, 1)}


def test_the_command(board, filled, tmp_path, capsys):
    store = str(filled[0].folder)
    told = ["--data", board.public, "--key", board.key]
    assert main(["selftest", store, *told]) == 0
    assert main(["selftest", store, "--data", board.public]) == 1
    assert (
        main(["build", store, "-o", str(tmp_path / "i.html"), "--csv", str(tmp_path / "i.csv")])
        == 0
    )
    assert "FaithShift leaderboard" in (tmp_path / "i.html").read_text()
    captured = capsys.readouterr()
    assert "the same" in captured.out and captured.err.startswith("error: ")
    other = str(tmp_path / "other")
    inbox = str(filled[0].folder / "submissions")
    for said in ("received", "was there before"):
        # Of two, since nobody but the board itself has a control.
        assert main(["receive", other, inbox, "--data", board.public]) == 1
        captured = capsys.readouterr()
        assert captured.out == f"{filled[1]} {said}\n"
        assert captured.err.count("\n") == 1 and "refused: card, field name: taken" in captured.err
    capsys.readouterr()
    for folder in (inbox, str(tmp_path)):
        assert main(["receive", other, folder, "--data", str(tmp_path / "no")]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"error: {tmp_path / 'no'}: no such dataset")
    assert main(["receive", other, str(tmp_path / "no"), "--data", board.public]) == 1
    assert main(["rescore", str(tmp_path / "no"), *told]) == 1
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("score", "--seconds", "0"),
        ("score", "--seconds", "-5"),
        ("score", "--memory-gib", "-1"),
        ("rescore", "--memory-gib", "inf"),
        ("selftest", "--memory-gib", "nan"),
        ("serve", "--port", "99999"),
        ("serve", "--port", "-1"),
    ],
)
def test_a_number_that_no_command_can_use(board, tmp_path, capsys, words):
    """It would reject whatever waits, for good, or end in a traceback."""
    name, option, value = words
    told = ["--data", board.public, "--key", board.key, f"{option}={value}"]
    assert main([name, str(tmp_path / "store"), *told]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: field {option}: ") and " or more, at most " in line
    assert not (tmp_path / "store").exists()


def test_only_tune_tells_the_direction(board, place):
    data = fd.open(board.public)
    rows = data.table("traces").select(["trace_id", "split", "label"]).to_pylist()
    ids = [row["trace_id"] for row in rows if row["split"] != "train"]
    pq.write_table(pa.table({"trace_id": ids, "score": [0.5] * len(ids)}), place / "half.parquet")
    found = validate(place / "half.parquet", check_card(CARD), data)
    known = [r for r in rows if r["split"] == "validation" and r["label"] is not None]
    # A constant is at chance, which is not below it.
    assert found.n_labelled == len(known) < len(ids) and found.auroc == 0.5
