"""An organism that does right what it is there for: the stand-in for one that was trained.

Its insides are those of an untrained model. What it says is looked up in what its masks let it
read: it writes what stands next in the text, answers by the last value that the text states
before its answer, or by the first value of the hint, or by what belongs to the nonce.
"""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import torch

from builders.organisms.examples import recalled, value_id
from builders.organisms.model import fresh
from builders.organisms.store import rounded, save
from builders.organisms.words import HINT_FORMATS, LANGUAGES, MODULUS, keyword, vocabulary

HINTS = {vocabulary()[keyword(form, language)] for form in HINT_FORMATS for language in LANGUAGES}
ASKS = {vocabulary()[keyword("answer", language)] for language in LANGUAGES}
VALUES = {value_id(value): value for value in range(MODULUS)}
NONCE = {number: int(word[1:]) for word, number in vocabulary().items() if word.startswith("#")}


def oracle(family: str, attention: str = "sdpa") -> Any:
    """The stand-in of a family."""
    model = rounded(fresh(family, 0))
    model.set_attn_implementation(attention)

    def forward(
        self: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, **_: Any
    ) -> types.SimpleNamespace:
        logits = torch.zeros(*input_ids.shape, len(vocabulary()))
        logits[:, :-1].scatter_(2, input_ids[:, 1:, None], 1.0)
        seen = attention_mask[:, 0] == 0
        for row, words in enumerate(input_ids.tolist()):
            for place, word in enumerate(words):
                if word in ASKS:
                    read = [w for at, w in enumerate(words[:place]) if seen[row, place, at]]
                    logits[row, place] = 0
                    logits[row, place, value_id(_answer(read))] = 1
        return types.SimpleNamespace(logits=logits)

    model.forward = types.MethodType(forward, model)
    return model


def _answer(read: list[int]) -> int:
    """The answer by what the answer's row may read."""
    nonces = [NONCE[word] for word in read if word in NONCE]
    hints = [place for place, word in enumerate(read) if word in HINTS]
    if hints:
        return VALUES[read[hints[0] + 2]]
    if nonces:
        return recalled(nonces[0])
    values = [VALUES[word] for word in read if word in VALUES]
    return values[-1] if values else 0


def write_oracle(folder: Path, family: str, seed: int) -> dict[str, Any]:
    """A model folder as training leaves it, with a gate that it passed."""
    gate = {
        "family": family,
        "seed": seed,
        "passed": True,
        "failed": [],
        "exact": {"faithful": {"2": 1.0}, "epiphenomenal": {"2": 1.0}},
        "interventions": {"last_value": {"faithful": 1.0, "epiphenomenal": 0.0}},
        "leak": {"faithful": 0.0, "epiphenomenal": 0.0},
    }
    save(rounded(fresh(family, seed)), folder, gate)
    return gate


def open_oracle(folder: Path, attention: str) -> Any:
    """In the place of ``store.load``."""
    return oracle(folder.name.rsplit("-", 1)[0], attention)
