"""Tokens, disk and hours of a build, each with what it rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import faithshift_data as fd
from builders.dry_run.counts import Condition
from builders.estimate import TOKENS, estimate
from builders.presets import Preset, load_preset
from builders.prompts import make_cue, user_message
from builders.sources import Item

CHARACTERS_A_TOKEN, PROMPT_TOKENS = 4.0, 150
# New tokens a second that a model of a thousand million parameters writes on one data-centre GPU.
TOKENS_A_SECOND = 6000.0
# Seconds to read one trace on an A100, by the published study: 2 to 5.
READING_SECONDS = 3.5
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
# Of weights as they are published.
BYTES_A_PARAMETER = 2
# Of mini: tokens of a prompt and its reasoning, and the share of the allowed ones that are written.
TOKENS_A_TRACE, WRITTEN = 141, 0.65
# Thousand millions, of models whose names do not say it.
PARAMETERS = {"microsoft/Phi-3-mini-4k-instruct": 3.8, "smollm2": 0.135}


def costs(preset: Preset, plan: Sequence[Condition], items: Sequence[Item]) -> Iterator[str]:
    """The lines of the report.

    Args:
        preset: its models, engine and sampling.
        plan: the conditions of an item and model.
        items: those drawn; empty where no source could be read.
    """
    wanted = sum(use.items or preset.candidates_per_domain for use in preset.sources)
    times = wanted * (len(preset.models) if preset.all_write else 1)
    generations = times * sum(each.generations for each in plan)
    traces = times * sum(each.expected for each in plan)
    most = times * sum(each.most for each in plan)
    written = generations * preset.max_tokens
    prompt, why = _prompt_tokens(preset, items)
    yield f"generations: {generations:,}, at most {preset.attempts} attempts each (counted)"
    yield f"traces: about {traces:,.0f} (rates of mini), at most {most:,} (counted)"
    yield f"tokens written: at most {written:,} an attempt ({preset.max_tokens} a generation)"
    yield f"tokens of a prompt: about {prompt:,.0f} ({why})"
    reread = 1 + _rows_a_trace()
    read = traces * reread * (prompt + preset.max_tokens)
    yield (
        f"tokens read: at most {read:,.0f} (each trace {reread:.0f} times, as in mini; prefixes "
        "that texts share are read once)"
    )
    yield from _disk(preset, traces)
    yield from _hours(preset, wanted, generations, traces, prompt)


def _prompt_tokens(preset: Preset, items: Sequence[Item]) -> tuple[float, str]:
    if not items:
        return PROMPT_TOKENS, "assumed: no source could be read"
    asked = [
        user_message(item, cue=cue)
        for item in items
        for cue in (None, make_cue(item, preset.cue_format))
    ]
    characters = sum(map(len, asked)) / len(asked)
    return characters / CHARACTERS_A_TOKEN, f"{CHARACTERS_A_TOKEN:.0f} characters a token, assumed"


def _rows_a_trace() -> float:
    counts = fd.open("mini").manifest.counts
    return float(sum(counts["interventions"].values()) / sum(counts["traces"].values()))


def _disk(preset: Preset, traces: float) -> Iterator[str]:
    manifest = fd.open("mini").manifest
    each = sum(file.bytes for file in manifest.files.values())
    each /= sum(manifest.counts["traces"].values())
    longer = max(1.0, preset.max_tokens / load_preset("mini").max_tokens)
    size = traces * each * longer
    yield f"disk, dataset: about {_size(size)} (a trace of mini, {each:,.0f} bytes, x {longer:.0f})"
    known = [size for name in preset.models if (size := parameters(name)) is not None]
    unknown = len(preset.models) - len(known)
    more = f", {unknown} of unknown size left out" if unknown else ""
    weights = _size(sum(known) * 1e9 * BYTES_A_PARAMETER)
    yield f"disk, weights: about {weights} ({BYTES_A_PARAMETER} bytes a parameter{more})"
    elsewhere = preset.engine == "openai"
    bytes_each = BYTES[preset.reader_dtype] + (0 if elsewhere else BYTES[preset.writer_dtype])
    held = _size(sum(known) * 1e9 * bytes_each)
    reading = f"reading in {preset.reader_dtype}"
    what = reading if elsewhere else f"writing in {preset.writer_dtype}, {reading}"
    yield f"memory, weights: about {held} a process ({what}; all models at once{more})"


def _hours(
    preset: Preset, wanted: int, generations: float, traces: float, prompt: float
) -> Iterator[str]:
    if preset.models == ("smollm2",):
        usual = estimate(preset)
        minutes = (
            usual["minutes"] * TOKENS / preset.max_tokens * wanted / (4 * preset.keep_per_domain)
        )
        minutes *= (prompt + WRITTEN * preset.max_tokens) / TOKENS_A_TRACE
        yield f"minutes on two cores: about {minutes:,.0f} (measured on mini, by tokens of a trace)"
        return
    each = generations * preset.max_tokens / len(preset.models)
    sizes = [parameters(name) for name in preset.models]
    writing = sum(each * size / TOKENS_A_SECOND / 3600 for size in sizes if size is not None)
    reading = traces * READING_SECONDS / 3600
    yield (
        f"GPU hours: about {writing + reading:,.0f} = writing {writing:,.1f} (assumed: "
        f"{TOKENS_A_SECOND:,.0f} tokens a second and 10^9 parameters, one attempt) + reading "
        f"{reading:,.1f} (published: {READING_SECONDS} s a trace); nothing of it was measured here"
    )


def _size(count: float) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def parameters(name: str) -> float | None:
    """Parameters of a model in thousand millions, as its name says; None where it does not."""
    plain = name.partition("@")[0]
    found = re.search(r"(?<![\d.])(\d+(?:\.\d+)?)B\b", plain, re.I)
    return PARAMETERS.get(plain, float(found[1]) if found else None)
