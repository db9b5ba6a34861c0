"""The command line in this process."""

from __future__ import annotations

import sys

import pytest

from faithshift_bench.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process: (exit status, stdout, stderr)."""

    def call(*argv):
        monkeypatch.setattr(sys, "argv", ["faithshift", *map(str, argv)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return call
