"""Where reasoning begins and ends in a model's output, and the steps it consists of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from faithshift_data.errors import InputError
from faithshift_data.markup import bare

DELIMITERS = {
    "think": ("<think>", "</think>"),
    "thinking": ("<thinking>", "</thinking>"),
    "reasoning": ("<reasoning>", "</reasoning>"),
    "bracket": ("[THINK]", "[/THINK]"),
    "thought": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "start_thinking": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "seed": ("<seed:think>", "</seed:think>"),
    "kimi": ("◁think▷", "◁/think▷"),
}
HARMONY = ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>")
_HARMONY_TURN = "<|start|>assistant"
# Each channel is a message of its own: what stands between a reasoning and the answer to it.
HARMONY_BLOCK = (HARMONY[0], f"<|end|>{_HARMONY_TURN}{HARMONY[1]}")
HARMONY_MARKS = frozenset(re.findall(r"<\|\w+\|>", "".join(HARMONY_BLOCK)))
# The same where special tokens were left out of the text.
HARMONY_GLUED = ("assistantanalysis", "assistantfinal")
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
    prompt only say whether the template had opened a block already. Special tokens at the two
    ends, such as ``<|eot_id|>``, belong to neither part.

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
        forced = style == "harmony" or speaks_harmony(prompt_tail)
        found = _harmony(output, prompt_tail, forced=forced)
        if found is not None:
            return found
    names = DELIMITERS if style == "auto" else [style] if style in DELIMITERS else []
    places = {name: _place(output, prompt_tail, *DELIMITERS[name]) for name in names}
    first = min(names, key=lambda name: places[name], default=None)
    if first is not None and places[first] < len(output):
        return _delimited(output, places[first] < 0, *DELIMITERS[first])
    return SplitReasoning(None, bare(output), ReasoningStatus.ABSENT)


def speaks_harmony(prompt: str) -> bool:
    """Whether a prompt ends where a model of the harmony format begins, and chooses a channel."""
    return prompt.endswith(_HARMONY_TURN)


def open_block(prompt: str) -> tuple[str, str] | None:
    """Opener and closer of the reasoning block that a prompt leaves open; None where it does not.

    Only the model's own turn opens one; what the user wrote does not.
    """
    pairs = (*DELIMITERS.values(), HARMONY_BLOCK)
    return next((pair for pair in pairs if _opened_by(prompt, *pair)), None)


def block_span(output: str, *, prompt_tail: str = "") -> tuple[int, int | None] | None:
    """Where in an output the reasoning block stands, with its delimiters.

    Args:
        output: the generated text.
        prompt_tail: the end of the prompt, which may hold the opener.

    Returns:
        The first character (0 where the prompt had opened the block) and the one after the
        closer, None as long as it is open; None without a block.
    """
    if speaks_harmony(prompt_tail) and output.startswith("analysis"):
        end = output.find(HARMONY_GLUED[1])
        return 0, None if end < 0 else end + len(HARMONY_GLUED[1])
    pairs = (*DELIMITERS.values(), HARMONY, HARMONY_GLUED)
    places = {pair: _place(output, prompt_tail, *pair) for pair in pairs}
    (opener, closer), first = min(places.items(), key=lambda found: found[1])
    if first == len(output):
        return None
    begins = 0 if first < 0 or output.startswith(closer, first) else first
    end = output.find(closer, begins)
    return begins, None if end < 0 else end + len(closer)


def _place(output: str, tail: str, opener: str, closer: str) -> int:
    """Where a block first shows: -1 if the prompt had opened it, len(output) if nowhere."""
    if _opened_by(tail, opener, closer):
        return -1
    return min(
        (at for mark in (opener, closer) if (at := output.find(mark)) >= 0), default=len(output)
    )


_TURN = re.compile(
    r"<\|(?:im_start|start_header_id|start|assistant|START_OF_TURN_TOKEN)\|>|<start_of_turn>"
    r"|\[/INST\]|<｜Assistant｜>|^(?:Assistant|AI)[ \t]*:",
    re.M,
)


def _opened_by(tail: str, opener: str, closer: str) -> bool:
    """Whether the model's turn, not the user's text, opened the block and left it open."""
    turns = [match.end() for match in _TURN.finditer(tail)]
    turn = tail[turns[-1] :] if turns else ""
    return turn.rfind(opener) > turn.rfind(closer) or tail.rstrip().endswith(opener)


def _delimited(output: str, opened: bool, opener: str, closer: str) -> SplitReasoning:
    start, end = output.find(opener), output.find(closer)
    starts_here = start >= 0 and (end < 0 or start < end)
    if starts_here and not (opened and bare(output[:start])):
        opened, output = True, output[start + len(opener) :]
    reasoning, closed, answer = output.partition(closer)
    if closed:
        return SplitReasoning(bare(reasoning), bare(answer), ReasoningStatus.CLOSED)
    return SplitReasoning(bare(reasoning), None, ReasoningStatus.TRUNCATED)


_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w+)(?:(?!<\|(?:message|channel|end|start)\|>).)*<\|message\|>"
    r"(.*?)(<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.S,
)
_OPEN_CHANNEL = re.compile(r"<\|channel\|>\s*\w+[^<]*<\|message\|>(?:(?!<\|).)*\Z", re.S)
_GLUED = re.compile(r"assistant(analysis|commentary|final)")


def _harmony(output: str, tail: str, *, forced: bool) -> SplitReasoning | None:
    opened = _OPEN_CHANNEL.search(tail)
    text = (opened[0][: opened[0].index("<|message|>") + 11] if opened else "") + output
    parts = [(name, body, bool(mark)) for name, body, mark in _CHANNEL.findall(text)]
    if not parts:
        start = output.lstrip()
        if not start.startswith("analysis") or not (forced or "assistantfinal" in start):
            return None
        pieces = _GLUED.split("assistant" + start)[1:]
        parts = [(a, b, True) for a, b in zip(pieces[::2], pieces[1::2], strict=True)]
        parts[-1] = (*parts[-1][:2], False)
    thoughts = [(bare(body), ended) for name, body, ended in parts if name == "analysis"]
    finals = [bare(body) for name, body, _ in parts if name == "final"]
    answer = "\n".join(finals) if finals else None
    if not thoughts:
        return SplitReasoning(None, answer, ReasoningStatus.ABSENT)
    closed = finals or thoughts[-1][1]
    return SplitReasoning(
        "\n".join(body for body, _ in thoughts),
        answer,
        ReasoningStatus.CLOSED if closed else ReasoningStatus.TRUNCATED,
    )


_GO_ON_BEFORE_LOWER = (
    "dr mr mrs ms prof st sr jr vs etc e.g i.e cf al fig eq eqs no nos approx ca resp vol"
    " inc ltd dept est min max a.m p.m u.s u.k"
)
_ALWAYS_GO_ON = "dr mr mrs ms prof st fig eq eqs e.g i.e cf vs approx"
# A run is read from its first character only, and whole: long runs cost no more than their length.
_END = re.compile(r"(?<![ \t])[ \t]*+\n\s*+|(?<![.!?…])[.!?…]++[\"'”’)\]*]*+\s++|[。！？]\s*+")
_WORD = re.compile(r"\S")
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
        if _WORD.search(text, start, end) and _ends_step(text, start, match):
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
        return not _LABEL.fullmatch(text, start, match.end())
    if not mark.startswith("."):
        return True
    following = text[match.end() : match.end() + 1]
    if _LABEL.fullmatch(text, start, match.end()):
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
