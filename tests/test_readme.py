"""What the README's blocks name exists; test_wheel.py runs them."""

from __future__ import annotations

import re

from tests.readme_blocks import ROOT, blocks


def test_only_applications_and_what_needs_a_server_are_left_out():
    others = [text for language, text in blocks() if language not in ("bash", "python", "toml")]
    lines = [line for text in others for line in text.splitlines()]
    ours, elsewhere = ("python -m builders ", "python -m leaderboard "), (" ORG/", " --url ")
    for line in lines:
        assert line.startswith(ours) or any(each in line for each in elsewhere), line


def test_it_starts_with_the_two_commands():
    text = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^    (\S.*?)(?:\s{2,}#.*)?$", text, re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test", "lint"} <= set(targets)


def test_every_command_and_every_link_exists():
    from faithshift_bench.cli import app

    names = {info.name or info.callback.__name__ for info in app.registered_commands}
    for language, text in blocks():
        if language == "bash":
            assert set(re.findall(r"^faithshift ([\w-]+)", text, re.MULTILINE)) <= names
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text("utf-8")):
        assert (ROOT / target).exists(), target
