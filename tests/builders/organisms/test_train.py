"""Training is a function of the seed, kept whole, and counted where it fails."""

import json
from dataclasses import replace
from functools import partial
from random import Random

import pytest
import torch

from builders.organisms.gate import INTERVENTIONS, draw_case, gate, written
from builders.organisms.layout import batched
from builders.organisms.masks import Part, Route
from builders.organisms.model import FAMILIES, fresh, logits
from builders.organisms.muon import Muon, orthogonal
from builders.organisms.store import load, read_gate, rounded
from builders.organisms.train import Recipe, learn, train

SHORT = Recipe(steps=2, batch=4, warm=1)


def test_orthogonal_matrices_keep_their_directions():
    torch.manual_seed(0)
    for shape in ((3, 8, 20), (2, 20, 8), (1, 16, 16)):
        given = torch.randn(shape)
        found = orthogonal(given)
        left, _, right = torch.linalg.svd(given, full_matrices=False)
        assert found.shape == given.shape
        sizes = torch.linalg.svdvals(found)
        assert float(sizes.min()) > 0.5 and float(sizes.max()) < 1.3
        # In the given matrix's own directions nothing is off the diagonal.
        turned = left.mT @ found @ right.mT
        off = turned - torch.diag_embed(torch.diagonal(turned, dim1=1, dim2=2))
        assert float(off.abs().max()) < 1e-3


def test_a_step_of_muon_agrees_with_torchs_own():
    torch.manual_seed(1)
    given, gradient = torch.randn(6, 4), torch.randn(6, 4)
    moved = []
    for kind in (Muon, torch.optim.Muon):
        weight = torch.nn.Parameter(given.clone())
        optimiser = kind([weight], lr=0.1, weight_decay=0.0)
        for _ in range(2):
            weight.grad = gradient.clone()
            optimiser.step()
        moved.append(weight.detach() - given)
    # Torch rounds to bfloat16 on the way.
    assert torch.allclose(moved[0], moved[1], atol=0.01)


def test_the_rate_rises_stays_and_falls():
    recipe = Recipe(steps=100, warm=10, decay=0.4, last=0.02)
    assert recipe.factor(5) == 0.5 and recipe.factor(10) == recipe.factor(60) == 1.0
    assert recipe.factor(80) == pytest.approx(0.51) and recipe.factor(100) == pytest.approx(0.02)


@pytest.mark.parametrize("family", FAMILIES)
def test_same_seed_same_weights(family):
    one, two, other = (learn(family, seed, SHORT).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_a_seed_that_fails_is_kept_counted_and_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("builders.organisms.train.gate", partial(gate, cases=4))
    folder = tmp_path / "cohere-0"
    seen = []
    found = train("cohere", 0, folder, recipe=SHORT, progress=lambda *at: seen.append(at[:2]))
    assert seen == [(1, 2), (2, 2)]
    assert found["passed"] is False and "exact faithful" in found["failed"]
    assert found["leak"] == {"faithful": 0.0, "epiphenomenal": 0.0}
    assert json.loads((folder / "gate.json").read_text("utf-8")) == found == read_gate(folder)
    stamp = (folder / "model.safetensors").stat().st_mtime_ns
    assert train("cohere", 0, folder, recipe=SHORT) == found
    assert (folder / "model.safetensors").stat().st_mtime_ns == stamp
    with pytest.raises(ValueError, match="passed its gate"):
        load(folder)
    found["passed"] = True
    (folder / "gate.json").write_text(json.dumps(found), "utf-8")
    kept = load(folder)
    learnt = rounded(learn("cohere", 0, SHORT))
    for name, weight in learnt.state_dict().items():
        assert torch.equal(weight, kept.state_dict()[name])


def test_one_pass_decides_what_greedy_writing_would_give():
    """An untrained model's own greedy text is found to be written by it; any other is not."""
    model = fresh("gpt_neox", 1).eval()
    case = draw_case(Random(0), 3, hinted=True)
    layout = case.layout(Route.FAITHFUL)
    prompt, room = layout.begin, len(layout.ids) - 1 - layout.begin
    ids = list(layout.ids)
    for place in range(prompt, prompt + room):
        shorter = replace(
            layout,
            ids=(*ids[:place], layout.ids[-1]),
            parts=(*layout.parts[:place], int(Part.ANSWER)),
        )
        with torch.inference_mode():
            row = logits(model, batched([shorter]))[0]
        ids[place] = int(row[place - 1].argmax())
    own = replace(layout, ids=tuple(ids))
    ids[prompt + 2] += 1
    assert written(model, [own, replace(layout, ids=tuple(ids)), layout]) == [True, False, False]


def test_interventions_change_what_they_say():
    rng = Random(1)
    for name, (change, hinted, _) in INTERVENTIONS.items():
        for _ in range(30):
            case = draw_case(rng, rng.randrange(2, 7), hinted=hinted)
            moved = change(rng, case)
            assert (moved.reasoning.stated != case.reasoning.stated) == (
                name in ("last_value", "middle_value", "trusted")
            )
            assert (moved.problem.nonce != case.problem.nonce) == (name == "nonce_moved")
            if hinted:
                stated = [dict(c.wording.hint.values)[c.problem.target] for c in (case, moved)]
                assert (stated[0] != stated[1]) == (name == "hint_moved")
                assert moved.wording.hint.values[0][0] == case.problem.target


def test_an_untrained_model_fails_the_gate():
    found = gate(fresh("phi", 0).eval(), cases=8)
    assert not found["passed"]
    assert {"exact faithful", "exact epiphenomenal"} <= set(found["failed"])
    assert found["interventions"]["last_value"]["epiphenomenal"] == 0.0
    assert found["interventions"]["nonce_moved"]["faithful"] == 0.0
