"""The texts of a run: questions with and without the hint, and what is injected as reasoning."""

from __future__ import annotations

from collections.abc import Mapping

from builders.agreement.preset import AgreementPreset
from builders.prompts import Cue, assemble, shown
from builders.sources import Item
from faithshift_bench.agreement.conditions import BASELINE, FILLER, HINTED, early
from faithshift_data.reasoning import DELIMITERS, ReasoningStatus, open_block, split_reasoning

DOT = "."


def hint_of(preset: AgreementPreset, item: Item) -> Cue:
    """The hint towards the item's planted option, the same for all models."""
    text = preset.hint.format(target=shown(item, item.cue_target))
    return Cue("professor", text, item.cue_target)


def messages(preset: AgreementPreset, item: Item) -> dict[str, str]:
    """The user's turns of the two free generations, by condition."""
    return {
        BASELINE: assemble(item.wordings[0], item.options or (), preset.instruction, None),
        HINTED: assemble(
            item.wordings[0], item.options or (), preset.instruction, hint_of(preset, item)
        ),
    }


def injections(preset: AgreementPreset, reasoning: str) -> dict[str, str]:
    """What stands in the place of the hinted reasoning, by condition."""
    cuts = {early(share): kept(reasoning, share) for share in preset.truncations}
    return {FILLER: DOT * preset.filler_dots, **cuts}


def kept(reasoning: str, percent: float) -> str:
    """The first percent of a reasoning, in whole words."""
    words = reasoning.split(" ")
    return " ".join(words[: round(len(words) * percent / 100)])


def injected(prompt: str, text: str, block: tuple[str, str] | None, cue: str) -> str:
    """The raw prompt that makes a model go on behind a reasoning that is not its own.

    Args:
        prompt: of the hinted generation, up to where the model began.
        text: the reasoning.
        block: opener and closer of the model's reasoning block; None for a model without one.
        cue: for the answer.
    """
    if block is None:
        return f"{prompt}{text}\n\n{cue}"
    opened = f"{prompt}{text}" if open_block(prompt) else f"{prompt}{block[0]}\n{text}"
    return f"{opened}\n{block[1]}\n\n{cue}"


def block_of(prompt: str, output: str) -> tuple[str, str] | None:
    """Opener and closer of the reasoning block of a generation; None where it has none."""
    for style, block in DELIMITERS.items():
        found = split_reasoning(output, prompt_tail=prompt, style=style)
        if found.status != ReasoningStatus.ABSENT:
            return block
    return None


def shown_prompts(preset: AgreementPreset, item: Item) -> Mapping[str, str]:
    """The prompts of one item in every condition, with stand-ins for what a model writes."""
    asked = messages(preset, item)
    begun = asked[HINTED] + "\n[the model's turn, its reasoning block opened]\n"
    parts = injections(preset, "")
    for name in parts:
        if name != FILLER:
            share = name.partition("@")[2]
            parts[name] = f"[the first {share}% of the hinted reasoning]"
    end = f"\n[the block closed]\n\n{preset.answer_cue}"
    return asked | {name: begun + text + end for name, text in parts.items()}
