"""Descriptors equal loops over layers, tokens and steps that are written for clarity alone.

The reference reads ``output_hidden_states`` and ``output_attentions`` of a plain eager pass; only
the last block's raw output, which these do not hold, comes from a hook of its own.
"""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from faithshift_data.measure.anatomy import anatomy, listening
from faithshift_data.measure.engines import Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.extract import CHANNELS, SCALARS, describe, observe
from faithshift_data.measure.recorder import Recorder, teacher_force
from faithshift_data.measure.shared_prefix import continue_from, read
from faithshift_data.measure.spans import find_spans
from tests.measure.passes import passes

QUESTION, CUE = "How many pens are there?", "[hint: 41]"
PROMPT = f"<|user|>{QUESTION}\nThink first.\n{CUE}\n<|assistant|>Let us see."
STEPS = [" The box holds 5 pens.", " Then 9 more come.", "\nSo 14 stand there."]
TEXT = PROMPT + "".join(STEPS)
DIGITS = tuple("0123456789-")
ANSWER = "14"


@dataclass
class Plain:
    """What a plain pass holds: residual states, final state, attentions, answer's row."""

    residual: list[np.ndarray]
    final: np.ndarray
    attentions: list[np.ndarray]
    row: np.ndarray


def plain(engine: TransformersEngine, text: str, answer: str) -> Plain:
    blocks = next(m for m in engine.model.modules() if isinstance(m, torch.nn.ModuleList))
    last: list[torch.Tensor] = []
    handle = blocks[-1].register_forward_hook(lambda _, __, out: last.append(out))
    ids = torch.tensor([engine.ids(text)])
    with torch.no_grad():
        output = engine.model(ids, output_hidden_states=True, output_attentions=True)
    handle.remove()
    states = [state[0].double().numpy() for state in (*output.hidden_states[:-1], last[0])]
    row = engine.model.get_output_embeddings().weight[engine.ids(answer)[0]]
    return Plain(
        states,
        output.hidden_states[-1][0].double().numpy(),
        [each[0].double().numpy() for each in output.attentions],
        row.detach().double().numpy(),
    )


def cosine(left: np.ndarray, right: np.ndarray) -> float:
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


def places(engine: TransformersEngine) -> tuple[list[str], list[tuple[int, int]]]:
    """The block of each token and the steps' spans, from the decoded tokens alone."""
    ids = engine.ids(TEXT)
    begins = [len(engine.tokenizer.decode(ids[:k])) for k in range(len(ids) + 1)]
    blocks = []
    for k in range(len(ids)):
        piece = set(range(begins[k], begins[k + 1]))
        if begins[k] >= len(PROMPT):
            blocks.append("reasoning")
        elif piece & set(range(PROMPT.index(CUE), PROMPT.index(CUE) + len(CUE))):
            blocks.append("cue")
        elif piece & set(range(PROMPT.index(QUESTION), PROMPT.index(QUESTION) + len(QUESTION))):
            blocks.append("question")
        else:
            blocks.append("instruction")
    spans, end = [], len(PROMPT)
    for step in STEPS:
        inside = [k for k in range(len(ids)) if end <= begins[k] < end + len(step)]
        spans.append((inside[0], inside[-1] + 1))
        end += len(step)
    return blocks, spans


def profiles(weights: np.ndarray, blocks: list[str], first: int) -> list[list[float]]:
    """Shares of question, cue, instruction, earlier reasoning, window, token by token."""
    table = []
    for t in range(first, weights.shape[1]):
        mass = dict.fromkeys(("question", "cue", "instruction", "reasoning", "window"), 0.0)
        for key in range(1, t + 1):
            name = "window" if key > t - 8 else blocks[key]
            mass[name] += weights[:, t, key].mean()
        table.append([value / sum(mass.values()) for value in mass.values()])
    return table


def keep(p: list[float], q: list[float], kind: str) -> float:
    if kind == "tv":
        return sum(min(a, b) for a, b in zip(p, q, strict=True))
    if kind == "cosine":
        return cosine(np.array(p), np.array(q))
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    gap = 0.0
    for side in (p, q):
        gap += sum(a * np.log2(a / m) for a, m in zip(side, middle, strict=True) if a > 0) / 2
    return 1 - gap


