"""``python -m leaderboard``: serve a board, or take, score, check and show by hand."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from faithshift_bench.options import check_number
from faithshift_bench.submission.package import ID, read_package
from faithshift_data.atomic import write_text
from faithshift_data.errors import InputError
from leaderboard.api import nothing
from leaderboard.controls import add_controls, self_test
from leaderboard.scoring import Board, Confines, rescore, score
from leaderboard.store import ENTRIES, Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 done, 1 the input was wrong or figures differ (a line each on stderr)."""
    signal.signal(signal.SIGTERM, _end)
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (ValueError, OSError, ImportError) as error:
        _say(f"error: {' '.join(str(error).split())}")
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m leaderboard", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, run, told in (
        ("receive", _receive, "take the packages of a folder, such as a merged pull request's"),
        ("score", _score, "judge what waits, and put the controls on the board"),
        ("rescore", _rescore, "judge all entries again: are all figures the same?"),
        ("selftest", _self_test, "run a baseline anew: are its figures those on the board?"),
        ("build", _build, "write the page"),
        ("serve", _serve, "the board as a web app that takes submissions and has them judged"),
        ("space", _space, "write the files of a Space that serves a board"),
    ):
        command = commands.add_parser(name, help=told, description=told)
        command.set_defaults(run=run)
        if name == "space":
            command.add_argument("folder", type=Path, help="a new folder")
            continue
        command.add_argument("store", type=Path, help="the board's folder")
        if name == "serve":
            command.add_argument("--host", default="127.0.0.1")
            command.add_argument("--port", type=int, default=7860, help="0: any that is free")
            command.add_argument("--copy", metavar="ORG/NAME", help="of the store, on the Hub")
            command.add_argument("--login", action="store_true", help="with the Hub, on a Space")
        if name == "build":
            command.add_argument("-o", "--out", type=Path, default=Path("index.html"))
            command.add_argument("--csv", type=Path, help="the table as CSV, too")
            continue
        command.add_argument("--data", required=True, help="the folder that entrants score")
        if name == "receive":
            command.add_argument("inbox", type=Path, help="holds a folder a submission")
            continue
        command.add_argument("--key", help="the folder with its hidden labels")
        command.add_argument("--seconds", type=int, default=300, help="of a processor, at most")
        command.add_argument("--memory-gib", type=float, default=4, help="at most")
    return parser


def _receive(options: argparse.Namespace) -> int:
    store, ranked, refused = Store(options.store), Board(options.data).hash, 0
    _there(options.inbox)
    for path in sorted(path for path in options.inbox.iterdir() if ID.fullmatch(path.name)):
        try:
            package = read_package(path)
            if package.data["hash"] != ranked:
                raise InputError("scores of other data", expected=options.data)
            receipt = store.receive(package, path / package.file)
        except InputError as error:
            refused += 1
            _say(f"{path.name[:12]}: refused: {error}")
        else:
            print(f"{path.name} {'received' if receipt.new else 'was there before'}")
    return int(refused > 0)


def _score(options: argparse.Namespace) -> int:
    store, board, confines = _told(options)
    store.sweep()
    add_controls(store, board, _say)
    found = score(store, board, confines, _say)
    at_fault = f", {found.faults} at fault" if found.faults else ""
    print(f"{found.entered} entered, {found.rejected} rejected{at_fault}")
    return int(found.faults > 0)


def _rescore(options: argparse.Namespace) -> int:
    told = _told(options)
    _there(options.store)
    different = rescore(*told, _say)
    print(f"{different} different")
    return int(different > 0)


def _self_test(options: argparse.Namespace) -> int:
    change = self_test(*_told(options))
    print(change or "the same")
    return int(change is not None)


def _build(options: argparse.Namespace) -> int:
    from leaderboard.export import board_csv
    from leaderboard.page import render

    _there(options.store)
    store = Store(options.store)
    faults, entries = store.faults(ENTRIES), store.entries()
    for line in faults:
        _say(line)
    write_text(options.out, render(entries))
    if options.csv is not None:
        write_text(options.csv, board_csv(entries))
    print(options.out)
    return int(len(faults) > 0)


def _serve(options: argparse.Namespace) -> int:
    check_number("--port", options.port, least=0, most=65535, whole=True)
    from leaderboard.desk import Desk
    from leaderboard.hub import HubCopy, fetched
    from leaderboard.serve import serve
    from leaderboard.worker import Worker

    options.data, options.key = fetched(options.data), options.key and fetched(options.key)
    store, board, confines = _told(options)
    copy = HubCopy(store, options.copy) if options.copy else None
    if copy is not None:
        copy.fetch()
    store.sweep()
    for line in store.faults():
        _say(line)
    keep = copy.push if copy is not None else nothing
    worker = Worker(store, board, confines, _say, keep)
    desk = Desk(store, board, confines, keep, worker.wake)
    serve(desk, worker, options.host, options.port, login=options.login)
    return 0


def _space(options: argparse.Namespace) -> int:
    from leaderboard.space_files import write_space

    print(write_space(options.folder))
    return 0


def _told(options: argparse.Namespace) -> tuple[Store, Board, Confines]:
    # With less, a judge comes to no end even of what is sound, and rejects it for good.
    check_number("--seconds", options.seconds, least=10, most=86400, whole=True)
    check_number("--memory-gib", options.memory_gib, least=2, most=4096)
    memory = int(options.memory_gib * 2**30)
    confines = Confines(memory, options.seconds, 3.0 * options.seconds)
    board = Board(options.data, options.key)
    board.check()
    return Store(options.store), board, confines


def _there(folder: Path) -> None:
    if not folder.is_dir():
        raise InputError("no such folder", file=folder)


def _end(number: int, _: object) -> None:
    """Who is told to end also ends what it runs, and removes what it has put aside."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
