"""Withheld labels: what is left in public, what the key holds, and that the two belong together."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faithshift_bench as fb
import faithshift_data as fd
from builders.audit import write_sheets
from builders.relabel import relabel
from builders.withhold import check_key, withhold
from faithshift_bench.demo import run_demo
from faithshift_bench.detectors import run_detector
from faithshift_data.manifest import Manifest
from faithshift_data.schema import CONFIGS, SPLITS, WITHHELD
from faithshift_data.summary import render_summary, summarise
from faithshift_data.views import TEXT
from tests.folders import agree, change
from tests.synthetic import MODEL, write_synthetic

SALT = "a test's salt, which is no secret at all"
PROBES = ("filler", "scramble", "truncate@0.0", "truncate@0.4", "truncate@0.8")


def renamed(prefix: str, *parts: str) -> str:
    """A new id of the synthetic set, computed here by the standard library alone."""
    text = "\x1f".join([prefix, "synthetic", "0.1.0", *parts])
    return f"{prefix}-{hmac.new(SALT.encode(), text.encode(), hashlib.sha256).hexdigest()[:32]}"


@pytest.fixture(scope="module")
def parted(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Public folder and key of the synthetic set. Read them, never write to them."""
    folder = tmp_path_factory.mktemp("parted")
    public, key = folder / "public", folder / "key"
    assert withhold(synthetic, public, key, salt=SALT) == public
    return public, key


@pytest.fixture
def public(parted: tuple[Path, Path]) -> Path:
    return parted[0]


@pytest.fixture
def key(parted: tuple[Path, Path]) -> Path:
    return parted[1]


@pytest.fixture
def copy(public: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(public, tmp_path / "copy"))


def rows_of(folder: Path, config: str) -> list[dict[str, Any]]:
    return fd.open(folder).table(config).to_pylist()


def hides(row: dict[str, Any]) -> bool:
    return row["split"] == "test" or row["fold"] == "calib"


def everything(folder: Path) -> str:
    """All that a folder says, unpacked."""
    tables = [pq.read_table(path).to_pylist() for path in sorted(folder.rglob("*.parquet"))]
    texts = [path.read_text() for path in (folder / "manifest.json", folder / "README.md")]
    return "\n".join([json.dumps(tables), *texts])


def rewrite(folder: Path, config: str, split: str, how: Any) -> None:
    """Change rows, and the manifest with them, so that only the content is at fault."""
    change(folder / config / f"{split}.parquet", how)
    agree(folder)


def test_both_folders_are_sound_and_belong_together(public: Path, key: Path) -> None:
    assert fd.check(public) == [] and fd.check(key) == []
    assert check_key(public, key) == [] and check_key(public, key, salt=SALT) == []
    withheld = fd.open(public).manifest.withheld
    assert withheld is not None and withheld.parts == ("calib", "test")
    assert withheld.probes == PROBES


def test_a_withheld_trace_keeps_what_a_detector_reads_and_no_more(
    synthetic: Path, public: Path
) -> None:
    before = {renamed("t", row["trace_id"]): row for row in rows_of(synthetic, "traces")}
    seen = 0
    for row in filter(hides, rows_of(public, "traces")):
        seen += 1
        for name in (*TEXT, "split", "fold", "model_revision", "model_family", "answer_status"):
            assert row[name] == before[row["trace_id"]][name]
        assert {name for name, value in row.items() if value is None} - {"options", "fold"} == set(
            WITHHELD["traces"]
        )
        assert row["label_evidence"] == [] and row["licence"] == "CC-BY-4.0"
        assert row["item_id"] == renamed("q", row["trace_id"])
    assert seen == sum(map(hides, before.values())) > 0
    assert not {"label", "cue", "condition", "anchor_id", "gold", "generation"} - set(
        WITHHELD["traces"]
    )


