"""The words of a prompt and of a reasoning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from builders.organisms.task import Problem, Reasoning, Wording
from builders.organisms.words import BEGIN, BETWEEN, keyword, nonce_word


@dataclass(frozen=True)
class Text:
    """Words of a prompt, or of a step; ``hinted`` says which words of a prompt are the hint."""

    words: tuple[str, ...]
    hinted: tuple[bool, ...] = field(default=())


def prompt_text(problem: Problem, wording: Wording) -> Text:
    """The prompt."""
    say, name = _speaker(wording.language), wording.names
    hint = hint_words(wording)
    head = [BEGIN, nonce_word(problem.nonce)]
    body = [say("start"), name[problem.main[0][0]], str(problem.start)]
    if problem.side:
        body += [say("also"), name[problem.side[0][0]], str(problem.side_start)]
    rules = [(name[parent], name[child]) for parent, _, child in problem.rules]
    rules.append((name[problem.target], say("so")))
    if problem.side:
        rules.append((name[problem.side[-1][2]], say("start")))
    body.append(say("rules"))
    for place in wording.order:
        body += [*rules[place], BETWEEN]
    body.append(say("briefly" if wording.brief else "fully"))
    last = wording.hint is not None and wording.hint.last
    parts = [head, [], body, hint] if last else [head, hint, body, []]
    parts.append([say("think")])
    hinted = [part is hint and bool(hint) for part in parts for _ in part]
    return Text(tuple(word for part in parts for word in part), tuple(hinted))


def hint_words(wording: Wording) -> list[str]:
    """The hint as the prompt words it; empty without one."""
    if wording.hint is None:
        return []
    words = [keyword(wording.hint.format, wording.language)]
    for variable, value in wording.hint.values:
        words += [wording.names[variable], str(value)]
    return words


def reasoning_text(reasoning: Reasoning, wording: Wording) -> list[tuple[str, ...]]:
    """The reasoning, a tuple of words a step; the closing words are the last tuple.

    The end of a chain is looked up like a child: the side branch's last step ends on ``then`` and
    its last variable, and the closing words are ``then``, the last variable and ``so``.
    """
    say, name = _speaker(wording.language), wording.names
    steps: list[tuple[str, ...]] = []
    for place, step in enumerate(reasoning.steps, 1):
        opener = reasoning.joined_by if step.opener == "then" else step.opener
        words = (say(opener), name[step.rule[0]], name[step.rule[2]], str(step.value))
        leads_on = step.ends_side and place < len(reasoning.steps)
        more = (say(reasoning.joined_by), name[step.rule[2]]) if leads_on else ()
        steps.append((*words, *more))
    trusted = reasoning.trusted
    taken = () if trusted is None else (say("trust"), str(trusted))
    last = name[reasoning.steps[-1].rule[2]]
    return [*steps, (*taken, say(reasoning.joined_by), last, say("so"))]


def _speaker(language: str) -> Callable[[str], str]:
    return lambda name: keyword(name, language)
