"""The published study against its own definitions."""

from __future__ import annotations

from faithshift_bench.commands.common import Json, print_json


def paper_check(as_json: Json = False) -> None:
    """Every derived figure of the published study, recomputed from its published ingredients."""
    from faithshift_bench.studies.paper_check import paper_check as check_paper
    from faithshift_bench.studies.paper_check import paper_check_dict, render_checks

    checks = check_paper()
    if as_json:
        print_json(paper_check_dict(checks))
    else:
        print(render_checks(checks))
