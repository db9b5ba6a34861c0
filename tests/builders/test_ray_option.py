"""What `--ray` refuses before anything is started; `tests/long/test_ray.py` runs it."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace

import pytest

from builders.__main__ import main
from builders.ray_pool import LOCAL, RayPool


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--preset", "organisms"), "--ray: expected a preset of traces, got organisms"),
        (("--shard", "1/2"), "--ray: expected neither --shard nor a secret preset"),
    ],
)
def test_what_ray_does_not_spread_is_refused(argv, said: str, tmp_path, capsys) -> None:
    code = main(["build", "--ray", LOCAL, "--out", str(tmp_path / "out"), *argv])
    err = capsys.readouterr().err
    assert code == 1 and said in err and err.count("\n") == 1


def test_without_ray_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with RayPool(LOCAL, 1, lambda: None) as pool, pytest.raises(ValueError, match="build,ray"):
        list(pool.results([lambda: 1]))


def test_a_scheduler_that_ends_the_driver_interrupts_it(monkeypatch) -> None:
    context = SimpleNamespace()
    data = SimpleNamespace(DataContext=SimpleNamespace(get_current=lambda: context))
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: True))
    monkeypatch.setitem(sys.modules, "ray.data", data)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), RayPool(LOCAL, 1, lambda: None) as pool:
        pool._start()
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    assert signal.getsignal(signal.SIGTERM) is before and context.max_errored_blocks == -1
