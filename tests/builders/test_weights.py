"""Models of a preset: a folder, or a commit of the Hub as it lies in the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.weights import load_models, whereabouts

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = f"org/tiny@{COMMIT}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n")
    return tmp_path


def cached(monkeypatch: pytest.MonkeyPatch, hub: Path, files: Path) -> None:
    """Put files into a cache of the Hub as its client does."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    snapshot = hub / "models--org--tiny" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for file in files.iterdir():
        if file.is_file():
            (snapshot / file.name).write_bytes(file.read_bytes())


def test_a_model_of_the_hub_is_named_by_its_commit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(monkeypatch, tmp_path / "hub", folder)
    (found,) = load_models([NAME])
    assert (found.model_id, found.revision) == ("org/tiny", COMMIT)
    assert (found.family, found.licence, found.origin) == ("llama", "mit", "Hugging Face Hub")
    assert set(found.files) == {"config.json", "model.safetensors"}
    (own,) = load_models([str(folder)])
    assert own.revision.startswith("sha256:") and own.files == found.files
    # Its own name and the folder's: two names of a model, each with a revision of its own.
    assert len({each.revision for each in load_models([NAME, str(folder)])}) == 2


def test_what_is_not_here_is_named_with_what_brings_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(monkeypatch, tmp_path / "hub", folder)
    other = f"org/tiny@{COMMIT[::-1]}"
    with pytest.raises(FileNotFoundError, match=f"hf download org/tiny --revision {COMMIT[::-1]}"):
        whereabouts(other)
    with pytest.raises(ValueError, match="expected smollm2 or a Hugging Face folder"):
        whereabouts(str(tmp_path / "none"))
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="no weights"):
        whereabouts(str(folder))
    with pytest.raises(ValueError, match="models: expected different ones"):
        load_models([NAME, NAME])