def test_train_and_tune_are_complete(synthetic: Path, public: Path) -> None:
    for config in CONFIGS:
        split_of = {row["trace_id"]: row for row in rows_of(synthetic, "traces")}
        open_rows = [
            row
            for row in rows_of(synthetic, config)
            if not hides(split_of[row.get("trace_id") or row["anchor_id"]])
        ]
        left = {row[next(iter(row))]: row for row in rows_of(public, config)}
        assert open_rows
        for row in open_rows:
            assert left[row[next(iter(row))]] == row


def test_no_id_of_before_is_left_anywhere(synthetic: Path, public: Path) -> None:
    said = everything(public)
    gone = {row["trace_id"]: row for row in filter(hides, rows_of(synthetic, "traces"))}
    pairs = [row for row in rows_of(synthetic, "pairs") if row["anchor_id"] in gone]
    probes = [row for row in rows_of(synthetic, "interventions") if row["trace_id"] in gone]
    old = {*gone, *(row["item_id"] for row in gone.values())}
    old |= {row["pair_id"] for row in pairs} | {row["intervention_id"] for row in probes}
    assert len(old) > 1000 and not [name for name in old if name in said]


def test_no_row_of_a_pair_or_of_label_evidence_and_equal_rows_for_all(public: Path) -> None:
    hidden = {row["trace_id"] for row in filter(hides, rows_of(public, "traces"))}
    assert not [p for p in rows_of(public, "pairs") if {p["anchor_id"], p["partner_id"]} & hidden]
    found: dict[str, Counter[tuple[Any, ...]]] = {name: Counter() for name in hidden}
    for row in rows_of(public, "interventions"):
        if row["trace_id"] in hidden:
            what = (row["kind"], row["fraction"], row["role"], row["seed"], row["injected"])
            found[row["trace_id"]][what] += 1
    assert len(set(map(str, map(sorted, (c.elements() for c in found.values()))))) == 1
    assert all(what[2:] == ("feature", None, None) for what in next(iter(found.values())))


def test_the_manifest_counts_nothing_of_what_is_withheld(public: Path, synthetic: Path) -> None:
    manifest, whole = fd.open(public).manifest, fd.open(synthetic).manifest
    assert manifest.counts["traces"] == whole.counts["traces"]
    assert manifest.counts["items"]["test"] is None and manifest.counts["items"]["train"]
    assert manifest.counts["traces_by_condition"]["test"] == {}
    tune = [row for row in rows_of(synthetic, "traces") if row["fold"] == "tune"]
    by_condition = Counter(row["condition"] for row in tune)
    assert manifest.counts["traces_by_condition"]["validation"] == by_condition
    hidden = whole.counts["traces"]["test"]
    assert manifest.label_counts["test"] == {
        "faithful": 0,
        "unfaithful": 0,
        "unknown": 0,
        "withheld": hidden,
    }
    assert manifest.draw_seed == 0 and not manifest.seeds and not manifest.screening


def test_the_key_is_the_dataset_under_the_new_ids(synthetic: Path, key: Path) -> None:
    gone = {row["trace_id"] for row in filter(hides, rows_of(synthetic, "traces"))}
    inner = {
        row["intervention_id"]: renamed("i", row["intervention_id"])
        for row in rows_of(synthetic, "interventions")
        if row["trace_id"] in gone
    }

    def now(name: Any) -> Any:
        return renamed("t", name) if name in gone else inner.get(name, name)

    for config, columns in (
        ("traces", ("trace_id", "anchor_id")),
        ("pairs", ("anchor_id", "partner_id")),
        ("interventions", ("trace_id", "intervention_id")),
    ):
        expected = []
        for row in rows_of(synthetic, config):
            row |= {name: now(row[name]) for name in columns}
            if config == "traces":
                row["label_evidence"] = sorted(map(now, row["label_evidence"]))
            if config == "pairs":
                row.pop("pair_id")
            expected.append(row)
        found = rows_of(key, config)
        for row in found:
            if config == "traces":
                row["label_evidence"].sort()
            if config == "pairs":
                row.pop("pair_id")
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_scores_of_the_public_folder_are_worth_the_same_with_the_key(
    synthetic: Path, public: Path, key: Path
) -> None:
    gone = {row["trace_id"] for row in filter(hides, rows_of(synthetic, "traces"))}
    scores = {}
    for place in (synthetic, public):
        table = run_detector("biasing", fd.open(place), (0,)).to_pydict()
        scores[place] = dict(zip(table["trace_id"], table["score"], strict=True))
    moved = {renamed("t", k) if k in gone else k: v for k, v in scores[synthetic].items()}
    assert scores[public] == pytest.approx(moved)
    reports = [
        fb.evaluate_scores(
            {"trace_id": list(scores[place]), "score": list(scores[place].values())},
            data,
            n_resamples=0,
        ).to_dict()
        for place, data in ((synthetic, synthetic), (public, key))
    ]
    left, right = (report["full"] for report in reports)
    exact = {name for name in left if not name.startswith("risk")}
    assert {name: left[name] for name in exact} == {name: right[name] for name in exact}
    # Sums in another order of rows may differ in the last digit.
    assert left["risk"] == pytest.approx(right["risk"])
    assert left["ivr"] is not None


