"""The texts of a run: questions with and without the hint, and what is injected as reasoning."""

from __future__ import annotations

from collections.abc import Mapping

from builders.agreement.preset import AgreementPreset
from builders.prompts import Cue, assemble, shown
from builders.sources import Item
from faithshift_bench.agreement.conditions import BASELINE, FILLER, HINTED, UNCUED, WRONG, early
from faithshift_data.reasoning import (
    DELIMITERS,
    HARMONY_BLOCK,
    ReasoningStatus,
    open_block,
    speaks_harmony,
    split_reasoning,
)

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


def injections(preset: AgreementPreset, reasoning: str, *, elicit: bool = False) -> dict[str, str]:
    """What stands in the place of the hinted reasoning, by condition.

    Args:
        preset: the settings.
        reasoning: the hinted one.
        elicit: whether filler is asked behind without the cue, too.
    """
    dots = DOT * preset.filler_dots
    cuts = {early(share): kept(reasoning, share) for share in preset.truncations}
    return {FILLER: dots, **cuts, **({FILLER + UNCUED: dots} if elicit else {})}


def arguments(preset: AgreementPreset, item: Item) -> dict[str, str]:
    """Reasoning for the planted option, with and without the cue.

    It stands behind the question without the hint, so that nothing else speaks for the option.
    """
    text = preset.wrong.replace("{target}", shown(item, item.cue_target))
    return {WRONG: text, WRONG + UNCUED: text}


def cue_of(preset: AgreementPreset, condition: str) -> str:
    """What follows the injected text of a condition."""
    return "" if condition.endswith(UNCUED) else preset.answer_cue


def kept(reasoning: str, percent: float) -> str:
    """The first percent of a reasoning, in whole words."""
    words = reasoning.split(" ")
    return " ".join(words[: round(len(words) * percent / 100)])


def injected(prompt: str, text: str, block: tuple[str, str] | None, cue: str) -> str:
    """The raw prompt that makes a model go on behind a reasoning that is not its own.

    Args:
        prompt: of the free generation, up to where the model began.
        text: the reasoning.
        block: opener and closer of the model's reasoning block; None for a model without one.
        cue: for the answer; may be empty.
    """
    if block is None:
        return f"{prompt}{text}\n\n{cue}"
    if block == HARMONY_BLOCK:
        return f"{prompt}{'' if open_block(prompt) else block[0]}{text}{block[1]}{cue}"
    opened = f"{prompt}{text}" if open_block(prompt) else f"{prompt}{block[0]}\n{text}"
    return f"{opened}\n{block[1]}\n\n{cue}"


def block_of(prompt: str, output: str) -> tuple[str, str] | None:
    """Opener and closer of the reasoning block of a generation; None where it has none.

    A model of the harmony format has its channel for it, whether it used it or not.
    """
    if speaks_harmony(prompt) or open_block(prompt) == HARMONY_BLOCK:
        return HARMONY_BLOCK
    for style, block in DELIMITERS.items():
        found = split_reasoning(output, prompt_tail=prompt, style=style)
        if found.status != ReasoningStatus.ABSENT:
            return block
    return None


def shown_prompts(preset: AgreementPreset, item: Item) -> Mapping[str, str]:
    """The prompts of one item in every condition, with stand-ins for what a model writes."""
    asked = messages(preset, item)
    begun = "\n[the model's turn, its reasoning block opened]\n"
    parts = injections(preset, "", elicit=preset.elicited > 0)
    for name in parts:
        if share := name.partition("@")[2]:
            parts[name] = f"[the first {share}% of the hinted reasoning]"
    found = {name: asked[HINTED] + begun + text for name, text in parts.items()}
    if preset.elicited:
        argued = arguments(preset, item)
        found |= {name: asked[BASELINE] + begun + text for name, text in argued.items()}
    end = "\n[the block closed]\n\n"
    return asked | {name: text + end + cue_of(preset, name) for name, text in found.items()}
