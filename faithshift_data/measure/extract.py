"""Trajectory descriptors from one white-box reading of prompt and reasoning.

Four families, each a number a layer and token (S eqs. 17-21):

* velocity: ``||H[l+1,t] - H[l,t]|| / sqrt(d)``, how far a block moves a state;
* drift: ``||H[l,t+1] - H[l,t]|| / sqrt(d)``, how far the next token's state lies;
* lens: cosine of ``H[l,t]`` with the unembedding row of the trace's own answer token, an
  early-commitment signal; it reads the answer, never the label;
* stability: ``1 - TV(q[l,t], q[l,t+1])`` where q is the head-mean attention of token t on the
  prompt, the reasoning so far and the last few tokens, renormalised without the first token.

Layers are pooled into 4 bands of equal depth; a step's channel is the mean or the standard
deviation over its tokens and the layers of a band. Token 0 is an attention sink and belongs
to no span; neither prompt nor answer tokens are described. The last hidden state lies after
the final norm, in another space, so velocity and drift use the residual stream only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch

from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.shared_prefix import Reading

BANDS = 4
MAX_STEPS = 16
WINDOW = 8
FAMILIES = ("velocity", "drift", "lens", "stability")
CHANNELS = tuple(
    f"{family}.{band}.{moment}"
    for family in FAMILIES
    for band in range(BANDS)
    for moment in ("mean", "sd")
)


@dataclass(frozen=True)
class Descriptors:
    """What a trace's trajectory is reduced to.

    Attributes:
        psi: float16 (n_steps, 32), n_steps at most 16, channels as in ``CHANNELS``.
        state: float16 (d,), the final-norm state averaged over the reasoning's tokens.
    """

    psi: np.ndarray
    state: np.ndarray


@torch.inference_mode()
def describe(
    engine: TransformersEngine, reading: Reading, prompt: str, steps: Sequence[str], answer: str
) -> Descriptors:
    """Reduce a reading of ``prompt + "".join(steps)`` to step channels and a pooled state.

    Args:
        engine: the engine that made the reading.
        reading: made with ``states=True``.
        prompt: the text before the reasoning.
        steps: exact cover of the reasoning, at least one.
        answer: the trace's answer as the model prints it, such as ``(B)`` or ``42``.

    Raises:
        ValueError: no token falls into the reasoning, or a value does not fit float16.
    """
    if reading.hidden_states is None or reading.attentions is None:
        raise ValueError("describe needs a reading with states=True")
    text = prompt + "".join(steps)
    spans = step_spans(engine, text, len(prompt), steps)
    residual = torch.stack(reading.hidden_states[:-1])[:, 0].float()
    final = reading.hidden_states[-1][0].float()
    first, last = spans[0][0], spans[-1][1]
    families = [
        _velocity(residual),
        _drift(residual),
        _lens(engine, residual, answer),
        _stability(reading.attentions, first),
    ]
    psi = np.concatenate([_pool(values.numpy(), spans) for values in families], axis=1)
    state = final[first:last].mean(dim=0).numpy()
    return Descriptors(_half(psi), _half(state))


def step_spans(
    engine: TransformersEngine, text: str, start: int, steps: Sequence[str]
) -> list[tuple[int, int]]:
    """Token spans of the steps in one joint encoding; more than 16 are merged evenly.

    A token belongs to the step in which it begins; steps without a token are skipped.
    """
    encoded = engine.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    begins = np.array([max(begin, 0) for begin, _ in encoded["offset_mapping"]])
    ends = [start, *accumulate((len(step) for step in steps), initial=start)][1:]
    bounds = np.maximum(np.searchsorted(begins, ends), 1)
    spans = [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b > a]
    if not spans:
        raise ValueError("the reasoning has no token")
    if len(spans) > MAX_STEPS:
        groups = np.array_split(np.arange(len(spans)), MAX_STEPS)
        spans = [(spans[group[0]][0], spans[group[-1]][1]) for group in groups]
    return spans


def _velocity(residual: torch.Tensor) -> torch.Tensor:
    return (residual[1:] - residual[:-1]).norm(dim=-1) / residual.shape[-1] ** 0.5


def _drift(residual: torch.Tensor) -> torch.Tensor:
    drift = (residual[:, 1:] - residual[:, :-1]).norm(dim=-1) / residual.shape[-1] ** 0.5
    return torch.nn.functional.pad(drift, (0, 1))


def _lens(engine: TransformersEngine, residual: torch.Tensor, answer: str) -> torch.Tensor:
    token = engine.ids(answer.lstrip("("))[0]
    row = engine.model.get_output_embeddings().weight[token].float()
    return torch.nn.functional.cosine_similarity(residual, row, dim=-1)


def _stability(attentions: tuple[torch.Tensor, ...], first: int) -> torch.Tensor:
    """(L, T): overlap of the attention profiles of neighbouring tokens; 1 at the last."""
    length = attentions[0].shape[-1]
    query, key = torch.arange(length)[:, None], torch.arange(length)[None, :]
    near = (key > query - WINDOW) & (key <= query)
    blocks = torch.stack([(key < first) & ~near, (key >= first) & ~near, near]).float()
    blocks[:, :, 0] = 0
    rows = []
    for attention in attentions:
        profile = torch.einsum("qk,bqk->qb", attention[0].mean(dim=0).float(), blocks)
        profile = profile / profile.sum(dim=1, keepdim=True).clamp_min(1e-9)
        moved = (profile[1:] - profile[:-1]).abs().sum(dim=1) / 2
        rows.append(torch.nn.functional.pad(1 - moved, (0, 1), value=1.0))
    return torch.stack(rows)


def _pool(values: np.ndarray, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """(layers, T) -> (n_steps, 2 x bands): mean and sd by band and step."""
    bands = np.array_split(values, BANDS, axis=0)
    return np.array(
        [[f(band[:, a:b]) for band in bands for f in (np.mean, np.std)] for a, b in spans]
    )


def _half(array: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    if not np.isfinite(half).all():
        raise ValueError("a descriptor does not fit float16")
    return half
