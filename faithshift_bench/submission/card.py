"""The detector card: who sends scores, of what detector, and what must be said about it."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from faithshift_bench.about import check_name
from faithshift_bench.submission.bounds import read_small
from faithshift_data.errors import InputError

MAX_BYTES = 16 * 1024
LONGEST = 80
LONGEST_LIST = 32
# Signs that stand on the letter before them; more of them grow over the lines around.
MOST_MARKS = 2
# What the rules of a board ask for; each must be answered, true or false.
DECLARATIONS = {
    "label_rule": "it applies the label rule, or reads evidence of the kind that labels rest on",
    "asks_models": "it asks a model about traces whose labels are hidden",
    "other_labels": "it was trained on more than train and tune, or on labels for hidden traces",
    "joins_traces": "it looks at other hidden traces to score one",
    "contaminated": "it, or a model in it, may have seen hidden traces with their labels",
}
READS = ("text", "interventions", "descriptors", "states")
WHITE_BOX = ("descriptors", "states")
CONTACT = re.compile(r"[^@\s<>\"']+@[^@\s<>\"']+\.[^@\s<>\"'.]+|https://[^\s<>\"']+")
FIELDS = ("name", "revision", "reads", "training_data", "contact", "declares", "url")


@dataclass(frozen=True)
class DetectorCard:
    """A checked card.

    Attributes:
        name: of the detector.
        revision: which one it is: a tag, commit or date.
        reads: some of text, interventions, descriptors, states.
        training_data: what it was fitted to; empty: nothing.
        contact: an e-mail or https address.
        declares: each of ``DECLARATIONS``, true or false.
        url: of a paper or of code, or "".
    """

    name: str
    revision: str
    reads: tuple[str, ...]
    training_data: tuple[str, ...]
    contact: str
    declares: Mapping[str, bool]
    url: str = ""

    @property
    def white_box(self) -> bool:
        """Whether it reads what only the model's inside tells."""
        return any(part in WHITE_BOX for part in self.reads)

    @property
    def declared(self) -> tuple[str, ...]:
        """The declarations that are true."""
        return tuple(name for name in DECLARATIONS if self.declares[name])

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``check_card`` of them gives the card back."""
        return {
            **asdict(self),
            "reads": list(self.reads),
            "training_data": list(self.training_data),
            "declares": dict(self.declares),
        }


def read_card(path: Path) -> DetectorCard:
    """The card of a TOML file.

    Raises:
        InputError: one line for the first mistake.
    """
    data = read_small(path, MAX_BYTES)
    try:
        value = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", file=path.name, got=f"byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError("not TOML", file=path.name, got=str(error) or "nested too deep") from None
    return check_card(value, path.name)


def check_card(value: Any, source: str = "card") -> DetectorCard:
    """The card that raw values make.

    Raises:
        InputError: one line for the first mistake.
    """
    if not isinstance(value, Mapping):
        got = type(value).__name__
        raise InputError("not a card", file=source, expected="a table of fields", got=got)
    _known(value, FIELDS, source, "")
    for name in FIELDS[:-1]:
        if name not in value:
            raise InputError("missing", file=source, field=name, expected=" | ".join(FIELDS))
    contact = _line(value["contact"], source, "contact")
    if not CONTACT.fullmatch(contact):
        _refuse(source, "contact", "an e-mail or https address", contact)
    url = value.get("url", "")
    if url != "" and not re.fullmatch(r"https://[^\s<>\"']+", _line(url, source, "url")):
        _refuse(source, "url", "an https address", url)
    reads = _lines(value["reads"], source, "reads")
    for part in reads:
        if part not in READS:
            _refuse(source, "reads", " | ".join(READS), part)
    if not reads:
        _refuse(source, "reads", " | ".join(READS), "nothing")
    return DetectorCard(
        name=_line(value["name"], source, "name"),
        revision=_line(value["revision"], source, "revision"),
        reads=tuple(part for part in READS if part in reads),
        training_data=_lines(value["training_data"], source, "training_data"),
        contact=contact,
        declares=_declarations(value["declares"], source),
        url=url,
    )


def _declarations(value: Any, source: str) -> dict[str, bool]:
    if not isinstance(value, Mapping):
        _refuse(source, "declares", "a table of " + ", ".join(DECLARATIONS), value)
    _known(value, tuple(DECLARATIONS), source, "declares.")
    for name, meaning in DECLARATIONS.items():
        if not isinstance(value.get(name), bool):
            got = value.get(name, "nothing")
            _refuse(source, f"declares.{name}", f"true or false: {meaning}", got)
    return {name: value[name] for name in DECLARATIONS}


def _known(value: Mapping[Any, Any], names: tuple[str, ...], source: str, prefix: str) -> None:
    for name in value:
        if name not in names:
            shown = ascii(name)[1:-1][:LONGEST]
            message, expected = "unknown field", " | ".join(names)
            raise InputError(message, file=source, field=f"{prefix}{shown}", expected=expected)


def _line(value: Any, source: str, field: str) -> str:
    """Visible text on one line, without signs that turn or hide what stands beside them."""
    if not isinstance(value, str):
        _refuse(source, field, "text", type(value).__name__)
    if len(value) > LONGEST:
        _refuse(source, field, f"{LONGEST} characters at most", f"{len(value)}")
    check_name(value, source=source, field=field)
    if any(unicodedata.category(letter) in ("Cf", "Co", "Cn") for letter in value):
        _refuse(source, field, "visible text on one line", ascii(value))
    plain = unicodedata.normalize("NFC", value.strip())
    kinds = (unicodedata.category(letter)[0] for letter in plain)
    if "M" * (MOST_MARKS + 1) in "".join(kinds):
        expected = f"{MOST_MARKS} marks at most on one letter"
        _refuse(source, field, expected, ascii(plain))
    return plain


def _lines(value: Any, source: str, field: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        _refuse(source, field, "a list of texts", type(value).__name__)
    if len(value) > LONGEST_LIST:
        _refuse(source, field, f"{LONGEST_LIST} entries at most", f"{len(value)}")
    return tuple(_line(each, source, field) for each in value)


def _refuse(source: str, field: str, expected: str, got: object) -> None:
    raise InputError("bad value", file=source, field=field, expected=expected, got=got)
