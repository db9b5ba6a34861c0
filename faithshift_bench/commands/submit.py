"""Scores to a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faithshift_bench.commands.common import Data, Json, print_json, say


def submit(
    scores: Path,
    card: Annotated[Path, typer.Option(help="The detector's card, a TOML file.")],
    data: Data = "mini",
    to: Annotated[
        str | None,
        typer.Option(help="A folder, the https address of a board, or hub:ORG/NAME."),
    ] = None,
    i_mean_it: Annotated[
        bool, typer.Option("--i-mean-it", help="Send scores that are below chance.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Check scores and their card as a board does, and send them; without --to, only check."""
    import faithshift_data as fd
    from faithshift_bench.submission import read_card, validate
    from faithshift_bench.submission.package import package_of
    from faithshift_bench.submission.send import send

    dataset = fd.open(data)
    detector = read_card(card)
    found = validate(scores, detector, dataset, below_chance=i_mean_it)
    package = package_of(scores, detector, dataset, below_chance=i_mean_it)
    sent = send(package, scores, to) if to is not None else None
    if json_output:
        return print_json(
            {
                "id": package.id,
                **{k: v for k, v in found._asdict().items()},
                "place": sent and sent.place,
                "new": sent and sent.new,
            }
        )
    chance = "undefined" if found.auroc is None else f"{found.auroc:.3f}"
    say(
        f"{detector.name}: {found.n_traces} traces, {len(found.seeds)} seeds; "
        f"AUROC on validation {chance} ({found.n_labelled} labels)"
    )
    if detector.declared:
        say(f"declared, so ranked among its like: {', '.join(detector.declared)}")
    if sent is None:
        say("sound; not sent (--to)")
    else:
        say(f"{'sent' if sent.new else 'was there before'}: {sent.place}")
    print(package.id)
