"""``python -m builders``: make a dataset folder, check it by other means, publish it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builders.agreement.preset import is_agreement, load_agreement
from builders.audit_command import add_commands
from builders.organisms.preset import is_organisms, load_organisms
from builders.organisms.truth_command import add_command as add_truth
from builders.presets import load_preset
from builders.presets.uses import local_copies
from builders.publishing.command import add_command as add_publish
from builders.withhold_command import add_command as add_withhold
from builders.withhold_command import add_salt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 done, 1 the input was wrong, 130 Ctrl-C (one line on stderr)."""
    parser = argparse.ArgumentParser(prog="python -m builders", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="generate, measure, label and pair traces")
    build.add_argument(
        "--preset",
        default="mini",
        help="mini, twelve, board-hidden, paper, paper-750, paper-8, paper-forty, agreement, "
        "organisms, organisms-small, or a TOML file",
    )
    build.add_argument("--out", type=Path, help="the new folder; resumes where it stopped")
    build.add_argument(
        "--workers",
        type=int,
        help="processes that each hold the models; default: one a core, or one where models "
        "compute on a GPU or elsewhere",
    )
    build.add_argument("--ray", metavar="local|ADDRESS", help="on Ray, with --workers actors")
    build.add_argument("--shard", metavar="I/N", help="make only this machine's chunks")
    build.add_argument(
        "--models", type=Path, help="of organisms: a folder of models to use; none is trained then"
    )
    build.add_argument(
        "--copies",
        type=Path,
        metavar="DIR",
        help="of a preset with sources: DIR/gsm8k and so on are read instead of the Hub",
    )
    build.add_argument("--dry-run", action="store_true", help="print the estimate and stop")
    add_salt(build)
    build.set_defaults(run=_build)
    merge = commands.add_parser("merge", help="bring the chunks of several machines together")
    merge.add_argument("work", nargs="+", type=Path, help="work folders (DIR.work)")
    merge.add_argument("--into", required=True, type=Path, help="the work folder to copy into")
    merge.set_defaults(run=_merge)
    again = commands.add_parser("recheck", help="answers in float32 against the stored ones")
    again.add_argument("data", nargs="?", default="mini", help="a name or a folder")
    again.add_argument("--traces", type=int, default=150)
    again.add_argument("--model", default="smollm2", help="smollm2 or a Hugging Face folder")
    again.set_defaults(run=_recheck)
    add_commands(commands)
    add_publish(commands)
    add_withhold(commands)
    add_truth(commands)
    options = parser.parse_args(arguments)
    # A waiting OpenMP thread would spin and take the core from the other process.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Loading a model takes a second; its bar would hide the chunks'.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("interrupted; what is done is kept: run again to go on", file=sys.stderr)
        return 130
    except ImportError as error:
        print(f"error: {error}; pip install 'faithshift[build]'", file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _build(options: argparse.Namespace) -> int:
    if options.ray is not None and (is_organisms(options.preset) or is_agreement(options.preset)):
        raise ValueError(f"--ray: expected a preset of traces, got {options.preset}")
    if is_organisms(options.preset):
        return _build_organisms(options)
    if is_agreement(options.preset):
        return _build_agreement(options)
    if options.models is not None:
        raise ValueError(f"--models: expected a preset of organisms, got {options.preset}")
    preset = load_preset(options.preset)
    if options.copies is not None:
        if not preset.sources:
            raise ValueError(f"--copies: expected a preset with sources, got {options.preset}")
        preset = replace(preset, sources=local_copies(preset.sources, options.copies))
    from builders.estimate import estimate
    from builders.provenance import emulates
    from builders.shards import Shard

    shard = None if options.shard is None else Shard.parse(options.shard)
    if options.dry_run and preset.sources:
        from builders.dry_run import dry_run

        for line in dry_run(preset):
            print(line)
        return 0
    if options.dry_run:
        for name, value in estimate(preset).items():
            print(f"{name}: {value:,.0f}")
        if emulates(preset.writer_dtype):
            print(
                f"note: this processor imitates {preset.writer_dtype} and writes about four times "
                'more slowly for it; with writer_dtype = "float32" other traces are made, sooner',
                file=sys.stderr,
            )
        return 0
    if options.out is None:
        raise ValueError("--out: expected a folder, got nothing")
    from builders.secret import read_salt

    salt = read_salt(options.salt_file) if preset.secret else None
    if options.ray is not None and (salt is not None or shard is not None):
        raise ValueError("--ray: expected neither --shard nor a secret preset beside it")
    from builders.board import build_board
    from builders.stages import build, build_shard
    from builders.weights import load_models
    from faithshift_data.measure.local_model import need_device

    if preset.api_models:
        hosted = ", ".join(preset.api_models)
        print(f"note: not built here, as they show no states: {hosted}", file=sys.stderr)
    if options.ray is None:
        need_device(preset.reader_device)
    models = load_models(preset.models)
    workers = _workers(options, preset.engine, preset.reader_device)
    if salt is not None:
        made = {"salt": salt, "workers": workers, "shard": shard}
        print(build_board(preset, models, options.out, **made))
    elif shard is None:
        print(build(preset, models, options.out, workers=workers, ray=options.ray))
    else:
        print(build_shard(preset, models, options.out, workers=workers, shard=shard))
    return 0


def _build_agreement(options: argparse.Namespace) -> int:
    preset = load_agreement(options.preset)
    if options.copies is not None:
        preset = replace(preset, sources=local_copies(preset.sources, options.copies))
    if options.dry_run:
        from builders.agreement.dry_run import dry_run

        for line in dry_run(preset):
            print(line)
        return 0
    if options.out is None:
        raise ValueError("--out: expected a folder, got nothing")
    from builders.agreement.answering import answer_all

    print(answer_all(preset, options.out, workers=_workers(options, preset.engine)))
    return 0


def _build_organisms(options: argparse.Namespace) -> int:
    from builders.organisms.building import build, estimate

    preset = load_organisms(options.preset)
    if options.shard is not None:
        raise ValueError("--shard: organisms are built on one machine")
    if options.dry_run:
        for name, value in estimate(preset).items():
            print(f"{name}: {value:,.0f}")
        return 0
    if options.out is None:
        raise ValueError("--out: expected a folder, got nothing")
    print(build(preset, options.out, workers=_workers(options), models=options.models))
    return 0


def _workers(options: argparse.Namespace, engine: str = "transformers", device: str = "cpu") -> int:
    """Processes; several of them would each want all of a GPU."""
    here = engine == "transformers" and device == "cpu"
    usual = (os.cpu_count() or 1) if here else 1
    return max(1, usual if options.workers is None else options.workers)


def _merge(options: argparse.Namespace) -> int:
    from builders.shards import merge

    found = merge(options.work, options.into)
    print(
        f"{options.into}: {found.copied} chunks copied, {found.there} there before "
        f"({found.differing} with other contents), {found.broken} broken ones left out"
    )
    return 0


def _recheck(options: argparse.Namespace) -> int:
    from builders.recheck import recheck
    from builders.weights import load_models

    (weights,) = load_models([options.model])
    found = recheck(options.data, weights, traces=options.traces)
    print(f"answers: {found.same_answers} of {found.answers} the same in float32")
    print(f"changed: {found.same_changed} of {found.probes} the same in float32")
    return 0


if __name__ == "__main__":
    sys.exit(main())
