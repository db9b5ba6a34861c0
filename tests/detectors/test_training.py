"""What a training leaves: in the saved folder, in the scores' metadata, on stderr, in a report."""

from __future__ import annotations

import json

import numpy as np
import pytest

import faithshift_bench as fb
import faithshift_data as fd
from faithshift_bench.detectors import Detector, apply_saved, registry, run_detector, save_scores
from faithshift_bench.detectors.training import closing_line, plain, seed_warnings, warnings
from faithshift_bench.scores import ScoreTable
from faithshift_data.errors import InputError
from tests.synthetic import write_synthetic

CURVE = [0.7, 0.5, 0.6, 0.65]
RECORD = {
    "epoch": 2,
    "epochs": 4,
    "of": 9,
    "chosen_by": "held_loss",
    "better": "lower",
    "curves": {"held_loss": CURVE},
}


class Slow(Detector):
    """Trains by epochs, and scores by the number of its tune rows."""

    name = "slow"
    kept = 2

    def fit(self, view, *, seed, tune=None):
        for epoch, loss in enumerate(CURVE, 1):
            self.progress(epoch, 9, {"held_loss": loss})
        self.training = {**RECORD, "epoch": np.int64(self.kept), "start": np.float32("nan")}
        self.params["share"] = float((tune.labels >= 0).mean())
        return self

    def score(self, view):
        return np.full(len(view), self.params["share"])


@pytest.fixture
def slow(monkeypatch):
    monkeypatch.setattr(registry, "detector_class", lambda name: Slow)
    monkeypatch.setattr(Slow, "kept", 2)
    return Slow


def test_a_training_that_diverged_says_so():
    for epoch in (0, 2):
        (line,) = warnings({**RECORD, "epoch": epoch, "diverged": True})
        assert line == f"kept epoch {epoch} of 9: it ended by a loss that is not finite"


def test_a_fit_that_wants_it_gets_the_labelled_tune_fold(synthetic, slow):
    data = fd.open(synthetic)
    table = run_detector("slow", data, (0,))
    labels = data.view("validation", "tune").labels
    assert set(table["score"].to_pylist()) == {float((labels >= 0).mean())}


def test_epochs_are_watched_and_told(synthetic, slow):
    seen, lines = [], []

    def watch(label):
        return lambda epoch, of, figures: seen.append((label, epoch, of, dict(figures)))

    run_detector("slow", fd.open(synthetic), (3, 5), progress=lines.append, watch=watch)
    assert [row[:3] for row in seen] == [
        (f"slow: seed {seed}", epoch, 9) for seed in (3, 5) for epoch in (1, 2, 3, 4)
    ]
    assert seen[1][3] == {"held_loss": 0.5}
    assert lines == [
        line
        for seed in (3, 5)
        for line in (
            f"slow: seed {seed}",
            f"slow: seed {seed}: epoch 2 of 9 kept, stopped early after 4; held_loss 0.500",
        )
    ]


def test_the_record_is_kept_with_the_detector_and_with_the_scores(synthetic, slow, tmp_path):
    table = run_detector("slow", fd.open(synthetic), (0, 1), save=tmp_path / "kept")
    whole = {**RECORD, "start": None}
    described = json.loads((tmp_path / "kept" / "seed-1" / "detector.json").read_text())
    assert described["training"] == whole
    about = ScoreTable.load(save_scores(table, tmp_path / "s.parquet")).about
    assert about["training"] == {"0": whole, "1": whole}
    assert Slow().load(tmp_path / "kept" / "seed-0").training == whole


def test_a_run_that_hardly_learned_is_flagged_everywhere(synthetic, slow, monkeypatch, tmp_path):
    monkeypatch.setattr(Slow, "kept", 1)
    lines: list[str] = []
    table = run_detector("slow", fd.open(synthetic), (7,), progress=lines.append)
    assert lines[-1].startswith("slow: seed 7: kept epoch 1 of 9: no later one was better")
    path = save_scores(table, tmp_path / "s.parquet")
    report = fb.evaluate_scores(path, synthetic, n_resamples=0)
    assert any(flag.startswith("seed 7 kept epoch 1 of 9") for flag in report.flags)


@pytest.mark.parametrize(("epoch", "flagged"), [(0, True), (1, True), (2, False), (4, False)])
def test_only_the_start_and_the_first_epoch_are_flagged(epoch, flagged):
    assert bool(warnings({**RECORD, "epoch": epoch})) is flagged


