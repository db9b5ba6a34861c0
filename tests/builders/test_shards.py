"""Builds with a tiny model: on several machines, from torn chunks, and with rows that fail."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import faithshift_data as fd
from builders.__main__ import main
from builders.shards import Shard
from builders.stages import work_folder
from tests.builders.tiny import hashes, untranslated, write_tiny_preset

pytest.importorskip("reasoning_gym")


@dataclass(frozen=True)
class Whole:
    """A build in one go."""

    preset: Path
    out: Path

    @property
    def work(self) -> Path:
        return work_folder(self.out)

    def build(self, out: Path, *more: str) -> int:
        return main(["build", "--preset", str(self.preset), "--out", str(out), *more])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        untranslated(patch)
        patch.setattr("builders.__main__.os.cpu_count", lambda: 1)
        made = Whole(write_tiny_preset(folder), folder / "out")
        assert made.build(made.out) == 0
        yield made


def chunks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.json"))


def test_the_build_is_sound_and_says_how_it_was_made(whole: Whole) -> None:
    assert fd.check(str(whole.out)) == []
    data = fd.open(whole.out)
    assert set(data.manifest.descriptors) == {"psi", "scalars", "state"}
    assert data.manifest.descriptors["scalars"].shape == (4,)
    assert len(data.manifest.descriptors["scalars"].channels) == 4
    traces = data.table("traces").to_pylist()
    assert len({row["item_id"] for row in traces}) == 4
    (model,) = data.manifest.models
    assert {(row["model_id"], row["model_revision"]) for row in traces} == {
        (model.model_id, model.revision)
    }
    environment = data.manifest.environment
    assert environment["writer_dtype"] == environment["reader_dtype"] == "float32"
    (machine,) = environment["machines"]
    assert {"faithshift", "torch", "transformers", "tokenizers"} <= set(machine["versions"])
    assert machine["threads_per_process"] == 1 and machine["python"]
    assert len(environment["weights"]["tiny-model"]["model.safetensors"]) == 64
    labels = data.manifest.counts["labels_by_rule"]
    assert set(labels) == {"construct", "construct+causal"}
    assert all(sum(rule["all"].values()) == len(traces) for rule in labels.values())
    stored = [row["label"] for row in traces]
    kept = labels[data.manifest.label_rule]["all"]
    assert [kept[name] for name in ("faithful", "unfaithful", "unknown")] == [
        stored.count(value) for value in (1, 0, None)
    ]
    assert data.manifest.audit["rules"]
    assert "model_family" not in data.manifest.axis_names
    assert "tiny-model" in (whole.out / "README.md").read_text()


def test_two_shards_merged_equal_one_run(whole: Whole, tmp_path: Path, capsys) -> None:
    one, two, both = tmp_path / "one", tmp_path / "two", tmp_path / "both"
    works = [str(work_folder(out)) for out in (one, two)]
    for round_, stage in enumerate(("screen", "build")):
        for index, out in enumerate((one, two), start=1):
            assert whole.build(out, "--shard", f"{index}/2") == 0
            said = capsys.readouterr().out
            assert said.startswith(f"shard {index}/2: done; {stage}: 2 of 4 chunks are missing: ")
            assert said.count("\n") == 1 and said.count(f"{stage}-") == 2
            assert len(chunks(work_folder(out))) == 2 + 4 * round_
        for other in (works[0], works[1]):
            assert main(["merge", *works, "--into", other]) == 0
            assert ": 2 chunks copied, " in capsys.readouterr().out
    assert whole.build(one, "--shard", "1/2") == 0
    assert "all chunks are there" in capsys.readouterr().out
    assert not one.exists()
    assert main(["merge", *works, "--into", str(work_folder(both))]) == 0
    assert "8 chunks copied, 8 there before (0 with other contents)" in capsys.readouterr().out
    assert whole.build(both) == 0
    assert "chunks, about" not in capsys.readouterr().err
    assert hashes(both) == hashes(whole.out)
    assert (both / "manifest.json").read_bytes() == (whole.out / "manifest.json").read_bytes()


def test_merge_leaves_out_what_is_broken_and_counts_what_differs(
    whole: Whole, tmp_path: Path, capsys
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    shutil.copytree(whole.work, theirs)
    shutil.copytree(whole.work, ours)
    names = chunks(theirs)
    (theirs / names[0]).write_text((theirs / names[0]).read_text()[:-9])
    (theirs / names[1]).with_suffix(".npz").write_bytes(b"PK")
    # The same chunk from a machine that rounds otherwise: other rows under a sound digest.
    _count_one_token_more(theirs / names[-1])
    (ours / names[2]).unlink()
    (ours / names[3]).write_text("torn")
    kept = (ours / names[-1]).read_bytes()
    assert main(["merge", str(theirs), "--into", str(ours)]) == 0
    said = capsys.readouterr().out
    assert "2 chunks copied, 4 there before (1 with other contents), 2 broken ones left out" in said
    assert (ours / names[-1]).read_bytes() == kept
    assert chunks(ours) == names


def _count_one_token_more(path: Path) -> None:
    from builders.chunk import load, save

    chunk, made_by = load(path)
    chunk.tokens += 1
    save(path, chunk, json.loads(path.read_text())["inputs"], made_by)


def test_torn_stale_and_foreign_chunks_are_made_anew(whole: Whole, tmp_path: Path, capsys) -> None:
    out = tmp_path / "again"
    work = work_folder(out)
    shutil.copytree(whole.work, work)
    build, screen = (
        [name for name in chunks(work) if name.startswith(stage)] for stage in ("build", "screen")
    )
    (work / build[0]).write_text((work / build[0]).read_text()[:1000])
    (work / build[1]).with_suffix(".npz").unlink()
    # One chunk under another's name, arrays and all.
    for suffix in (".json", ".npz"):
        source = (work / build[2]).with_suffix(suffix)
        shutil.copy(source, (work / build[3]).with_suffix(suffix))
    (work / screen[0]).write_text("[]")
    (work / f".{screen[0]}.abcd1234.tmp").write_text("half")
    (tmp_path / ".again.abcd1234.tmp").mkdir()
    (tmp_path / ".again.notes.tmp").mkdir()
    assert whole.build(out) == 0
    said = capsys.readouterr().err
    assert said.count("made anew: ") == 4
    assert "screen: 1/1 chunks" in said and "build: 3/3 chunks" in said
    assert hashes(out) == hashes(whole.out)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".again.notes.tmp",
        "again",
        "again.work",
    ]
    assert not list(work.glob(".*"))


def test_a_row_that_fails_is_counted_and_the_others_go_on(
    whole: Whole, tmp_path: Path, monkeypatch, capsys
) -> None:
    from builders import measuring

    def sometimes(model, question, *rest):
        if question.row["condition"] == "paraphrase":
            raise ValueError("no\nluck")
        return asked(model, question, *rest)

    asked = measuring._asked
    monkeypatch.setattr(measuring, "_asked", sometimes)
    out = tmp_path / "out"
    shutil.copytree(whole.work, work_folder(out))
    for path in work_folder(out).glob("build-*"):
        path.unlink()
    assert whole.build(out) == 0
    failed = fd.open(out).manifest.screening["errors"]
    assert failed["screen"]["count"] == 0 and failed["build"]["count"] == 4
    assert failed["build"]["by_condition"] == {"paraphrase": 4}
    assert failed["build"]["first"][0].endswith("paraphrase: ValueError: no luck")
    assert "build: 4 rows failed and are left out; " in capsys.readouterr().err
    conditions = {row["condition"] for row in fd.open(out).table("traces").to_pylist()}
    assert "paraphrase" not in conditions and "hint_format" in conditions


def test_where_all_rows_fail_the_build_ends_in_one_line(
    whole: Whole, tmp_path: Path, monkeypatch, capsys
) -> None:
    def never(*_, **__):
        raise ValueError("out of luck")

    monkeypatch.setattr("builders.measuring._asked", never)
    out = tmp_path / "out"
    assert whole.build(out) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: 4 of 4 screen chunks failed, the others are kept; screen-0000")
    assert error.endswith("all 2 rows failed; base: ValueError: out of luck")
    assert not out.exists() and not chunks(work_folder(out))


def test_a_model_that_cannot_be_loaded_is_one_line(whole: Whole, tmp_path: Path, capsys) -> None:
    text = whole.preset.read_text()
    model = tmp_path / "model"
    shutil.copytree(whole.preset.parent / "tiny-model", model)
    (model / "model.safetensors").write_bytes(b"torn")
    preset = tmp_path / "own.toml"
    preset.write_text(text.replace(str(whole.preset.parent / "tiny-model"), str(model)))
    assert main(["build", "--preset", str(preset), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: 4 of 4 screen chunks failed")


@pytest.mark.parametrize("text", ["", "1", "0/0", "9/2", "1/0", "-1/2", "1/2/3", "a/b", "1 / 2"])
@pytest.mark.parametrize("more", [["--out", "x"], ["--dry-run"]])
def test_a_wrong_shard_is_one_line(text: str, more: list[str], capsys) -> None:
    assert main(["build", "--preset", "mini", *more, f"--shard={text}"]) == 1
    said = f"error: --shard: expected i/n with 1 <= i <= n, got {text!r}\n"
    assert capsys.readouterr() == ("", said)


def test_shards_take_every_chunk_once() -> None:
    shards = [Shard.parse(f"{index}/3") for index in (1, 2, 3)]
    assert [[shard.takes(k) for shard in shards].count(True) for k in range(10)] == [1] * 10
    assert [k for k in range(6) if shards[1].takes(k)] == [1, 4]


def test_merge_wants_folders(tmp_path: Path, capsys) -> None:
    assert main(["merge", str(tmp_path / "none"), "--into", str(tmp_path / "w")]) == 1
    assert "none: expected a work folder" in capsys.readouterr().err
    data = tmp_path / "data"
    data.mkdir()
    (data / "manifest.json").write_text("{}")
    for call in ([str(data), "--into", str(tmp_path / "w")], [str(tmp_path), "--into", str(data)]):
        assert main(["merge", *call]) == 1
        assert f"{data}: expected a work folder (DIR.work), got a d" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()
