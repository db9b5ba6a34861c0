"""`faithshift detect` as a user meets it: epochs on stderr, saved detectors, what is refused."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest

from faithshift_bench.commands import epochs as module
from faithshift_bench.commands.epochs import Epochs


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def train(shown, label, losses):
    """What a detector of so many epochs does, of nine at most."""
    step = shown.watch(label)
    for epoch, loss in enumerate(losses, 1):
        step(epoch, 9, {"tune_loss": loss})


def test_on_a_terminal_there_is_a_bar_a_training(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(module.sys, "stderr", screen)
    monkeypatch.setattr(module, "OFTEN", 0)
    shown = Epochs()
    train(shown, "slow: seed 0", [0.5, 0.4])
    train(shown, "slow: seed 1", [0.3])
    shown.say("slow: seed 1: epoch 1 of 9 kept")
    text = screen.getvalue()
    assert "slow: seed 0" in text and "slow: seed 1" in text and "tune_loss 0.400" in text
    # The bar is wiped before the line is printed.
    assert text.endswith("\rslow: seed 1: epoch 1 of 9 kept\n") or text.endswith(
        " \rslow: seed 1: epoch 1 of 9 kept\n"
    )


def test_elsewhere_a_line_comes_seldom_and_nothing_is_redrawn(monkeypatch, capsys):
    clock = iter([0.0, 4.0, 11.0, 12.0, 30.0])
    times = {"now": 0.0}

    def tick():
        times["now"] = next(clock, times["now"])
        return times["now"]

    monkeypatch.setattr(module, "monotonic", tick)
    shown = Epochs()
    train(shown, "slow: seed 0", [0.5, 0.4, 0.3])
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "slow: seed 0: epoch 2 of 9 tune_loss 0.400",
        "slow: seed 0: epoch 3 of 9 tune_loss 0.300",
    ]


def test_save_and_load(run, synthetic, tmp_path):
    argv = ("detect", "length_only", "--data", synthetic)
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    code, out, err = run(*argv, "--seeds", "1,4", "--save", tmp_path / "kept", "-o", first)
    assert (code, out.strip()) == (0, str(first))
    assert err.splitlines() == ["length_only: seed 1", "length_only: seed 4"]
    code, _, err = run(*argv, "--load", tmp_path / "kept", "-o", second)
    assert code == 0 and err.splitlines()[0] == "length_only: seed 1, fitted on synthetic"
    assert pq.read_table(second).equals(pq.read_table(first))
    code, _, _ = run(*argv, "--load", tmp_path / "kept", "--seeds", "4", "-o", second)
    assert code == 0 and set(pq.read_table(second)["seed"].to_pylist()) == {4}


@pytest.mark.parametrize("more", [("--param", "C=2"), ("--fit-on", "mini"), ("--save", "x")])
def test_a_saved_detector_takes_nothing_that_fits(run, synthetic, tmp_path, more):
    argv = ("detect", "length_only", "--data", synthetic, "--load", tmp_path)
    code, out, err = run(*argv, *more, "-o", tmp_path / "s.parquet")
    assert (code, out) == (1, "")
    assert err == f"faithshift: field {more[0]}: a saved detector is as it was fitted " \
        "(expected nothing beside --load)\n"  # fmt: skip


def test_a_device_that_is_not_there_is_one_line(run, synthetic, tmp_path):
    argv = ("detect", "random", "--data", synthetic, "-o", tmp_path / "s.parquet")
    code, _, err = run(*argv, "--device", "cuda")
    assert code == 1 and err.count("\n") == 1 and "random does not run there" in err
