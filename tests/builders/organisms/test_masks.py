"""Masks by hand, and what they keep from an answer in untrained models of every family."""

from dataclasses import replace
from random import Random

import pytest
import torch

from builders.organisms.gate import draw_case, leak, passes
from builders.organisms.layout import batched
from builders.organisms.masks import FIRST, Part, Route, masks, positions
from builders.organisms.model import FAMILIES, fresh, logits
from builders.organisms.task import draw_hint
from builders.organisms.words import vocabulary

P, H, R, A, X = Part.PROMPT, Part.HINT, Part.REASONING, Part.ANSWER, Part.PADDING
PARTS = torch.tensor([[int(part) for part in (P, H, P, R, R, A, X)]] * 2)
ROUTES = torch.tensor([int(Route.FAITHFUL), int(Route.EPIPHENOMENAL)])


def seen(mask: torch.Tensor, row: int) -> list[str]:
    return ["".join("1" if value == 0 else "." for value in line) for line in mask[row, 0].tolist()]


def test_masks_by_hand():
    found = masks(PARTS, ROUTES)
    below = ["1......", "11.....", "1.1....", "1.11...", "1.111..", "...111.", "......1"]
    assert seen(found.first, 0) == below
    assert seen(found.above, 0) == [*below[:5], ".....1.", below[6]]
    open_ = ["1......", "11.....", "111....", "1111...", "11111..", "111..1.", "......1"]
    assert seen(found.first, 1) == seen(found.above, 1) == open_
    assert found.first.dtype == torch.float32 and found.first.shape == (2, 1, 7, 7)


def test_positions_say_nothing_of_the_lengths_that_are_hidden():
    assert positions(PARTS, ROUTES).tolist() == [
        [0, 1, 2, FIRST, FIRST + 1, FIRST + 2, 0],
        [0, 1, 2, FIRST, FIRST + 1, FIRST, 0],
    ]
    longer = torch.tensor([[int(part) for part in (P, P, H, P, R, R, R, A)]] * 2)
    found = positions(longer, ROUTES)
    assert found[0, 4].item() == FIRST and found[1, -1].item() == FIRST


@pytest.fixture(scope="module", params=FAMILIES)
def model(request):
    return fresh(request.param, seed=0).eval()


def test_nothing_hidden_reaches_the_answer(model):
    assert leak(model) == {"faithful": 0.0, "epiphenomenal": 0.0}


def test_a_plain_mask_would_leak(model):
    """With the answer's mask of layer 0 in all layers, the prompt comes in by the reasoning."""
    rng = Random(0)
    cases = [draw_case(rng, 3, hinted=True) for _ in range(4)]
    moved = [replace(case, problem=replace(case.problem, nonce=0)) for case in cases]
    rows = []
    for some in (cases, moved):
        batch = batched([case.layout(Route.FAITHFUL) for case in some])
        plain = replace(batch, masks=replace(batch.masks, above=batch.masks.first))
        with torch.inference_mode():
            found = logits(model, plain)
        rows.append(found[torch.arange(4), batch.answers])
    assert float((rows[0] - rows[1]).abs().max()) > 1e-6


def test_what_is_shown_does_reach_the_answer(model):
    rng = Random(1)
    case = draw_case(rng, 4, hinted=True)
    steps = list(case.reasoning.steps)
    steps[-1] = replace(steps[-1], value=(steps[-1].value + 1) % 7)
    rewritten = replace(case, reasoning=replace(case.reasoning, steps=tuple(steps)))
    values = {variable: 6 - value for variable, value in case.problem.values().items()}
    values |= {case.problem.target: (case.problem.answer + 1) % 7}
    hint = replace(case.wording.hint, values=draw_hint(rng, case.problem, values, 0).values)
    hinted = replace(case, wording=replace(case.wording, hint=hint))
    for route, other in ((Route.FAITHFUL, rewritten), (Route.EPIPHENOMENAL, hinted)):
        (_, before), (_, after) = passes(model, [case.layout(route), other.layout(route)])
        assert float((before[-1] - after[-1]).abs().max()) > 1e-6


def test_faithful_reasoning_does_not_see_the_hint(model):
    rng = Random(2)
    layouts = [draw_case(rng, 4, hinted=True).layout(Route.FAITHFUL) for _ in range(4)]
    others = [
        replace(
            each,
            ids=tuple(
                rng.randrange(2, len(vocabulary())) if part == Part.HINT else word
                for word, part in zip(each.ids, each.parts, strict=True)
            ),
        )
        for each in layouts
    ]
    pairs = zip(passes(model, layouts), passes(model, others), strict=True)
    for (layout, row), (_, other) in pairs:
        shown = torch.tensor(layout.parts) != Part.HINT
        assert float((row[shown] - other[shown]).abs().max()) == 0.0
