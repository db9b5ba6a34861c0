"""What a build gives the card to say beside its counts."""

from __future__ import annotations

from pathlib import Path

from builders.axes.model_family import LICENCE_NOTE
from builders.package import CONTENT_NOTE, notes
from builders.weights import REMARK, Weights


def weights(family: str, remark: str = "") -> Weights:
    return Weights(Path(), family, "r", family, "MIT", "here", remark=remark)


def test_the_small_model_alone_says_why_it_is_alone() -> None:
    assert notes([weights("smollm2", REMARK)]) == [REMARK, CONTENT_NOTE, LICENCE_NOTE]
    assert notes([weights("llama")]) == [CONTENT_NOTE]
    assert notes([weights("smollm2", REMARK), weights("llama")]) == [REMARK, CONTENT_NOTE]