@pytest.mark.parametrize("name", ["length_only", "instance_level", "hidden_state"])
def test_detectors_fit_and_score_without_the_labels(public: Path, name: str) -> None:
    data = fd.open(public)
    table = run_detector(name, data, (0,))
    scored = {row["trace_id"] for row in rows_of(public, "traces") if row["split"] != "train"}
    assert set(table["trace_id"].to_pylist()) == scored
    assert len(set(table["score"].to_pylist())) > 10


def test_a_view_has_the_probes_of_all_traces_and_labels_of_train_and_tune(
    tmp_path: Path, public: Path
) -> None:
    data = fd.open(public)
    assert data.view("test", needs=("interventions",)).interventions.names == PROBES
    assert set(data.view("validation", "tune").labels.tolist()) == {-1, 0, 1}
    with pytest.raises(fd.InputError, match="not a detector's to read"):
        data.view("validation", "calib").labels  # noqa: B018


def test_evaluate_and_all_that_needs_labels_answer_in_one_line(
    public: Path, tmp_path: Path
) -> None:
    said = "labels of calib and test are withheld: only the key"
    scores = {"trace_id": ["x"], "score": [0.5]}
    for ask in (
        lambda: fb.evaluate_scores(scores, public),
        lambda: fb.compare([scores], public),
        lambda: run_demo(str(public), tmp_path / "demo"),
        lambda: relabel(str(public), "construct", tmp_path / "new"),
        lambda: write_sheets(str(public), 10, tmp_path / "sheets", seed=0),
        lambda: withhold(public, tmp_path / "p", tmp_path / "k", salt=SALT),
    ):
        with pytest.raises(fd.InputError, match=said) as caught:
            ask()
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_info_says_what_is_withheld(public: Path) -> None:
    summary = summarise(fd.open(public))
    assert summary["withheld"] == ["calib", "test"] and summary["splits"]["test"]["items"] is None
    text = render_summary(summary)
    assert "labels of calib and test are withheld" in text and "not told" in text


def test_datasets_reads_the_public_folder(public: Path) -> None:
    from datasets import load_dataset

    for config in CONFIGS:
        found = load_dataset(str(public), config)
        assert set(found) == ({"train", "validation"} if config == "pairs" else set(SPLITS))
    assert fd.load(str(public))["test"].features["label"].dtype == "int8"


def first(rows: list[dict[str, Any]], **where: Any) -> dict[str, Any]:
    return next(row for row in rows if all(row[name] == value for name, value in where.items()))


def set_calib(rows: list[dict[str, Any]]) -> None:
    first(rows, fold="calib").update(condition="base")


def add_probe(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*rows, rows[0] | {"intervention_id": "x", "kind": "mistake"}]