def by_equations(
    engine: TransformersEngine, scale: str = "sqrt_d", stability: str = "tv"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """psi, state and scalars, one number at a time."""
    seen = plain(engine, TEXT, ANSWER)
    blocks, spans = places(engine)
    first, length = spans[0][0], len(blocks)

    def unit(state: np.ndarray) -> float:
        return {"raw": 1.0, "sqrt_d": np.sqrt(len(state)), "rel": np.linalg.norm(state)}[scale]

    tokens = range(first, length)
    velocity = [
        [np.linalg.norm(above[t] - below[t]) / unit(below[t]) for t in tokens]
        for below, above in zip(seen.residual, seen.residual[1:], strict=False)
    ]
    drift = [
        [np.linalg.norm(s[t + 1] - s[t]) / unit(s[t]) for t in tokens[:-1]] + [0.0]
        for s in seen.residual
    ]
    lens = [[cosine(s[t], seen.row) for t in tokens] for s in seen.residual]
    kept = []
    for weights in seen.attentions:
        rows = profiles(weights, blocks, first)
        pairs = zip(rows, rows[1:], strict=False)
        kept.append([*(keep(p, q, stability) for p, q in pairs), 1.0])
    table = []
    for a, b in spans:
        cells = []
        for family in (velocity, drift, lens, kept):
            for band in np.array_split(np.array(family), 4):
                cells += [
                    band[:, a - first : b - first].mean(),
                    band[:, a - first : b - first].std(),
                ]
        table.append(cells)
    end = [cosine(seen.final[t], seen.row) for t in tokens]
    half, reach = len(end) // 2, max(end) - min(end)
    onset = next(t for t, value in enumerate(end) if value >= min(end) + 0.8 * reach) / len(end)
    early = np.mean(end[:half]) - np.mean(end[half:])
    return (
        np.array(table),
        seen.final[first:].mean(axis=0),
        np.array([max(end[:half]), early, onset, reach]),
    )


@pytest.mark.parametrize(
    ("scale", "stability"), [("sqrt_d", "tv"), ("raw", "cosine"), ("rel", "js")]
)
def test_equal_to_the_equations(any_engine, scale: str, stability: str) -> None:
    seen = observe(any_engine, PROMPT, STEPS, question=QUESTION, cue=CUE, candidates=DIGITS)
    found = seen.descriptors(ANSWER, scale=scale, stability=stability)
    psi, state, scalars = by_equations(any_engine, scale, stability)
    assert found.psi.shape == (3, len(CHANNELS)) and found.scalars.shape == (len(SCALARS),)
    assert {each.dtype for each in (found.psi, found.state, found.scalars)} == {np.dtype("f2")}
    # Half precision keeps 11 bits: a relative error of at most 2^-11.
    np.testing.assert_allclose(found.psi, psi, rtol=6e-4, atol=1e-5)
    np.testing.assert_allclose(found.state, state, rtol=6e-4, atol=1e-5)
    np.testing.assert_allclose(found.scalars, scalars, rtol=6e-4, atol=1e-5)


def test_rollout_is_the_dense_one_and_only_there_if_asked_for(any_engine) -> None:
    asked = {"question": QUESTION, "cue": CUE, "candidates": DIGITS}
    seen = observe(any_engine, PROMPT, STEPS, **asked, rollout=True)
    dense = np.eye(len(any_engine.ids(TEXT)))
    for layer in plain(any_engine, TEXT, ANSWER).attentions:
        dense = (layer.mean(axis=0) + np.eye(len(dense))) / 2 @ dense
    expected = dense[-1] @ seen.spans.blocks
    np.testing.assert_allclose(seen.rollout, expected / expected.sum(), atol=1e-5)
    assert (seen.descriptors(ANSWER).arrays["rollout"] > 0).all()
    started = observe(
        any_engine, PROMPT, STEPS, **asked, rollout=True, start=read(any_engine, PROMPT)
    )
    np.testing.assert_array_equal(started.rollout, seen.rollout)
    without = observe(any_engine, PROMPT, STEPS, **asked)
    assert without.rollout is None
    assert "rollout" not in without.descriptors(ANSWER).arrays


def test_describe_is_the_plain_call(engine) -> None:
    seen = observe(engine, PROMPT, STEPS, question=QUESTION, candidates=DIGITS)
    plain_call = describe(engine, PROMPT, STEPS, ANSWER, question=QUESTION)
    for name in ("psi", "state", "scalars"):
        np.testing.assert_array_equal(
            getattr(plain_call, name), getattr(seen.descriptors(ANSWER), name)
        )


def test_the_cue_is_a_block_of_its_own(engine) -> None:
    shares = observe(engine, PROMPT, STEPS, question=QUESTION, cue=CUE).trajectory.profile
    without = observe(engine, PROMPT, STEPS, question=QUESTION).trajectory.profile
    assert (shares[..., 1] > 0).all() and (without[..., 1] == 0).all()
    np.testing.assert_allclose(shares[..., 1:3].sum(-1), without[..., 2], rtol=1e-4)
    np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-5)


