"""A secret set: built from a salt, which nothing that is written or said gives away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import faithshift_data as fd
from builders.__main__ import main
from builders.items import PUBLISHED, candidates
from builders.presets import Preset, load_preset
from builders.secret import Salt, read_salt
from builders.sources import draw_items, normalise
from builders.withhold import check_key
from tests.builders.tiny import untranslated, write_tiny_preset
from tests.synthetic import write_synthetic

SALT = "4f0c1de89ab723564f0c1de89ab72356"


def salted(seed: int) -> Preset:
    preset = load_preset("board-hidden")
    return replace(preset, item_seed=seed, candidates_per_domain=3, keep_per_domain=3)


@pytest.fixture(autouse=True)
def _no_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAITHSHIFT_SALT", raising=False)


def test_the_preset_is_secret_and_the_others_are_not() -> None:
    assert load_preset("board-hidden").secret
    assert not any(load_preset(name).secret for name in PUBLISHED)


def test_items_follow_from_the_salt_and_from_nothing_public() -> None:
    pytest.importorskip("reasoning_gym")
    first = Salt(SALT).number("items", "board-hidden", "1.0.0")
    items = candidates(salted(first))
    assert candidates(salted(first)) == items
    other = candidates(salted(Salt(SALT[::-1]).number("items", "board-hidden", "1.0.0")))
    assert not {item.item_id for item in items} & {item.item_id for item in other}
    # Who has the question, and the public code, still has not the id.
    public = {item.item_id for item in draw_items(3, first)}
    assert len(public) == len(items) and not public & {item.item_id for item in items}
    published = {
        normalise(item.wordings[0])
        for name in PUBLISHED
        for item in draw_items(load_preset(name).candidates_per_domain, load_preset(name).item_seed)
    }
    assert not published & {normalise(item.wordings[0]) for item in items}


def test_a_secret_preset_without_a_salt_draws_nothing() -> None:
    with pytest.raises(ValueError, match="board-hidden: secret, but no salt was given"):
        candidates(load_preset("board-hidden"))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "no salt (expected --salt-file or FAITHSHIFT_SALT with at least 32"),
        ("tooshortasalt", "too short (expected at least 32 random characters"),
        ("xyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxy", "not random"),
    ],
)
def test_a_build_without_a_good_salt_is_refused_in_one_line(
    value: str | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if value is not None:
        monkeypatch.setenv("FAITHSHIFT_SALT", value)
    out = str(tmp_path / "board")
    assert main(["build", "--preset", "board-hidden", "--out", out]) == 1
    assert main(["withhold", "mini", "--public", out, "--key", out + ".key"]) == 1
    streams = capsys.readouterr()
    errors = [line for line in streams.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2 and all(said in line for line in errors) and streams.out == ""
    assert value is None or value not in streams.err
    assert list(tmp_path.iterdir()) == []


def test_a_salt_is_read_from_a_file_first_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "board.salt").write_text(f"  {SALT}\n")
    monkeypatch.setenv("FAITHSHIFT_SALT", SALT[::-1])
    read = read_salt(tmp_path / "board.salt")
    assert read.digest("x") == Salt(SALT).digest("x") != read_salt().digest("x")
    assert SALT not in f"{read} {read!r} {vars(type(read))}"
    with pytest.raises(fd.InputError, match="cannot be read"):
        read_salt(tmp_path / "none")


def test_the_seed_is_not_in_the_text_of_a_preset() -> None:
    assert "123456789" not in repr(salted(123456789))


def test_withhold_prints_where_what_is_and_that_nothing_leaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_synthetic(tmp_path / "source", 20)
    monkeypatch.setenv("FAITHSHIFT_SALT", SALT)
    public, key = tmp_path / "public", tmp_path / "labels"
    command = ["withhold", str(source), "--public", str(public), "--key", str(key)]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [str(public), f"{key} (labels: never commit or publish it)"]
    assert len(lines) == 8 and all("AUROC" in line and "LEAKS" not in line for line in lines[2:])
    assert main([*command, "--parts", "train"]) == 1
    assert "field what: unknown" in capsys.readouterr().err


@pytest.mark.slow
def test_a_secret_build_leaves_a_public_folder_and_a_key_and_no_trace_of_its_salt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("reasoning_gym")
    untranslated(monkeypatch)
    preset = write_tiny_preset(tmp_path)
    preset.write_text(preset.read_text().replace("item_seed = 5", "item_seed = 0\nsecret = true"))
    (tmp_path / "board.salt").write_text(SALT)
    out, key = tmp_path / "board", tmp_path / "board.key"
    command = ["build", "--preset", str(preset), "--out", str(out), "--workers", "1"]
    command += ["--salt-file", str(tmp_path / "board.salt")]
    assert main(command) == 0
    said = "".join(capsys.readouterr())
    assert fd.check(out) == [] and fd.check(key) == [] and check_key(out, key, salt=SALT) == []
    assert fd.open(out).manifest.withheld is not None
    assert fd.open(key).manifest.seeds["items"] is None
    seed = str(Salt(SALT).number("items", "tiny", "0.0.1"))
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".salt"]
    assert len(files) > 20
    for secret in (SALT, seed):
        assert secret not in said
        assert not [path for path in files if secret.encode() in path.read_bytes()]

    assert main(command) == 1
    assert "already exists" in capsys.readouterr().err
    assert not (tmp_path / "board.complete").exists()
    before = (out / "manifest.json").read_bytes()
    for folder in (out, key):
        folder.rename(folder.with_name(f"old {folder.name}"))
    # All chunks are there, so that the same salt goes on to the same folder.
    assert main(command) == 0
    assert (out / "manifest.json").read_bytes() == before