FAULTS: dict[str, tuple[str, str, Any, str]] = {
    "label": ("traces", "test", lambda r: r[3].update(label=1, label_rule="given"), "label"),
    "condition": ("traces", "validation", set_calib, "condition"),
    "evidence": ("traces", "test", lambda r: r[0].update(label_evidence=["x"]), "label_evidence"),
    "seed": ("interventions", "test", lambda r: r[0].update(seed=7), "seed"),
    "shuffled words": ("interventions", "test", lambda r: r[0].update(injected="b a"), "injected"),
    "label row": ("interventions", "test", lambda r: r[0].update(role="label"), "role"),
    "a probe too few": ("interventions", "test", lambda r: r[1:], "kind"),
    "a probe too many": ("interventions", "test", add_probe, "kind"),
    "pair": ("pairs", "train", None, "anchor_id"),
    "null in train": ("traces", "train", lambda r: r[0].update(condition=None), "condition"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_check_sees_what_tells_of_a_withheld_label(copy: Path, name: str) -> None:
    config, split, how, field = FAULTS[name]
    hidden = next(filter(hides, rows_of(copy, "traces")))["trace_id"]
    rewrite(copy, config, split, how or (lambda rows: rows[0].update(anchor_id=hidden)))
    found = {(problem.check, problem.field) for problem in fd.check(copy)}
    assert found & {("withheld", field), ("values", field)}, found


def test_an_ordinary_folder_may_not_lack_a_condition(tmp_path: Path) -> None:
    folder = write_synthetic(tmp_path / "d", 20)
    path = folder / "traces" / "test.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("condition")
    field = table.schema.field(at).with_nullable(True)
    pq.write_table(table.set_column(at, field, pa.nulls(table.num_rows, pa.string())), path)
    agree(folder)
    (problem,) = [each for each in fd.check(folder) if each.field == "condition"]
    assert (problem.message, problem.got) == ("required", "null")
    with pytest.raises(fd.InputError, match="field condition: required"):
        fd.open(folder).table("traces", "test")


def test_a_question_of_train_is_found_in_withheld_rows(copy: Path) -> None:
    question = rows_of(copy, "traces")[0]["question"]
    rewrite(copy, "traces", "test", lambda rows: rows[0].update(question=question))
    assert {"same question"} <= {problem.check for problem in fd.check(copy)}


def test_another_key_and_an_altered_one_are_refused(
    public: Path, key: Path, tmp_path: Path
) -> None:
    other = write_synthetic(tmp_path / "other", 20)
    withhold(other, tmp_path / "p", tmp_path / "k", salt=SALT)
    assert [p.field for p in check_key(public, tmp_path / "k")] == ["key_of"]
    assert check_key(key, key)[0].message == "withholds nothing"
    altered = Path(shutil.copytree(key, tmp_path / "altered"))
    rewrite(altered, "traces", "test", lambda rows: first(rows, label=1).update(label=0))
    assert check_key(public, altered) == []
    assert [p.field for p in check_key(public, altered, salt=SALT)] == ["commitment"]


def test_the_same_salt_gives_the_same_folders_and_another_one_other_ids(
    synthetic: Path, public: Path, key: Path, tmp_path: Path
) -> None:
    withhold(synthetic, tmp_path / "p", tmp_path / "k", salt=f" {SALT}\n".encode())
    assert Manifest.read(tmp_path / "p/manifest.json") == Manifest.read(public / "manifest.json")
    assert Manifest.read(tmp_path / "k/manifest.json") == Manifest.read(key / "manifest.json")


def test_one_part_alone(tmp_path: Path) -> None:
    source = write_synthetic(tmp_path / "source", 20)
    withhold(source, tmp_path / "p", tmp_path / "k", salt=SALT, what=("calib",))
    rows = rows_of(tmp_path / "p", "traces")
    assert all((row["condition"] is None) == (row["fold"] == "calib") for row in rows)
    view = fd.open(tmp_path / "p").view("test", needs=("interventions",))
    assert view.interventions.names == PROBES


def test_a_dataset_without_descriptors_is_parted_too(tmp_path: Path) -> None:
    source = write_synthetic(tmp_path / "source", 20)
    shutil.rmtree(source / "trajectories")
    manifest = json.loads((source / "manifest.json").read_text())
    (source / "manifest.json").write_text(json.dumps(manifest | {"descriptors": {}}))
    agree(source)
    withhold(source, tmp_path / "p", tmp_path / "k", salt=SALT)
    assert fd.check(tmp_path / "p") == [] and not (tmp_path / "p" / "trajectories").exists()


def test_traces_that_were_not_measured_would_be_told_apart(tmp_path: Path) -> None:
    source = write_synthetic(tmp_path / "source", 20)
    manifest = json.loads((source / "manifest.json").read_text())
    manifest["counts"]["not_measured"] = {"no reasoning": 1}
    (source / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(fd.InputError, match="traces without descriptors would be told apart"):
        withhold(source, tmp_path / "p", tmp_path / "k", salt=SALT)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"salt": "abcdefghi"}, "salt: too short (expected at least 32 random characters"),
        ({"salt": "ab" * 40}, "not random"),
        ({"what": ("train",)}, "field what: unknown"),
        ({"what": ()}, "field what: unknown"),
        ({"key": "out/key"}, "lies in the public folder"),
        ({"key": "taken"}, "already exists"),
        ({"folder": "none"}, "no such dataset"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(
    synthetic: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    given: dict[str, Any] = {"folder": synthetic, "key": "key", "salt": SALT} | change
    with pytest.raises(fd.InputError) as caught:
        withhold(given.pop("folder"), tmp_path / "out", tmp_path / given.pop("key"), **given)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert str(change.get("salt")) not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize("names", [("p", "d/k"), ("d/p", "k")])
def test_neither_folder_may_lie_in_the_dataset(
    synthetic: Path, tmp_path: Path, names: tuple[str, str]
) -> None:
    source = shutil.copytree(synthetic, tmp_path / "d")
    public, key = (tmp_path / name for name in names)
    with pytest.raises(fd.InputError, match="lies in the dataset"):
        withhold(source, public, key, salt=SALT)
    assert not public.exists() and not key.exists() and fd.check(source) == []


def test_a_dataset_that_is_not_sound_is_not_parted(tmp_path: Path) -> None:
    def spoil(rows: Any) -> None:
        rows["pairs"][0]["partner_label"] = 1 - (rows["pairs"][0]["partner_label"] or 0)

    source = write_synthetic(tmp_path / "source", 20, mutate=spoil)
    with pytest.raises(fd.InputError, match="not sound, nothing is written"):
        withhold(source, tmp_path / "p", tmp_path / "k", salt=SALT)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_git_does_not_see_the_key(synthetic: Path, key: Path, tmp_path: Path) -> None:
    shutil.copytree(key, tmp_path / "repository" / "labels")
    (tmp_path / "repository" / "seen").write_text("")
    environment = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    for command in (["init", "-q"], ["add", "-A"], ["ls-files"]):
        done = subprocess.run(
            ["git", *command],
            cwd=tmp_path / "repository",
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout == "seen\n"
    assert key.stat().st_mode & 0o077 == 0


def test_the_salt_is_nowhere(public: Path, key: Path) -> None:
    for folder in (public, key):
        assert SALT not in everything(folder)
        for path in folder.rglob("*"):
            assert path.is_dir() or SALT.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parts": ["train"]}, "withheld.parts: not allowed"),
        ({"parts": []}, "withheld.parts: not allowed"),
        ({}, "withheld.parts: missing key"),
        ({"parts": ["test"], "why": 1}, "withheld.why: unknown key"),
    ],
)
def test_a_manifest_withholds_calib_and_test_or_one_of_them(given: Any, said: str) -> None:
    with pytest.raises(fd.InputError, match=said):
        Manifest.from_dict({"name": "x", "version": "1", "withheld": given})


def test_several_models_stay_columns_of_content(public: Path) -> None:
    assert {row["model_id"] for row in filter(hides, rows_of(public, "traces"))} == {MODEL}
