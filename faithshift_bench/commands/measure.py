"""Interventions and trajectories for own traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from faithshift_bench.commands.common import Json, above_bar, bar, print_json
from faithshift_data.errors import InputError


def measure(
    model: Annotated[
        str, typer.Option(help="Local folder in the Hugging Face layout, or a name at --url.")
    ],
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="Dataset folder; see fd.write.")
    ] = None,
    generate: Annotated[
        Path | None,
        typer.Option(help="First write DIR: the model's answers to questions, a JSON object each."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="New folder; without it DIR is replaced.")
    ] = None,
    probes: Annotated[str, typer.Option(help="Interventions: full or subset.")] = "full",
    label_probes: Annotated[
        bool, typer.Option("--label-probes", help="Also those from which labels can be made.")
    ] = False,
    chat: Annotated[
        bool, typer.Option("--chat", help="Prompts are user messages: use the chat template.")
    ] = False,
    answer_line: Annotated[
        str | None, typer.Option(help="Text that asks for the answer, such as '\\nAnswer:'.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="transformers, vllm or openai; the last two give answers alone.")
    ] = "transformers",
    url: Annotated[
        str | None, typer.Option(help="Endpoint of openai, as http://localhost:8000/v1.")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Folder with the tokenizer of the model at --url.")
    ] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Only find out whether injected text is continued.")
    ] = False,
    rollout: Annotated[
        bool,
        typer.Option("--rollout", help="Also attention rollout, for the detector attribution."),
    ] = False,
    attention_temperature: Annotated[
        float,
        typer.Option(help="What attention logits are divided by; how far verdicts hang on it."),
    ] = 1.0,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N, for transformers.")] = "cpu",
    limit: Annotated[int | None, typer.Option(help="Measure so many traces at most.")] = None,
    max_tokens: Annotated[int, typer.Option(help="Longest reply, with --generate.")] = 1024,
    as_json: Json = False,
) -> None:
    """Add interventions and trajectories to own traces, by a model. Can be resumed."""
    from faithshift_data.measure.measured import render
    from faithshift_data.measure.one_trace import Settings
    from faithshift_data.measure.run import measure_folder
    from faithshift_data.measure.text_model import open_model

    if folder is None and not probe:
        raise typer.BadParameter("give the folder to measure, or --probe", param_hint="DIR")
    line = None if answer_line is None else answer_line.replace("\\n", "\n")
    settings = Settings(probes, label_probes, line, chat, limit, rollout)
    loaded = open_model(
        model,
        engine=engine,
        dtype=dtype,
        url=url,
        tokenizer=tokenizer,
        attention_temperature=attention_temperature,
        device=device,
    )
    if probe or folder is None:
        return _probe(loaded, as_json)
    shown: dict[str, Any] = {"progress": above_bar, "bar": bar}
    if generate is not None:
        from faithshift_data.measure.generate import generate as write_traces

        if chat:
            message = "what --generate writes is in the chat template already"
            raise InputError(message, field="--chat")
        write_traces(generate, loaded, folder, max_tokens=max_tokens, measured_to=out, **shown)
    summary = measure_folder(folder, loaded, settings, out=out, **shown)
    if as_json:
        return print_json(summary)
    print(render(summary))


def _probe(model: Any, as_json: bool) -> None:
    """Print what an engine does with injected text; exit status 1 unless it is continued."""
    from faithshift_data.measure.engines.probe import Outcome, probe, render

    found = probe(model.engine)
    title = f"{model.model_id} by {model.engine.name} {model.engine.version}"
    if as_json:
        print_json({"model": model.model_id, "engine": model.engine.facts(), **found.to_dict()})
    else:
        print(render(found, title))
    if found.outcome != Outcome.SUPPORTED:
        raise typer.Exit(1)
