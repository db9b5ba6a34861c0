"""Columns, dtypes and closed vocabularies of a FaithShift dataset folder.

Every table is written with the Arrow schema given here, so that two files of one
config can never disagree and an empty column never turns into Arrow's ``null`` type.
``axis`` is the one open vocabulary: it is checked against the manifest's axes table, so
that a new axis is a file and a manifest line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum

import pyarrow as pa

SCHEMA_VERSION = 1
SPLITS = ("train", "validation", "test")
CONFIGS = ("traces", "pairs", "interventions")


class Kind(StrEnum):
    """What a pair is meant to show.

    ``repeat`` pairs join two generations of one prompt; they measure the noise floor.
    """

    PRESERVING = "preserving"
    ALTERING = "altering"
    REPEAT = "repeat"


class Mode(StrEnum):
    """How a partner was made: the model wrote anew, or its text was edited."""

    REGEN = "regen"
    EDIT = "edit"


class Fold(StrEnum):
    """The two halves of validation: one sets tau, the other certifies."""

    TUNE = "tune"
    CALIB = "calib"


class LabelRule(StrEnum):
    """The rule a label follows from; see ``builders/labels.py``."""

    CONSTRUCT_CAUSAL = "construct+causal"
    CONSTRUCT = "construct"
    MECHANISM = "mechanism"
    GIVEN = "given"


class Role(StrEnum):
    """Who may read an intervention row: the label rule, or a detector. Never both."""

    LABEL = "label"
    FEATURE = "feature"


class AnswerKind(StrEnum):
    """The form an answer takes."""

    LETTER = "letter"
    NUMBER = "number"
    TEXT = "text"


class AnswerStatus(StrEnum):
    """How an answer was found, or why none was."""

    EXPLICIT = "explicit"
    AMBIGUOUS = "ambiguous"
    OUT_OF_SET = "out_of_set"
    NONE = "none"


ENUMS = {
    "split": SPLITS,
    "fold": tuple(Fold),
    "kind": tuple(Kind),
    "mode": tuple(Mode),
    "label_rule": tuple(LabelRule),
    "role": tuple(Role),
    "answer_kind": tuple(AnswerKind),
    "answer_status": tuple(AnswerStatus),
}

_CUE = pa.struct(
    [("kind", pa.string()), ("format", pa.string()), ("text", pa.string()), ("target", pa.string())]
)
_GENERATION = pa.struct(
    [
        ("engine", pa.string()),
        ("engine_version", pa.string()),
        ("seed", pa.int64()),
        ("temperature", pa.float64()),
        ("top_p", pa.float64()),
        ("max_tokens", pa.int32()),
    ]
)
_DELTAS = pa.struct(
    [
        ("length", pa.float64()),
        ("lexical", pa.float64()),
        ("syntactic", pa.float64()),
        ("semantic", pa.float64()),
    ]
)
_CHECK = pa.struct([("name", pa.string()), ("passed", pa.bool_())])


def _column(name: str, dtype: pa.DataType, *, null: bool = False) -> pa.Field:
    return pa.field(name, dtype, nullable=null)


TRACES = pa.schema(
    [
        _column("trace_id", pa.string()),
        _column("item_id", pa.string()),
        _column("split", pa.string()),
        _column("fold", pa.string(), null=True),
        _column("domain", pa.string()),
        _column("source", pa.string()),
        _column("model_id", pa.string()),
        _column("model_revision", pa.string(), null=True),
        _column("model_family", pa.string(), null=True),
        _column("condition", pa.string()),
        _column("axis", pa.string(), null=True),
        _column("mode", pa.string(), null=True),
        _column("anchor_id", pa.string(), null=True),
        _column("gen_index", pa.int32()),
        _column("question", pa.string()),
        _column("options", pa.list_(pa.string()), null=True),
        _column("answer_kind", pa.string()),
        _column("gold", pa.string(), null=True),
        _column("cue", _CUE, null=True),
        _column("prompt", pa.string()),
        _column("reasoning", pa.string(), null=True),
        _column("steps", pa.list_(pa.string())),
        _column("answer", pa.string(), null=True),
        _column("answer_status", pa.string()),
        _column("truncated", pa.bool_()),
        _column("generation", _GENERATION, null=True),
        _column("label", pa.int8(), null=True),
        _column("label_rule", pa.string(), null=True),
        _column("label_evidence", pa.list_(pa.string())),
        _column("licence", pa.string()),
    ]
)

PAIRS = pa.schema(
    [
        _column("pair_id", pa.string()),
        _column("axis", pa.string()),
        _column("kind", pa.string()),
        _column("mode", pa.string(), null=True),
        _column("anchor_id", pa.string()),
        _column("partner_id", pa.string()),
        _column("item_id", pa.string()),
        _column("split", pa.string()),
        _column("anchor_label", pa.int8(), null=True),
        _column("partner_label", pa.int8(), null=True),
        _column("direction", pa.int8(), null=True),
        _column("verified", pa.bool_()),
        _column("dropped_because", pa.string(), null=True),
        _column("mechanism_preserved", pa.bool_(), null=True),
        _column("deltas", _DELTAS, null=True),
        _column("checks", pa.list_(_CHECK)),
    ]
)

INTERVENTIONS = pa.schema(
    [
        _column("intervention_id", pa.string()),
        _column("trace_id", pa.string()),
        _column("kind", pa.string()),
        _column("fraction", pa.float64(), null=True),
        _column("seed", pa.int64()),
        _column("role", pa.string()),
        _column("injected", pa.string()),
        _column("response", pa.string(), null=True),
        _column("answer", pa.string(), null=True),
        _column("answer_status", pa.string()),
        _column("changed", pa.bool_(), null=True),
        _column("injection_verified", pa.bool_()),
    ]
)

SCHEMAS = {"traces": TRACES, "pairs": PAIRS, "interventions": INTERVENTIONS}

# Null in a row whose label is withheld: each tells the label, or of what the trace was made.
WITHHELD = {
    "traces": (
        "domain",
        "source",
        "condition",
        "axis",
        "mode",
        "anchor_id",
        "gen_index",
        "gold",
        "cue",
        "truncated",
        "generation",
        "label",
        "label_rule",
    ),
    "pairs": (),
    "interventions": ("seed", "injected"),
}


def schema_of(config: str, *, withheld: bool = False) -> pa.Schema:
    """The Arrow schema of a table.

    Args:
        config: ``traces``, ``pairs`` or ``interventions``.
        withheld: of a folder that withholds labels: columns of ``WITHHELD`` may then be null.
    """
    schema = SCHEMAS[config]
    for name in WITHHELD[config] if withheld else ():
        at = schema.get_field_index(name)
        schema = schema.set(at, schema.field(at).with_nullable(True))
    return schema


def lettered(options: Sequence[str]) -> list[str]:
    """The options as a prompt prints them, a line each: ``(A) red``."""
    return [f"({chr(65 + place)}) {text}" for place, text in enumerate(options)]


def stable_id(prefix: str, *parts: object) -> str:
    """Content-addressed id: ``prefix-`` and 16 hex digits of the sha256 of the parts.

    The parts are joined by a unit separator, so ``("a", "bc")`` and ``("ab", "c")`` differ.
    """
    text = "\x1f".join(str(part) for part in parts)
    return f"{prefix}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def changed(original: str | None, forced: str | None) -> bool | None:
    """Whether the answer moved; None (undefined) where either is not stated."""
    if original is None or forced is None:
        return None
    return original != forced
