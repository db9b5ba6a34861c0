"""One teacher-forced pass: what hooks compute, layer by layer, and the cache the pass leaves.

Of the hidden states two neighbouring layers are alive at a time, of the attention weights one
layer; a few numbers a layer and token are all that stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from faithshift_data.measure import caches
from faithshift_data.measure.anatomy import anatomy, listening
from faithshift_data.measure.rollout import Rollout
from faithshift_data.measure.spans import Spans

if TYPE_CHECKING:
    from faithshift_data.measure.shared_prefix import Reading

WINDOW = 8


@dataclass(frozen=True)
class Trajectory:
    """What a pass says of n reasoning tokens in a model of L blocks; all float32.

    Attributes:
        velocity: (L, n), ``||H[l+1,t] - H[l,t]||`` on the residual stream (S eq. 17).
        drift: (L + 1, n), ``||H[l,t+1] - H[l,t]||`` (S eq. 18); 0 at the last token.
        norm: (L + 1, n), ``||H[l,t]||``.
        lens: (L + 1, n, candidates), cosine of ``H[l,t]`` with a candidate's unembedding row.
        final_lens: (n, candidates), the same for the state ``final_norm``.
        profile: (L, n, 5), share of a token's attention, averaged over heads, on question, cue,
            instruction, earlier reasoning and its last 8 tokens (itself among them; they count
            to no other block), renormalised without token 0.
        state: (d,), ``final_norm`` averaged over the reasoning's tokens.
    """

    velocity: np.ndarray
    drift: np.ndarray
    norm: np.ndarray
    lens: np.ndarray
    final_lens: np.ndarray
    profile: np.ndarray
    state: np.ndarray


class Recorder:
    """Reduces the states and attention weights of one trace as they appear."""

    def __init__(self, spans: Spans, rows: torch.Tensor, *, rollout: bool = False) -> None:
        """Prepare the masks.

        Args:
            spans: the trace's tokens.
            rows: (candidates, d), unembedding rows.
            rollout: also roll out the attention, for which the pass must see all T tokens.
        """
        self.rollout = Rollout(spans.blocks) if rollout else None
        self.ids, self.first = spans.ids, spans.first
        self.rows = torch.nn.functional.normalize(rows.float(), dim=-1).T
        self.n = len(self.ids) - self.first
        query = torch.arange(self.first, len(self.ids))[:, None]
        key = torch.arange(len(self.ids))[None, :]
        near = ((key > query - WINDOW) & (key <= query) & (key > 0)).float()
        self.near = near.to(rows.device)
        self.blocks = torch.from_numpy(spans.blocks).to(rows.device)
        self.previous: torch.Tensor | None = None
        self.parts: dict[str, list[torch.Tensor]] = {
            name: [] for name in ("velocity", "drift", "norm", "lens", "profile")
        }

    def see_state(self, state: torch.Tensor) -> None:
        """Take the next residual state (t, d) of the last t tokens, the reasoning's or more."""
        state = state[-self.n :].float()
        norm = state.norm(dim=-1)
        drift = torch.zeros_like(norm)
        drift[:-1] = (state[1:] - state[:-1]).norm(dim=-1)
        self._add(norm=norm, drift=drift, lens=(state @ self.rows) / norm[:, None])
        if self.previous is not None:
            self._add(velocity=(state - self.previous).norm(dim=-1))
        self.previous = state

    def see_attention(self, weights: torch.Tensor) -> None:
        """Take the next block's attention weights (heads, t, T) of the last t tokens.

        Of a block that sees only so far back, the first of the T may be missing.
        """
        if self.rollout is not None:
            self.rollout.see(weights)
        seen = weights[:, -self.n :].mean(dim=0, dtype=torch.float32)
        seen = torch.nn.functional.pad(seen, (len(self.ids) - seen.shape[1], 0))
        near = seen * self.near
        mass = torch.cat([(seen - near) @ self.blocks, near.sum(dim=1, keepdim=True)], dim=1)
        self._add(profile=mass / mass.sum(dim=1, keepdim=True))

    def result(self, final: torch.Tensor, depth: int) -> Trajectory:
        """Close with the state ``final_norm`` (t, d) of a model of ``depth`` blocks.

        Raises:
            RuntimeError: the hooks did not fire once a layer.
        """
        if len(self.parts["norm"]) != depth + 1 or len(self.parts["profile"]) != depth:
            raise RuntimeError(f"hooks did not fire once in each of {depth} blocks")
        self.previous = None
        final = final[-self.n :].float()
        lens = (final @ self.rows) / final.norm(dim=-1, keepdim=True)
        stacked = {name: torch.stack(each).cpu().numpy() for name, each in self.parts.items()}
        ends = {"final_lens": lens, "state": final.mean(dim=0)}
        return Trajectory(**stacked, **{name: each.cpu().numpy() for name, each in ends.items()})

    def _add(self, **values: torch.Tensor) -> None:
        for name, value in values.items():
            self.parts[name].append(value)


@torch.inference_mode()
def teacher_force(
    engine: Any,
    recorders: Sequence[Recorder],
    *,
    padding_side: str = "right",
    start: Reading | None = None,
) -> tuple[list[Trajectory], Any]:
    """Run the engine once over the traces of some recorders.

    One trace a pass is the fast way on a CPU, and what ``observe`` does; several are padded, and
    give the same numbers up to rounding.

    Args:
        engine: a transformers engine with eager attention.
        recorders: fresh ones, one a trace.
        padding_side: where the shorter traces are padded, ``left`` or ``right``.
        start: a reading that a single trace's pass starts from, as far as they agree before the
            reasoning.

    Returns:
        The trajectories, and the key/value cache of the (padded) batch.
    """
    width = max(len(each.ids) for each in recorders)
    gaps = [width - len(each.ids) for each in recorders]
    starts = gaps if padding_side == "left" else [0] * len(gaps)
    input_ids = torch.full((len(recorders), width), engine.tokenizer.pad_token_id)
    mask = torch.zeros_like(input_ids)
    position = torch.zeros_like(input_ids)
    places = [slice(a, a + len(each.ids)) for a, each in zip(starts, recorders, strict=True)]
    for row, (place, each) in enumerate(zip(places, recorders, strict=True)):
        input_ids[row, place] = torch.tensor(each.ids)
        mask[row, place] = 1
        position[row, place] = torch.arange(len(each.ids))

    def on_state(_: str, state: torch.Tensor) -> None:
        for row, (place, each) in enumerate(zip(places, recorders, strict=True)):
            each.see_state(state[row, place])

    def on_attention(weights: torch.Tensor) -> None:
        for row, (place, each) in enumerate(zip(places, recorders, strict=True)):
            each.see_attention(weights[row, :, place, place])

    input_ids, mask, position = (each.to(engine.device) for each in (input_ids, mask, position))
    parts = anatomy(engine.model)
    given: dict[str, Any] = {"attention_mask": mask, "position_ids": position} if any(gaps) else {}
    keep = min(start.shared(recorders[0].ids), recorders[0].first) if start else 0
    given |= caches.given(parts.base, caches.begun(engine.model, start, keep))
    with listening(parts, on_state, on_attention):
        output = parts.base(input_ids=input_ids[:, keep:], use_cache=True, **given)
    found = [
        each.result(output.last_hidden_state[row, place], len(parts.blocks))
        for row, (place, each) in enumerate(zip(places, recorders, strict=True))
    ]
    return found, caches.taken(output)
