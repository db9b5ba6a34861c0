"""Where reasoning begins and ends in a model's output, and the steps it consists of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from faithshift_data.errors import InputError

DELIMITERS = {
    "think": ("<think>", "</think>"),
    "thinking": ("<thinking>", "</thinking>"),
    "reasoning": ("<reasoning>", "</reasoning>"),
    "bracket": ("[THINK]", "[/THINK]"),
    "thought": ("<|begin_of_thought|>", "<|end_of_thought|>"),
}
STYLES = ("auto", "none", "harmony", *DELIMITERS)


class ReasoningStatus(StrEnum):
    """Whether the reasoning was ended by the model, cut off, or never set apart."""

    CLOSED = "closed"
    TRUNCATED = "truncated"
    ABSENT = "absent"


@dataclass(frozen=True)
class SplitReasoning:
    """Reasoning and answer text of one output.

    ``reasoning`` is None only when absent; ``answer_text`` is None when no answer was begun.
    """

    reasoning: str | None
    answer_text: str | None
    status: ReasoningStatus


def split_reasoning(output: str, *, prompt_tail: str = "", style: str = "auto") -> SplitReasoning:
    """Split a model's output into reasoning and answer text.

    The first closer after the start of the generation ends the reasoning; delimiters in the
    prompt only say whether the template had opened a block already.

    Args:
        output: the generated text.
        prompt_tail: the end of the prompt, which may hold the opener.
        style: a key of ``DELIMITERS``, ``harmony``, ``none``, or ``auto`` to recognise it.

    Raises:
        InputError: an unknown style.
    """
    if style not in STYLES:
        raise InputError("unknown style", field="style", expected=STYLES, got=style)
    if style in ("auto", "harmony"):
        found = _harmony(output, prompt_tail, forced=style == "harmony")
        if found is not None:
            return found
    names = DELIMITERS if style == "auto" else [style] if style in DELIMITERS else []
    for name in names:
        found = _delimited(output, prompt_tail, *DELIMITERS[name])
        if found is not None:
            return found
    return SplitReasoning(None, output.strip(), ReasoningStatus.ABSENT)


def _delimited(output: str, tail: str, opener: str, closer: str) -> SplitReasoning | None:
    opened = tail.rfind(opener) > tail.rfind(closer)
    start, end = output.find(opener), output.find(closer)
    starts_here = start >= 0 and (end < 0 or start < end)
    if starts_here and not (opened and output[:start].strip()):
        opened, output = True, output[start + len(opener) :]
    reasoning, closed, answer = output.partition(closer)
    if closed:
        return SplitReasoning(reasoning.strip(), answer.strip(), ReasoningStatus.CLOSED)
    if opened:
        return SplitReasoning(reasoning.strip(), None, ReasoningStatus.TRUNCATED)
    return None


_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>(.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.S,
)


def _harmony(output: str, tail: str, *, forced: bool) -> SplitReasoning | None:
    opened = re.search(r"<\|channel\|>\s*analysis\s*<\|message\|>\Z", tail.rstrip())
    text = "<|channel|>analysis<|message|>" + output if opened else output
    parts = _CHANNEL.findall(text)
    if not parts:
        glued = re.match(r"\s*analysis(.*?)assistant\s*final(.*)\Z", output, re.S)
        if glued:
            parts = [("analysis", glued[1]), ("final", glued[2])]
        elif forced and output.lstrip().startswith("analysis"):
            parts = [("analysis", output.lstrip()[len("analysis") :])]
        else:
            return None
    thoughts = [body.strip() for name, body in parts if name == "analysis"]
    finals = [body.strip() for name, body in parts if name == "final"]
    reasoning = "\n".join(thoughts) if thoughts else None
    answer = "\n".join(finals) if finals else None
    if reasoning is None:
        return SplitReasoning(None, answer, ReasoningStatus.ABSENT)
    status = ReasoningStatus.TRUNCATED if answer is None else ReasoningStatus.CLOSED
    return SplitReasoning(reasoning, answer, status)


_GO_ON_BEFORE_LOWER = (
    "dr mr mrs ms prof st sr jr vs etc e.g i.e cf al fig eq eqs no nos approx ca resp vol"
    " inc ltd dept est min max a.m p.m u.s u.k"
)
_ALWAYS_GO_ON = "dr mr mrs ms prof st fig eq eqs e.g i.e cf vs approx"
_END = re.compile(r"[ \t]*\n\s*|[.!?…]+[\"'”’)\]*]*\s+|[。！？]\s*")
_LABEL = re.compile(r"\s*(?:[-*#>•]\s*)*\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)]\s+\Z")
_LABELLED = re.compile(r"\d{1,3}[.)]\s")


def split_steps(text: str) -> list[str]:
    """Split reasoning into steps: sentences, and lines.

    The steps cover the text exactly: ``"".join(split_steps(text)) == text``; each keeps the
    white space that follows it. A step never ends after an abbreviation, inside a decimal
    number, or after the number of a list entry.
    """
    steps, start = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if text[start:end].strip() and _ends_step(text, start, match):
            steps.append(text[start:end])
            start = end
    rest = text[start:]
    if rest.strip() or (rest and not steps):
        steps.append(rest)
    elif rest:
        steps[-1] += rest
    return steps


def _ends_step(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match[0]
    if "\n" in mark and not mark.lstrip().startswith((".", "!", "?", "…")):
        return not _LABEL.fullmatch(text[start : match.end()])
    if not mark.startswith("."):
        return True
    following = text[match.end() : match.end() + 1]
    if _LABEL.fullmatch(text[start : match.end()]):
        return False
    if "\n" in mark:
        return True
    before = text[max(start, match.start() - 12) : match.start()]
    word = re.split(r"[\s(\[\"']", before)[-1].lower()
    if word in _ALWAYS_GO_ON.split() or (
        word in _GO_ON_BEFORE_LOWER.split() and not following.isupper()
    ):
        return False
    if following.isdigit() and before[-1:].isdigit():
        return bool(_LABELLED.match(text, match.end()))
    return not following.islower()
