"""The pool on Ray gives what the pool of processes gives, and loses no more than a row.

Starting Ray takes half a minute; runs where the extra `ray` is installed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from builders.pool import Pool
from builders.presets import load_preset
from builders.ray_pool import LOCAL, RETRIES, RayPool
from builders.stages import build
from builders.weights import load_models
from tests.builders.test_pool import ENDLESS, alive, within
from tests.builders.tiny import write_tiny_preset

pytest.importorskip("ray", reason="needs Ray: pip install 'faithshift[build,ray]'")
pytestmark = pytest.mark.slow


def prepare() -> None:
    os.environ["FAITHSHIFT_PREPARED"] = "yes"


def square(number: int) -> tuple[int, str | None]:
    return number**2, os.environ.get("FAITHSHIFT_PREPARED")


def dies_at_first(marker: Path, number: int) -> int:
    """Ends its process the first time it is done; leaves a mark each time."""
    with marker.open("a") as file:
        file.write(f"{number}\n")
    if marker.read_text().split().count(str(number)) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def dies(tries: Path, number: int) -> int:
    if number == 3:
        with tries.open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("kind", ["INT", "TERM"])
def test_an_interrupted_build_ends_soon_and_leaves_no_actor(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "endless.py"
    script.write_text(
        ENDLESS.replace("builders.pool import Pool", "builders.ray_pool import RayPool").replace(
            "Pool(int(sys.argv[1]), nothing)", 'RayPool("local", 2, nothing)'
        )
    )
    (pids := tmp_path / "pids").mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), "2", str(pids)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        within(240, "tasks have begun", lambda: len(list(pids.iterdir())) == 2)
        begun = [int(file.read_text()) for file in pids.iterdir()]
        # As a terminal does it: every process of the group gets Ctrl-C. A scheduler tells one.
        if kind == "INT":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.terminate()
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 130
        assert said.endswith("interrupted; what is done is kept: run again to go on\n")
        assert "Traceback" not in said
    finally:
        process.kill()
    within(30, "no actor is left", lambda: not any(map(alive, begun)))


def test_no_cluster_at_the_address_is_one_line() -> None:
    with pytest.raises(ValueError, match="--ray: expected local or a cluster's address"):
        list(RayPool("127.0.0.1:9", 1, prepare).results([partial(square, 1)]))


@pytest.fixture(scope="module")
def pool():
    with RayPool(LOCAL, 2, prepare) as running:
        yield running


def test_results_are_those_of_processes(pool) -> None:
    tasks = [partial(square, number) for number in range(9)]
    with Pool(2, prepare) as processes:
        expected = sorted(processes.results(tasks))
    assert sorted(pool.results(tasks)) == expected
    assert expected[3] == (3, (9, "yes"))
    assert list(pool.results([])) == []


def test_an_actor_that_is_killed_loses_nothing(pool, tmp_path) -> None:
    marker = tmp_path / "tries"
    tasks = [partial(dies_at_first, marker, number) for number in range(4)]
    assert sorted(pool.results(tasks)) == [(number, number) for number in range(4)]
    assert len(marker.read_text().split()) == 8


def test_a_row_that_ends_its_actor_again_and_again_costs_itself(pool, tmp_path) -> None:
    tasks = [partial(dies, tmp_path / "tries", number) for number in range(6)]
    found = sorted(pool.results(tasks))
    assert found == [(number, number) for number in range(6) if number != 3]
    assert len((tmp_path / "tries").read_text()) == RETRIES + 1


def test_a_build_on_ray_is_byte_for_byte_the_local_one(tmp_path) -> None:
    preset = load_preset(str(write_tiny_preset(tmp_path)))
    models = load_models(preset.models)
    here = build(preset, models, tmp_path / "here", workers=1)
    there = build(preset, models, tmp_path / "there", workers=2, ray=LOCAL)
    names = [path.relative_to(here) for path in sorted(here.rglob("*.*")) if path.is_file()]
    told = [name for name in names if name.name not in ("manifest.json", "README.md")]
    assert len(told) > 9
    for name in told:
        assert (here / name).read_bytes() == (there / name).read_bytes(), name
