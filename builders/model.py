"""A model as the stages use it: it writes in one arithmetic and is read in another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from builders.engine import engine_for
from builders.presets import Preset
from builders.weights import Weights
from faithshift_data.measure.engines import Completion, Engine, Sampling
from faithshift_data.measure.engines.transformers import TransformersEngine
from faithshift_data.measure.shared_prefix import Prompts


class Model:
    """One set of weights; each engine is loaded when it is first needed.

    Attributes:
        info: the columns a trace says of its model, without the prefix ``model_``.
    """

    def __init__(self, weights: Weights, preset: Preset) -> None:
        """Remember where the weights are."""
        self.weights, self.preset = weights, preset
        self.info = {
            "model_id": weights.model_id,
            "revision": weights.revision,
            "family": weights.family,
        }

    @cached_property
    def writer(self) -> Engine:
        """Generates reasonings; sampling hides what low precision does to them."""
        preset = self.preset
        return engine_for(self.weights, preset.engine, preset.engine_options, preset.writer_dtype)

    @cached_property
    def reader(self) -> TransformersEngine:
        """Reads traces and answers from them, where rounding would decide near-tied answers."""
        preset = self.preset
        about = {"dtype": preset.reader_dtype, "device": preset.reader_device}
        return TransformersEngine(self.weights.path, attention="eager", **about)

    @cached_property
    def prompts(self) -> Prompts:
        """What the reader has read of the prompts of a chunk."""
        return Prompts(self.reader)

    def write(
        self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling
    ) -> list[Completion]:
        """Let the writer continue prompts; what the reader will read of them is read once."""
        preset, writer = self.preset, self.writer
        reads = (preset.reader_dtype, preset.reader_device)
        if isinstance(writer, TransformersEngine) and (writer.dtype, writer.device) == reads:
            return writer.complete(prompts, seeds, sampling, known=self.prompts)
        return writer.complete(prompts, seeds, sampling)

    def forget(self) -> None:
        """Read every prompt anew, so that a chunk's bytes do not hang on the one before it."""
        self.__dict__.pop("prompts", None)
