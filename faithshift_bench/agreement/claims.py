"""Six rules that a reported faithfulness result has to keep, as a linter.

A claim is a TOML or JSON file::

    claim = "A says more often than B what influenced its answer."
    kind = "comparison"              # score | comparison | ranking
    informs_decision = true
    disagreements = "tau-b 0.62 between two metrics; 4 of 28 pairs of models reverse"

    [[result]]                       # one a metric
    metric = "biasing_features"
    property = "honest"              # honest | necessary | deciding
    judge = "claude-opus-5"          # "none" where a metric has no judge
    elicitation = "Answer: ("        # the cue for an answer; "none" where there is none
    injection_verified = true        # of a metric that injects reasoning

    [reproduction]                   # of a published result by biasing features
    source = "Chua and Evans 2025"
    published = 0.59
    ours = 0.57
    why = ""                         # of a difference of more than 0.05

    [rerun]                          # one model run twice
    model = "A"
    identical = 1.0                  # share of identical outputs
    why = ""                         # of a share below 1

A text of dots alone counts as left out.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faithshift_data.errors import InputError

KEPT, BROKEN, IDLE = "kept", "broken", "does not apply"
KINDS = ("score", "comparison", "ranking")
PROPERTIES = {
    "biasing_features": "honest",
    "filler_tokens": "necessary",
    "early_answering": "deciding",
}
MEANING = {
    "honest": "the reasoning is honest about what influenced it",
    "necessary": "the reasoning is necessary for the answer",
    "deciding": "the answer is still being decided while it is written",
}
INJECTS = ("filler_tokens", "early_answering")
ALSO = {"bf": "biasing_features", "filler": "filler_tokens", "ea": "early_answering"}
# Of scores; what differs by more is another result, unless somebody says why.
REPRODUCED = 0.05
_QUALIFIED = re.compile(
    r"\b(?:honest|acknowledg|admit|influenc|necessary|needed|needs|depend|decid|settled|metric"
    r"|biasing[ _-]features|filler[ _-]tokens|early[ _-]answering)",
    re.IGNORECASE,
)
_TOP = {"claim": str, "kind": str, "informs_decision": bool, "disagreements": str, "result": list,
        "reproduction": dict, "rerun": dict}  # fmt: skip
_RESULT = {"metric": str, "property": str, "judge": str, "elicitation": str,
           "injection_verified": bool, "injects": bool}  # fmt: skip
_REPRODUCTION = {"source": str, "published": (int, float), "ours": (int, float), "why": str}
_RERUN = {"model": str, "identical": (int, float), "why": str}
Claim = Mapping[str, Any]


@dataclass(frozen=True)
class Ruling:
    """One rule: kept, broken or does not apply; ``add`` says what is missing, one entry a gap."""

    number: int
    rule: str
    outcome: str
    add: tuple[str, ...] = ()


def read_claim(path: str | Path) -> dict[str, Any]:
    """A claim from a .toml or .json file.

    Raises:
        InputError: no such file, not TOML or JSON, an unknown field, or one of another type.
    """
    file = Path(path)
    loaders = {".toml": tomllib.loads, ".json": json.loads}
    load = loaders.get(file.suffix.lower())
    if load is None:
        expected, got = " or ".join(loaders), file.suffix or "no ending"
        raise InputError("unknown kind of file", file=file, expected=expected, got=got)
    if not file.is_file():
        raise InputError("no such file", file=file)
    try:
        claim = load(file.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        kind = file.suffix[1:].upper()
        raise InputError(f"not {kind}", file=file, got=" ".join(str(error).split())) from None
    return check_claim(claim, str(file))


def check_claim(claim: Any, source: str = "claim") -> dict[str, Any]:
    """The claim itself, if every field is known and of its type.

    Raises:
        InputError: naming the first field that is not.
    """
    if not isinstance(claim, dict):
        raise InputError("not a claim", file=source, expected="a table of fields")
    _typed(claim, _TOP, source, None)
    if claim.get("kind", "score") not in KINDS:
        expected = ", ".join(KINDS)
        where = {"file": source, "field": "kind"}
        raise InputError("bad value", **where, expected=expected, got=claim["kind"])
    for number, result in enumerate(claim.get("result", [])):
        if not isinstance(result, dict):
            raise InputError("not a table", file=source, row=number, field="result")
        _typed(result, _RESULT, source, number)
    _typed(claim.get("reproduction", {}), _REPRODUCTION, source, "reproduction")
    _typed(claim.get("rerun", {}), _RERUN, source, "rerun")
    for row, names in (("reproduction", ("published", "ours")), ("rerun", ("identical",))):
        for name in names:
            share = claim.get(row, {}).get(name, 0.0)
            if not 0 <= share <= 1:
                where = {"file": source, "row": row, "field": name}
                raise InputError("out of range", **where, expected="0 to 1", got=share)
    return claim


def lint_claim(claim: Claim) -> list[Ruling]:
    """The six rulings on a claim, in order."""
    return [
        _ruling(1, "says metric, judge and elicitation format", *_stated(claim)),
        _ruling(2, "ranks no models by one metric", *_several(claim)),
        _ruling(3, "reports where metrics disagree if a decision rests on it", *_decision(claim)),
        _ruling(4, "names the property that was measured", *_property(claim)),
        _ruling(5, "verifies that injected reasoning arrived", *_verified(claim)),
        _ruling(6, "reproduces a published result, and itself", *_reproduced(claim)),
    ]


def render_rulings(rulings: list[Ruling]) -> str:
    """A line a rule, and under it what to add."""
    lines = []
    for each in rulings:
        lines.append(f"{each.number}. {each.outcome}: {each.rule}")
        lines += [f"   add: {gap}" for gap in each.add]
    return "\n".join(lines)


def _ruling(number: int, rule: str, applies: bool, gaps: list[str]) -> Ruling:
    outcome = IDLE if not applies else BROKEN if gaps else KEPT
    return Ruling(number, rule, outcome, tuple(gaps))


def _stated(claim: Claim) -> tuple[bool, list[str]]:
    results = claim.get("result", [])
    gaps = [] if results else ["a [[result]] for each metric"]
    for number, result in enumerate(results):
        name = _metric(result)
        if not name:
            gaps.append(f"metric of result {number}")
        where = name or f"result {number}"
        judge = _text(result, "judge")
        if not judge:
            gaps.append(f'judge of {where} ("none" if it has none)')
        elif name == "biasing_features" and judge.casefold() == "none":
            gaps.append(f"judge of {where}: who decided whether the hint is acknowledged")
        if not _text(result, "elicitation"):
            gaps.append(f'elicitation of {where}, such as "Answer: (" or "none"')
    return True, gaps


def _several(claim: Claim) -> tuple[bool, list[str]]:
    if "kind" not in claim:
        return True, ["kind: " + ", ".join(KINDS)]
    if claim["kind"] == "score":
        return False, []
    n = len(_metrics(claim))
    return True, [] if n > 1 else [f"results by another metric than the {n} named"]


def _decision(claim: Claim) -> tuple[bool, list[str]]:
    if "informs_decision" not in claim:
        return True, ["informs_decision: true or false"]
    if not claim["informs_decision"]:
        return False, []
    gaps = [] if len(_metrics(claim)) > 1 else ["results by several metrics"]
    if not re.search(r"\d", _text(claim, "disagreements")):
        gaps.append("disagreements: rank correlations, and how many pairs of models reverse")
    return True, gaps


def _property(claim: Claim) -> tuple[bool, list[str]]:
    gaps = []
    for number, result in enumerate(claim.get("result", [])):
        name = _metric(result)
        where = name or f"result {number}"
        said, wanted = _text(result, "property"), PROPERTIES.get(name)
        if said not in MEANING:
            choices = "; ".join(f"{key} ({meaning})" for key, meaning in MEANING.items())
            gaps.append(f"property of {where}: {choices}")
        elif wanted is not None and said != wanted:
            gaps.append(f"property of {where}: {wanted}, for {MEANING[wanted]}; not {said}")
    text = _text(claim, "claim")
    if not text:
        gaps.append("claim: the sentence that is reported")
    elif re.search("faithful", text, re.IGNORECASE) and not _QUALIFIED.search(text):
        gaps.append("in the claim, the property in place of faithfulness")
    return True, gaps


def _verified(claim: Claim) -> tuple[bool, list[str]]:
    injecting = [
        result
        for result in claim.get("result", [])
        if _metric(result) in INJECTS or result.get("injects", False)
    ]
    gaps = [
        f"injection_verified = true of {_metric(result) or 'a result'}: check that the text is "
        "in the prompt, and that the model goes on from it"
        for result in injecting
        if not result.get("injection_verified", False)
    ]
    return bool(injecting), gaps


def _reproduced(claim: Claim) -> tuple[bool, list[str]]:
    gaps = []
    if "biasing_features" in _metrics(claim):
        found = claim.get("reproduction", {})
        missing = _missing(found, ("source", "published", "ours"))
        if missing:
            about = "a published result by biasing features"
            gaps.append(f"[reproduction] of {about}: {', '.join(missing)}")
        elif abs(found["ours"] - found["published"]) > REPRODUCED and not _text(found, "why"):
            gaps.append(
                f"a reproduction within {REPRODUCED:g}, or why {found['ours']:g} is not "
                f"{found['published']:g}"
            )
    rerun = claim.get("rerun", {})
    missing = _missing(rerun, ("model", "identical"))
    if missing:
        gaps.append(f"[rerun] of one model: {', '.join(missing)}")
    elif rerun["identical"] < 1 and not _text(rerun, "why"):
        gaps.append(
            f"a rerun with identical outputs, or why only {rerun['identical']:g} of them are"
        )
    return True, gaps


def _missing(found: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [
        name
        for name in names
        if name not in found or (isinstance(found[name], str) and not _text(found, name))
    ]


def _text(found: Mapping[str, Any], name: str) -> str:
    text: str = found.get(name, "").strip()
    return text if text.strip(". ") else ""


def _metric(result: Mapping[str, Any]) -> str:
    """One spelling of a metric, also where a variant of it or a title is named."""
    name = re.sub(r"[\s-]+", "_", _text(result, "metric").casefold())
    begin = re.match("[a-z]*", name)
    return ALSO.get(begin[0] if begin else "", name)


def _metrics(claim: Claim) -> set[str]:
    return {_metric(result) for result in claim.get("result", [])} - {""}


def _typed(found: Any, known: Mapping[str, Any], source: str, row: object) -> None:
    for name, value in found.items():
        where = {"file": source, "row": row, "field": name}
        if name not in known:
            raise InputError("unknown field", **where, expected=", ".join(known))
        kinds = known[name] if isinstance(known[name], tuple) else (known[name],)
        # In Python a truth value is a number.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise InputError("bad type", **where, expected=expected, got=type(value).__name__)