def test_states_have_the_names_they_are_documented_by(any_engine) -> None:
    parts, found, depths = anatomy(any_engine.model), {}, []
    ids = torch.tensor([any_engine.ids(TEXT)])
    with torch.no_grad():
        with listening(parts, found.__setitem__, lambda w: depths.append(w.shape)):
            final = parts.base(ids).last_hidden_state
        output = any_engine.model(ids, output_hidden_states=True)
    assert [*found, "final_norm"] == parts.states and len(depths) == 5
    named = {**found, "final_norm": final}
    assert parts.states == ["embed", *(f"layer.{k}.out" for k in range(5)), "final_norm"]
    # Hugging Face's last entry lies after the final norm and the last block's output is in none.
    order = ["embed", *(f"layer.{k}.out" for k in range(4)), "final_norm"]
    for name, state in zip(order, output.hidden_states, strict=True):
        assert torch.equal(named[name], state), name
    assert not torch.allclose(named["layer.4.out"], named["final_norm"])


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(any_engine, side: str) -> None:
    traces = [(PROMPT, STEPS), (PROMPT[:40], STEPS[:1]), ("Why? " + PROMPT, STEPS[:2])]
    rows = any_engine.model.get_output_embeddings().weight[any_engine.ids("0123")].detach()

    def recorder(prompt: str, steps: list[str]) -> Recorder:
        return Recorder(find_spans(any_engine.tokenizer, prompt, steps), rows)

    fresh = [recorder(*trace) for trace in traces]
    assert len({len(each.ids) for each in fresh}) == 3
    together, _ = teacher_force(any_engine, fresh, padding_side=side)
    for trace, batched in zip(traces, together, strict=True):
        (alone,), _ = teacher_force(any_engine, [recorder(*trace)])
        for name, expected in vars(alone).items():
            np.testing.assert_allclose(
                getattr(batched, name), expected, rtol=1e-3, atol=1e-4, err_msg=name
            )


def test_answers_continue_from_the_pass(any_engine) -> None:
    texts = [TEXT + "\nThe answer is", PROMPT + STEPS[0] + "\nThe answer is", "Other\nThe answer"]
    seen = observe(any_engine, PROMPT, STEPS)
    expected = continue_from(any_engine, read(any_engine, TEXT), texts, Sampling(6))
    assert continue_from(any_engine, seen.reading, texts, Sampling(6)) == expected
    assert expected == any_engine.complete(texts, [0, 0, 0], Sampling(6))


@pytest.mark.parametrize(
    "start", [PROMPT, PROMPT[:30] + " and else", PROMPT + STEPS[0], TEXT + " More", "Else"]
)
def test_a_pass_that_starts_from_another_reading_sees_the_same(any_engine, start: str) -> None:
    asked = {"question": QUESTION, "cue": CUE, "candidates": DIGITS}
    alone = observe(any_engine, PROMPT, STEPS, **asked)
    with passes(any_engine) as seen:
        started = observe(any_engine, PROMPT, STEPS, **asked, start=read(any_engine, start))
    for name, expected in vars(alone.trajectory).items():
        found = getattr(started.trajectory, name)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4, err_msg=name)
    texts = [TEXT + "\nThe answer is", PROMPT + STEPS[0] + "\nThe answer is"]
    expected = any_engine.complete(texts, [0, 0], Sampling(6))
    assert continue_from(any_engine, started.reading, texts, Sampling(6)) == expected
    kept = len(os.path.commonprefix([any_engine.ids(start), any_engine.ids(PROMPT)]))
    assert seen[1] == (1, len(any_engine.ids(TEXT)) - kept)


