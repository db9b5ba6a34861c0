"""Markdown, LaTeX, Unicode and special tokens removed, so that one reader of answers suffices."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_CHARACTERS: dict[int, Any] = {0xFF01 + i: 0x21 + i for i in range(94)}
_CHARACTERS |= dict.fromkeys((0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD), None)
_CHARACTERS |= dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-")
_CHARACTERS |= {0x2044: "/", 0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'", 0x2028: "\n"}
# Bold, circled and doublestruck letters and digits; ordinary superscripts keep their meaning.
_CHARACTERS |= {
    code: unicodedata.normalize("NFKC", chr(code))
    for code in (*range(0x1D400, 0x1D800), *range(0x24B6, 0x24EA))
}
_CHARACTERS |= {0xBC: " 1/4", 0xBD: " 1/2", 0xBE: " 3/4"}
_SPACES = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
_THIN = re.compile(r"(?<=[0-9])(?:\{,\}|,?\\[,!]|[\u00a0\u2009\u202f])(?=[0-9]{3}(?![0-9]))")

_NAME = r"[^<>|｜\s]"
_TOKEN = (
    rf"<[|｜]{_NAME}{{1,40}}[|｜]>|</?s>|<(?:bos|eos|pad|start_of_turn|end_of_turn)>|\[/?INST\]"
)
_FIRST_TOKENS = re.compile(
    r"(?:\s|(?:<\|(?:im_start|start_header_id|start)\|>|<start_of_turn>)(?:assistant|model)"
    rf"|{_TOKEN})*+"
)
_LAST_TOKEN = re.compile(rf"(?:{_TOKEN})\Z")
_ANY_TOKEN = re.compile(_TOKEN)
_TURN_ENDS = re.compile(
    rf"<[|｜]{_NAME}{{0,40}}?(?:eot|eom|eos|end|return|start|user){_NAME}{{0,40}}[|｜]>"
    r"|</s>|<(?:eos|end_of_turn|start_of_turn)>|\[INST\]",
    re.I,
)
_LONGEST_TOKEN = 48
_NEXT_TURN = re.compile(r"\n[ \t]*(?:Q|Question|Human|User)[ \t]*[0-9]*[ \t]*:")

_BLOCK_TAG = re.compile(r"</?(?:answer|final|think|thinking|reasoning|br|p|div)\s*/?>", re.I)
_INLINE_TAG = re.compile(r"</?(?:b|strong|i|em|u|span)>", re.I)
_WRAP = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|mbox|bf|rm)\s*\{([^{}]*)\}"
)
_FRACTION = re.compile(
    r"(?P<whole>(?<=[0-9]))?\\[dt]?frac\s*(?:\{(?P<a>[^{}]*)\}|(?P<a1>[0-9]))"
    r"\s*(?:\{(?P<b>[^{}]*)\}|(?P<b1>[0-9]))"
)
_SIMPLE = re.compile(r"\s*-?(?:[0-9.,]+|\\?[A-Za-z]+)\s*")
_ORDINAL = re.compile(r"(?<=[0-9])\s*\^\s*(?:\{\s*(?:th|st|nd|rd)\s*\}|(?:th|st|nd|rd)\b)")
_DEGREE = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ\b)")
_LATEX = re.compile(
    r"\\[()\[\]]|\\(?:left|right|displaystyle|quad|qquad)\b|\$(?!\s?[0-9])|(?<!\\)\\[;:!, ]"
)
_MARKDOWN = re.compile(
    r"(?<!\d)\*\*|\*\*(?!\d)|__|`|~~|(?<![\w)*])\*(?=[A-Za-z(])|(?<=[\w).])\*(?!\w)"
    r"|(?<![\w\\])_(?=[\w(])|(?<=[\w).!?])_(?![\w{])"
)
_LINE_MARK = re.compile(r"(?m)^[ \t]*(?:>[> \t]*|#{1,6}[ \t]+(?=[A-Za-z]))")
_BRACE = re.compile(r"(?P<box>\\(?:boxed|fbox)\s*\{)|\\[{}]|\{|\}")
_DEPTH = 20


def bare(text: str) -> str:
    """The text without white space and special tokens such as ``<|eot_id|>`` at its two ends."""
    first = _FIRST_TOKENS.match(text)
    start, end = first.end() if first else 0, len(text)
    while end > start:
        if text[end - 1].isspace():
            end -= 1
        elif token := _LAST_TOKEN.search(text, max(start, end - _LONGEST_TOKEN), end):
            end = token.start()
        else:
            break
    return text[start:end]


def clean(text: str) -> str:
    """Text up to the end of its turn, without markup.

    Spaces, dashes and quotes become ASCII, fractions ``a/b``. What follows an end-of-turn token
    or the next question is dropped, and so is a LaTeX box that was never closed.
    """
    text = bare(text)
    ended = _TURN_ENDS.search(text)
    text = _ANY_TOKEN.sub("", text[: ended.start()] if ended else text)
    text = _THIN.sub(",", text.translate(_CHARACTERS)).translate(_SPACES).strip()
    text = _INLINE_TAG.sub("", _BLOCK_TAG.sub("\n", text)).strip()
    text = _NEXT_TURN.split(text, maxsplit=1)[0]
    text = _peel(_WRAP, r"\1", text)
    text = _peel(_FRACTION, _division, _DEGREE.sub("°", _ORDINAL.sub("", text)))
    text = _LATEX.sub(" ", text).replace(r"\%", "%").replace(r"\$", "$")
    text = _LINE_MARK.sub("", _MARKDOWN.sub("", text))
    return text[: _boxes(text)[1]].strip()


def boxes(text: str) -> list[tuple[int, str]]:
    """Position and content of each closed LaTeX box, braces counted."""
    return _boxes(text)[0]


def _boxes(text: str) -> tuple[list[tuple[int, str]], int]:
    found, open_braces = [], []
    for match in _BRACE.finditer(text):
        if match["box"] or match[0] == "{":
            open_braces.append((match.start(), match.end(), bool(match["box"])))
        elif match[0] == "}" and open_braces:
            start, inside, box = open_braces.pop()
            if box:
                found.append((start, text[inside : match.start()].strip()))
    unclosed = min((start for start, _, box in open_braces if box), default=len(text))
    return sorted(found), unclosed


def _peel(pattern: re.Pattern[str], new: Any, text: str) -> str:
    """Replace from the inside out; nesting deeper than any real text stays as it is."""
    for _ in range(_DEPTH):
        previous, text = text, pattern.sub(new, text)
        if previous == text:
            break
    return text


def _division(match: re.Match[str]) -> str:
    parts = [match["a"] or match["a1"] or "", match["b"] or match["b1"] or ""]
    parts = [part.strip() if _SIMPLE.fullmatch(part) else f"({part})" for part in parts]
    return (" " if match["whole"] is not None else "") + "/".join(parts)
