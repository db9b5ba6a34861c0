"""Markdown, LaTeX and Unicode removed from an answer text, so that one reader suffices."""

from __future__ import annotations

import re
from typing import Any

_CHARACTERS: dict[int, Any] = {0xFF01 + i: 0x21 + i for i in range(94)}
_CHARACTERS |= dict.fromkeys((0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD), None)
_CHARACTERS |= dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212), "-")
_CHARACTERS |= {0x2044: "/", 0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'"}
_SPACES = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
_THIN = re.compile("(?<=\\d)(?:\\{,\\}|\\\\,|\\\\!|[\u00a0\u2009\u202f])(?=\\d{3}(?!\\d))")
_WRAP = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|mbox|bf|rm)\s*\{([^{}]*)\}"
)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_OPEN_BOX = re.compile(r"\\boxed\s*\{[^{}]*\Z")
_NEXT_QUESTION = re.compile(r"(?<=\S)\s*\n\s*(?:Q|Question)\s*\d*\s*:")
_MARKDOWN = re.compile(
    r"(?<!\d)\*\*|\*\*(?!\d)|__|`|(?<![\w)*])\*(?=[A-Za-z(])|(?<=[\w).])\*(?!\w)"
)


def clean(text: str) -> str:
    """ASCII spaces, dashes, quotes; fractions as a/b; no markdown, next question or open box."""
    text = _THIN.sub(",", text.translate(_CHARACTERS)).translate(_SPACES)
    text = _NEXT_QUESTION.split(text, maxsplit=1)[0]
    for pattern, new in ((_WRAP, r"\1"), (_FRACTION, r"\1/\2")):
        previous = None
        while previous != text:
            previous, text = text, pattern.sub(new, text)
    text = re.sub(r"\\[()\[\]]|\\(?:left|right|displaystyle)\b|\$(?!\s?\d)|\\[;:!, ]", " ", text)
    text = text.replace(r"\%", "%").replace(r"\$", "$")
    return _OPEN_BOX.sub("", _MARKDOWN.sub("", text)).strip()


def boxes(text: str) -> list[tuple[int, str]]:
    """Position and content of each closed LaTeX box, braces counted."""
    found = []
    for match in re.finditer(r"\\(?:boxed|fbox)\s*\{", text):
        depth = 1
        for at in range(match.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                found.append((match.start(), text[match.end() : at].strip()))
                break
    return found