def test_members_are_told_apart():
    members = {"members": [RECORD, {**RECORD, "epoch": 0}, {"members": [RECORD, RECORD]}]}
    assert closing_line(members) == "epochs kept by its 4 members: 2, 0, 2, 2"
    assert [line.partition(":")[0] for line in warnings(members)] == ["member 2 kept epoch 0 of 9"]


def test_a_training_to_the_end_is_not_called_early():
    assert closing_line({**RECORD, "of": 4}) == "epoch 2 of 4 kept; held_loss 0.500"
    assert closing_line({}) is None
    assert closing_line({"epoch": 3}) == "epoch 3 of ? kept"


@pytest.mark.parametrize("said", [None, [], {"0": 1}, {"0": {"epoch": "1"}}, {"0": {"members": 3}}])
def test_what_a_foreign_file_says_of_its_training_breaks_nothing(said):
    assert seed_warnings(said) == []


@pytest.mark.parametrize("record", [[1], {"curves": object()}, {"curves": {1, 2}}])
def test_a_record_that_is_no_json_is_one_line(record):
    with pytest.raises(InputError, match="slow, field training"):
        plain(record, "slow")


@pytest.fixture(scope="module")
def kept(synthetic, tmp_path_factory):
    """Two saved seeds of a detector on interventions and descriptors, and their scores."""
    folder = tmp_path_factory.mktemp("kept")
    return folder, run_detector("instance_level", fd.open(synthetic), (0, 4), save=folder)


def test_what_was_saved_scores_the_same_data_the_same(synthetic, kept):
    folder, table = kept
    again = apply_saved("instance_level", fd.open(synthetic), folder)
    assert again.equals(table)
    alone = apply_saved("instance_level", fd.open(synthetic), folder / "seed-4")
    assert alone.equals(table.filter([seed == 4 for seed in table["seed"].to_pylist()]))
    assert apply_saved("instance_level", fd.open(synthetic), folder, (4,)).equals(alone)


def test_what_was_saved_scores_every_trace_of_other_data(kept, tmp_path):
    folder, _ = kept
    other = fd.open(write_synthetic(tmp_path / "other", 8, seed=2))
    table = apply_saved("instance_level", other, folder / "seed-0")
    assert set(table["trace_id"].to_pylist()) == set(other.table("traces")["trace_id"].to_pylist())
    about = json.loads(table.schema.metadata[b"faithshift"])
    assert about["fit_on"] == "synthetic" and about["params"]["hidden"] == 128


def test_other_data_lose_what_was_not_fitted_and_need_what_was(kept, synthetic, tmp_path):
    def only(*kinds):
        def mutate(rows):
            rows["interventions"] = [
                row
                for row in rows["interventions"]
                if row["role"] == "label" or row["kind"] in kinds
            ]

        return mutate

    less = fd.open(write_synthetic(tmp_path / "less", 8, mutate=only("truncate", "scramble")))
    with pytest.raises(InputError, match="synthetic: .*interventions that are not.*filler"):
        apply_saved("instance_level", less, kept[0])
    run_detector("instance_level", less, (0,), save=tmp_path / "kept")
    lines: list[str] = []
    apply_saved("instance_level", fd.open(synthetic), tmp_path / "kept", progress=lines.append)
    assert lines[-1] == "interventions that it was not fitted with, left out: filler"


@pytest.mark.parametrize(
    ("name", "seeds", "match"),
    [
        ("hidden_state", None, "another detector was saved"),
        ("instance_level", (2,), "no such seed"),
    ],
)
def test_what_was_not_saved_is_refused(synthetic, kept, name, seeds, match):
    with pytest.raises(InputError, match=match):
        apply_saved(name, fd.open(synthetic), kept[0], seeds)


def test_a_folder_without_a_detector_is_one_line(synthetic, tmp_path):
    with pytest.raises(InputError, match="no saved detector"):
        apply_saved("biasing", fd.open(synthetic), tmp_path)


@pytest.mark.parametrize("device", ["cuda", "gpu", "cuda:1"])
def test_a_device_that_the_detector_does_not_run_on_is_refused(synthetic, device):
    with pytest.raises(InputError, match="random does not run there .expected cpu"):
        run_detector("random", fd.open(synthetic), (0,), device=device)
