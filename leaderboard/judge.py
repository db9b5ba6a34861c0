"""The process that reads a stranger's scores: it limits itself first, and answers in a fixed form.

``python -m leaderboard.judge JOB OUT``; both are JSON files, and nothing is printed. It ends with
its standard input, so that none outlives who asked for it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from pathlib import Path
from typing import Any

LARGEST_OUTCOME = 2**20


def main() -> int:
    """Judge one submission; 0 where ``OUT`` says what came of it."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    _confine(job["memory_bytes"], job["cpu_seconds"])
    Path(sys.argv[2]).write_text(json.dumps(_judge(job)), encoding="utf-8")
    return 0


def _end_with_input() -> None:
    os.read(0, 1)
    os._exit(1)


def _confine(memory: int, seconds: int) -> None:
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, LARGEST_OUTCOME),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    # At the first limit comes a signal that says why, at the second the end.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def _judge(job: dict[str, Any]) -> dict[str, Any]:
    import faithshift_bench as fb
    import faithshift_data as fd
    from faithshift_bench.submission import validate
    from faithshift_bench.submission.package import about_data, read_package
    from faithshift_data.errors import InputError
    from leaderboard.breakdown import breakdown
    from leaderboard.entry import entry_of
    from leaderboard.names import check_free

    # What belongs to the keeper comes first: its faults are not the submission's.
    public, key = fd.open(job["public"]), fd.open(job["key"] or job["public"])
    for data in (public, key):
        for config in ("traces", "pairs"):
            data.table(config)
    folder = Path(job["folder"])
    try:
        package = read_package(folder, job["id"])
        # A sender who could name another version would put the board's own into the past.
        if dict(package.data) != about_data(public):
            return {"rejection": "the statement names other data than these scores are of"}
        if not job.get("receipt", {}).get("control"):
            check_free(package.card.name)
        scores = folder / package.file
        found = validate(scores, package.card, public, below_chance=package.below_chance)
        if job.get("check"):
            return {"checked": found._asdict()}
        report = fb.evaluate_scores(scores, key, name=package.card.name)
        parts = breakdown(report, scores, key)
    except InputError as error:
        return {"rejection": str(error)}
    except MemoryError:
        return {"rejection": "it needs more memory than a submission may use"}
    except Exception as error:  # noqa: BLE001
        # Its text may quote what is hidden.
        return {"rejection": f"it could not be evaluated ({type(error).__name__})"}
    hidden = job["key"] is not None
    told = (job["id"], package, job["receipt"], report, found, parts)
    return {"entry": entry_of(*told, hidden=hidden)}


if __name__ == "__main__":
    sys.exit(main())
