"""Atomic writing: links are kept, devices and folders refused, faults name the user's path."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

import faithshift_data as fd
from faithshift_data.atomic import new_folder, open_atomic, write_text


def test_a_link_is_kept_and_its_file_replaced(tmp_path: Path) -> None:
    target, link, link2 = tmp_path / "there" / "real", tmp_path / "link", tmp_path / "link2"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to("there/real")
    link2.symlink_to(link)
    for path in (link, link2):
        write_text(path, f"by {path.name}")
        assert path.is_symlink() and not target.is_symlink()
        assert target.read_text() == f"by {path.name}"
    assert os.listdir(target.parent) == ["real"]
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "new")
    write_text(dangling, "x")
    assert dangling.is_symlink() and (tmp_path / "new").read_text() == "x"


def test_a_link_to_a_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "old").touch()
    (tmp_path / "link").symlink_to("real")
    with new_folder(tmp_path / "link", overwrite=True) as new:
        (new / "file").touch()
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "real") == ["file"]
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


def test_what_is_no_regular_file_is_refused_and_left(tmp_path: Path) -> None:
    pipe, folder, loop = tmp_path / "pipe", tmp_path / "folder", tmp_path / "loop"
    os.mkfifo(pipe)
    folder.mkdir()
    loop.symlink_to(loop)
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    before = sorted(os.listdir(tmp_path))
    for path in (pipe, folder, device):
        with pytest.raises(fd.InputError) as error:
            write_text(path, "x")
        assert str(error.value) == f"{path}: not a regular file"
    with pytest.raises(fd.InputError, match="loop: a link to itself"):
        write_text(loop, "x")
    with pytest.raises(fd.InputError, match="pipe: already exists, and is no folder"):
        new_folder(pipe, overwrite=True).__enter__()
    assert sorted(os.listdir(tmp_path)) == before and pipe.is_fifo()


@pytest.mark.parametrize("writer", [open_atomic, new_folder])
def test_a_parent_that_cannot_be_made(tmp_path: Path, writer: Any) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "sub" / "out"
    with pytest.raises(fd.InputError) as error:
        writer(path).__enter__()
    assert str(error.value) == f"{path}: cannot be written: Not a directory"


@pytest.mark.parametrize("writer", [open_atomic, new_folder])
def test_a_folder_that_is_read_only(
    tmp_path: Path, writer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**options: Any) -> Any:
        name = str(options["dir"] / f"{options['prefix']}abc.tmp")
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(fd.InputError) as error:
        writer(tmp_path / "out").__enter__()
    assert str(error.value) == f"{tmp_path / 'out'}: cannot be written: Permission denied"


@pytest.mark.parametrize("writer", [open_atomic, new_folder])
def test_a_fault_while_writing_never_names_the_temporary(tmp_path: Path, writer: Any) -> None:
    path = tmp_path / "out"
    with pytest.raises(fd.InputError) as error, writer(path) as temporary:
        raise OSError(f"{temporary}: disk full")
    assert str(error.value) == f"{path}: cannot be written: {path}: disk full"
    assert os.listdir(tmp_path) == []
