"""Which language a text is written in, among those a dataset may hold."""

from __future__ import annotations

from functools import cache
from typing import Any

LANGUAGES = ("en", "es", "tr")


def language_of(text: str) -> str:
    """The likeliest of ``LANGUAGES`` for a whole text; single sentences are too short to tell."""
    return str(_identifier().classify(text)[0])


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(LANGUAGES))
    return identifier
