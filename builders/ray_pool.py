"""The pool on Ray Data: tasks are rows of a dataset, actors that hold the models map them.

Actors may be on other machines; work folder and models are then on a disk that all of them see.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")
LOCAL = "local"
# The checkout, at the same place on every machine.
ROOT = Path(__file__).parents[1]
# A row whose actor was lost so often is given up: it may be what ends them.
RETRIES = 2


class RayPool:
    """What ``Pool`` is, by actors of Ray.

    Args:
        address: ``local``, or the address of a cluster, as ``ray.init`` takes it.
        workers: actors.
        prepare: what each does before its first task.
    """

    def __init__(self, address: str, workers: int, prepare: Callable[[], None]) -> None:
        """Nothing is started yet."""
        self._address, self._workers, self._prepare = address, max(1, workers), prepare
        self._started = self._joined = False
        self._on_term: Any = None

    def __enter__(self) -> RayPool:
        """The pool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; a local one ends with it. A Ray that ran before goes on.

        An actor is ended amid its task; what it had not finished it has not written.
        """
        if self._joined:
            import ray

            ray.shutdown()
        if self._on_term is not None:
            signal.signal(signal.SIGTERM, self._on_term)

    def results(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Do tasks; one whose actor is lost is done by another.

        Yields:
            The place of a task and its result, as each is done. A task that ended its actor again
            and again has none.

        Raises:
            ValueError: Ray is not installed, or there is no cluster at the address.
        """
        self._start()
        import ray
        from ray import cloudpickle
        from ray.data import ActorPoolStrategy

        rows = [{"place": n, "task": cloudpickle.dumps(task)} for n, task in enumerate(tasks)]
        if not rows:
            return
        done = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(self._prepare,),
            batch_size=1,
            compute=ActorPoolStrategy(size=min(self._workers, len(rows))),
            num_cpus=1,
            max_restarts=-1,
            max_task_retries=RETRIES,
        )
        for row in done.iter_rows():
            yield row["place"], cloudpickle.loads(row["result"])

    def _start(self) -> None:
        if self._started:
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
            from ray.data import DataContext
        except ImportError as error:
            raise ValueError(f"--ray: {error}; pip install 'faithshift[build,ray]'") from None
        if not ray.is_initialized():
            self._join(ray)
        context = DataContext.get_current()
        context.enable_progress_bars = False
        # A row that is given up costs the others nothing.
        context.max_errored_blocks = -1
        # Ray would end this process with a status of its own, and the cluster after it.
        if threading.current_thread() is threading.main_thread():
            self._on_term = signal.signal(signal.SIGTERM, _interrupt)
        self._started = True

    def _join(self, ray: Any) -> None:
        here = self._address == LOCAL
        try:
            _reach(self._address)
            ray.init(
                address=self._address,
                num_cpus=self._workers if here else None,
                include_dashboard=False if here else None,
                runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
                log_to_driver=False,
                logging_level="error",
            )
        except Exception as error:  # noqa: BLE001 - a node that does not start raises no more than that
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"--ray: expected local or a cluster's address; {reason}") from None
        self._joined = True


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _reach(address: str) -> None:
    """Find out at once what Ray finds out after minutes.

    Raises:
        OSError: nobody listens there.
        ValueError: a port that is none.
    """
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    if parts.port is not None:
        socket.create_connection((parts.hostname or "", parts.port), timeout=10).close()


class _Actor:
    """Holds what ``prepare`` sets up, and does one task a call."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        prepare()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        from ray import cloudpickle

        (task,) = batch["task"]
        return {"place": batch["place"], "result": [cloudpickle.dumps(cloudpickle.loads(task)())]}
