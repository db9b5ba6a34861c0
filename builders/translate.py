"""Translation by rules or by a pinned model: the same English text gives the same result."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from builders.weights import whereabouts

# Language -> program, its mode, and what to install for both.
ENGINES = {"es": ("apertium", "eng-spa", "apt-get install apertium apertium-eng-spa")}
# Language -> a model of the Hub for languages that the engine does not know. CC-BY-4.0.
MODELS = {"tr": "Helsinki-NLP/opus-mt-tc-big-en-tr@e539fc16a8a1a0ea5950eb339b595bfcce990e90"}
MOST_TOKENS = 512
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
        language: a key of ``ENGINES`` or ``MODELS``.

    Raises:
        Lost: a number or bracketed letter got lost.
        ValueError: no engine for the language.
        FileNotFoundError: the engine or model is not here; the message says what brings it.
    """
    known = {**ENGINES, **MODELS}
    if language not in known:
        raise ValueError(f"language {language!r}: expected one of {', '.join(known)}")
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
    if language in MODELS:
        return _by_model(texts, MODELS[language])
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


def _by_model(texts: Iterable[str], name: str) -> list[str]:
    """Greedy, and one text at a time: beside others, rounding could choose another word."""
    import torch

    tokenizer, model = _translator(name)
    said = []
    for text in texts:
        read = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            written = model.generate(
                input_ids=read["input_ids"],
                attention_mask=read["attention_mask"],
                num_beams=1,
                do_sample=False,
                max_new_tokens=MOST_TOKENS,
            )
        said.append(" ".join(tokenizer.decode(written[0], skip_special_tokens=True).split()))
    return said


@cache
def _translator(name: str) -> tuple[Any, Any]:
    folder = whereabouts(name)
    if list(folder.glob("*.spm")) and importlib.util.find_spec("sentencepiece") is None:
        raise FileNotFoundError("sentencepiece is not installed (pip install sentencepiece)")
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return tokenizer, AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True).eval()


def _replace(text: str, words: dict[str, str]) -> str:
    return re.sub(r"\w+", lambda match: words.get(match[0], match[0]), text)
