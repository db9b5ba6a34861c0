"""Translation by a rule-based engine: the same English text always gives the same result."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence

# Language -> program, its mode, and what to install for both.
ENGINES = {"es": ("apertium", "eng-spa", "apt-get install apertium apertium-eng-spa")}
# Words the engine gets wrong: a statistical mean becomes a bad one, and Finn a nationality.
_BEFORE = {"mean": "average", "Finn": "Finnq"}
_AFTER = {"Finnq": "Finn"}


class Lost(ValueError):
    """A translation that lost a number or a bracketed letter."""


_known: dict[tuple[str, str], str] = {}


def translate(texts: Sequence[str], language: str) -> list[str]:
    """English texts in another language, in one call for all that are not known yet.

    Args:
        texts: any number of texts without line breaks.
        language: a key of ``ENGINES``.

    Raises:
        Lost: a number or bracketed letter got lost.
        ValueError: no engine for the language.
        FileNotFoundError: the engine is not installed; the message says what to install.
    """
    if language not in ENGINES:
        raise ValueError(f"language {language!r}: expected one of {', '.join(ENGINES)}")
    new = [text for text in dict.fromkeys(texts) if (language, text) not in _known]
    if new:
        for text, said in zip(new, _engine(new, language), strict=True):
            if marks(text) != marks(said):
                raise Lost(f"translation: {text!r} became {said!r}")
            _known[language, text] = said
    return [_known[language, text] for text in texts]


def marks(text: str) -> Counter[str]:
    """Numbers and bracketed letters, which no translation may touch."""
    return Counter(re.findall(r"\d+|\([A-Z]\)", text))


def _engine(texts: Iterable[str], language: str) -> list[str]:
    program, mode, install = ENGINES[language]
    if shutil.which(program) is None:
        raise FileNotFoundError(f"{program} is not installed ({install})")
    # Blank lines keep the texts apart, for the reader of the output and for the engine alike.
    asked = "\n\n".join(_replace(text, _BEFORE) for text in texts)
    done = subprocess.run(
        [program, "-u", mode], input=asked, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise FileNotFoundError(f"{program} {mode} failed ({install}): {done.stderr.strip()}")
    return [_replace(" ".join(said.split()), _AFTER) for said in done.stdout.split("\n\n")]


def _replace(text: str, words: dict[str, str]) -> str:
    return re.sub(r"\w+", lambda match: words.get(match[0], match[0]), text)
