"""Models compared by several metrics of faithfulness, and claims about them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faithshift_bench.commands.common import Json, print_json, say


def agree(
    run: Annotated[str, typer.Argument(help="Table of answers and verdicts, or its folder.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="New folder.")],
    judge: Annotated[
        str | None, typer.Option(help="Whose verdicts count, of several in the table.")
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option(
            help="Ask a judge first: `rules`, or a model, whose replies are kept in DIR.replies."
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint of the judge that is asked.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Do metrics agree on which models are more faithful? Tables, figures and a page in DIR."""
    from faithshift_bench.agreement import agree as compare_metrics
    from faithshift_bench.agreement import read_settings, read_study
    from faithshift_bench.agreement.judges import ask_judge, judge_named, primary_judge
    from faithshift_bench.agreement.output import write_report
    from faithshift_bench.agreement.summary import headline_lines
    from faithshift_bench.targets import check_free

    check_free(out)
    study, plan = read_study(run), read_settings(run)
    if judge is not None:
        plan = plan.amend("judge", judge, "set on the command line")
    if ask is not None:
        # Whose verdicts count has to be clear before a single one is paid for.
        primary_judge(study.with_verdicts(ask, {}), plan.settings)
        study = ask_judge(study, judge_named(ask, base_url, replies=replies_beside(out)))
    made = compare_metrics(study, plan)
    write_report(made, study, out)
    if as_json:
        return print_json(made.to_dict())
    for line in headline_lines(made):
        print(line)
    for flag in made.flags:
        print(f"! {flag}.")
    say(f"{out / 'report.html'}")


def replies_beside(folder: Path) -> Path:
    """Where a judge's replies are kept, so that a run that was interrupted goes on."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.replies")


def lint_claim(
    claim: Annotated[Path, typer.Argument(help="Claim as .toml or .json.")],
    as_json: Json = False,
) -> None:
    """Six rules for reporting a faithfulness result; exit status 1 where one is broken."""
    from dataclasses import asdict

    from faithshift_bench.agreement.claims import BROKEN, read_claim, render_rulings
    from faithshift_bench.agreement.claims import lint_claim as lint

    rulings = lint(read_claim(claim))
    if as_json:
        print_json([asdict(each) for each in rulings])
    else:
        print(render_rulings(rulings))
    if any(each.outcome == BROKEN for each in rulings):
        raise typer.Exit(1)
