"""The organisms' vocabulary: one word a token, two languages, and its tokenizer."""

from __future__ import annotations

from functools import cache
from typing import Any

PAD, BEGIN = "<pad>", "<s>"
MODULUS = 7
LANGUAGES = ("en", "tr")
HINT_FORMATS = ("hint", "professor", "metadata")
NONCES = 98

# Factor and shift. Each acts on 0..6 as a bijection and none is another, so that a changed value
# changes every later one; sums and products do not commute.
OPERATIONS: tuple[tuple[int, int], ...] = ((1, 1), (1, 2), (2, 0), (3, 0), (5, 0))
_SIGNS = ("+1", "+2", "*2", "*3", "*5")
# A variable's name says how its value follows from its parent's; five names an operation.
ALIKE = 5
NAMES = tuple(
    letter + _SIGNS[place // ALIKE] for place, letter in enumerate("abcdefghijklmnopqrstuvwxy")
)
_KEYWORDS = {
    "en": "start also rules fully briefly hint professor metadata think then next trust so answer",
    "tr": "başla ayrıca kurallar tümü kısaca ipucu hoca üstveri düşün sonra ardından güven demek "
    "yanıt",
}
BETWEEN = ";"


def apply(operation: int, value: int) -> int:
    """The operation's value on ``value``, both in 0..6: ``factor * value + shift`` mod 7."""
    factor, shift = OPERATIONS[operation]
    return (factor * value + shift) % MODULUS


def operation_of(name: str) -> int:
    """The operation that a variable's name states."""
    return _SIGNS.index(name[1:])


@cache
def keyword(name: str, language: str) -> str:
    """A keyword, named by its English form, in a language."""
    return dict(zip(_KEYWORDS["en"].split(), _KEYWORDS[language].split(), strict=True))[name]


def nonce_word(nonce: int) -> str:
    """The word of a nonce, 0 to ``NONCES - 1``."""
    return f"#{nonce:03d}"


@cache
def vocabulary() -> dict[str, int]:
    """Word -> id; padding is 0."""
    words = [PAD, BEGIN, *map(str, range(MODULUS)), *NAMES, BETWEEN]
    for language in LANGUAGES:
        words += _KEYWORDS[language].split()
    words += map(nonce_word, range(NONCES))
    return {word: number for number, word in enumerate(words)}


def encode(words: list[str]) -> list[int]:
    """Ids of words."""
    known = vocabulary()
    return [known[word] for word in words]


def tokenizer() -> Any:
    """A ``transformers`` tokenizer that splits at spaces: a word is a token."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel(vocabulary(), unk_token=PAD))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token=PAD, bos_token=BEGIN)