def test_no_layer_waits_for_the_next(any_engine) -> None:
    """While a pass runs, attention weights of one layer and states of few are alive."""
    length, blocks = len(any_engine.ids(TEXT)), anatomy(any_engine.model).blocks
    weights, states = (1, 4, length, length), (1, length, 32)
    most = {weights: 0, states: 0}

    def count(*_: object) -> None:
        shapes = [tuple(o.shape) for o in gc.get_objects() if type(o) is torch.Tensor]
        for shape in most:
            most[shape] = max(most[shape], shapes.count(shape))

    handles = [block.register_forward_hook(count) for block in blocks]
    seen = observe(any_engine, PROMPT, STEPS, candidates=DIGITS)
    for handle in handles:
        handle.remove()
    assert most[weights] <= 1 and 1 <= most[states] <= 5
    held = sum(value.nbytes for value in vars(seen.trajectory).values())
    per_token = (5 + 3 * 6 + 6 * 11 + 11 + 5 * 5) * 4
    assert held <= per_token * length + 32 * 4
    plain_pass = any_engine.model(
        torch.tensor([seen.reading.ids]), output_hidden_states=True, output_attentions=True
    )
    count()
    assert most[weights] >= 5 and most[states] >= 6, "the count sees what a plain pass holds"
    del plain_pass


def test_what_follows_the_reasoning_is_not_described(engine) -> None:
    """A longer text changes no number of earlier tokens, but for the last one's successor."""
    short = observe(engine, PROMPT, STEPS[:2], candidates=DIGITS).trajectory
    long = observe(engine, PROMPT, STEPS, candidates=DIGITS).trajectory
    n = short.norm.shape[1]
    np.testing.assert_allclose(long.lens[:, :n], short.lens, atol=1e-5)
    np.testing.assert_allclose(long.drift[:, : n - 1], short.drift[:, :-1], rtol=1e-4)
    assert (short.drift[:, -1] == 0).all() and (long.drift[:, n - 1] > 0).all()


def test_the_first_token_is_never_described(engine) -> None:
    seen = observe(engine, "", STEPS, candidates=DIGITS)
    assert seen.spans.first == 1 and seen.trajectory.norm.shape[1] == len(seen.reading.ids) - 1


def test_answers_that_cannot_be_read(engine) -> None:
    seen = observe(engine, PROMPT, STEPS, candidates=("A", "B"))
    with pytest.raises(ValueError, match="without an answer"):
        seen.descriptors(None)
    with pytest.raises(ValueError, match="begins as no candidate"):
        seen.descriptors("C")
    with pytest.raises(ValueError, match="has no token"):
        seen.descriptors(" ")
    with pytest.raises(ValueError, match="scale 'half'"):
        seen.descriptors("A", scale="half")
    with pytest.raises(ValueError, match="stability 'half'"):
        seen.descriptors("A", stability="half")


def test_faults(engine, tmp_path) -> None:
    with pytest.raises(ValueError, match="no token"):
        observe(engine, PROMPT, [""])
    with pytest.raises(ValueError, match="does not hold the cue"):
        observe(engine, PROMPT, STEPS, cue="[hint: 42]")
    with pytest.raises(ValueError, match="no list of 7 blocks"):
        model = torch.nn.Module()
        model.base_model, model.config = torch.nn.Linear(1, 1), type("C", (), {})()
        model.config.num_hidden_layers = 7
        anatomy(model)


def test_attention_that_gives_no_weights_is_refused_and_leaves_no_hook(engine) -> None:
    parts = anatomy(engine.model)
    hooks = [len(each._forward_hooks) for each in (*parts.blocks, *parts.attentions)]
    engine.model.set_attn_implementation("sdpa")
    try:
        with pytest.raises(ValueError, match="attention='eager'"):
            observe(engine, PROMPT, STEPS)
    finally:
        engine.model.set_attn_implementation("eager")
    assert hooks == [len(each._forward_hooks) for each in (*parts.blocks, *parts.attentions)]


def test_temperature_divides_the_logits_of_attention(any_engine: TransformersEngine) -> None:
    def first(temperature: float) -> torch.Tensor:
        path = any_engine.model.config._name_or_path
        made = TransformersEngine(path, attention="eager", attention_temperature=temperature)
        with torch.inference_mode():
            found = made.model(torch.tensor([made.ids(TEXT)]), output_attentions=True)
        return found.attentions[0]

    # The first block sees the same logits: softmax(z / T) is softmax(z) ** (1 / T), normed.
    cold = first(1.0) ** (1 / 2.5)
    assert torch.allclose(first(2.5), cold / cold.sum(-1, keepdim=True), atol=1e-5)
    assert not torch.allclose(first(2.5), first(1.0), atol=1e-3)
