"""Processes that do tasks: they end with the one that started them, and at once on Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, resource_tracker
from multiprocessing.connection import wait
from typing import TypeVar

T = TypeVar("T")
# Forking a process that already runs torch's threads may hang.
START_METHOD = "spawn"


class BuildError(ValueError):
    """What could not be made, in one line; what was made is kept."""


class Pool:
    """Processes for the tasks of one build; started when there is work, ended on leaving.

    Args:
        workers: processes; with one, tasks are done in this one.
        prepare: what each does before its first task.
    """

    def __init__(self, workers: int, prepare: Callable[[], None]) -> None:
        """Nothing is started yet."""
        self._workers, self._prepare = workers, prepare
        self._executor: ProcessPoolExecutor | None = None
        self._others = set(active_children())

    def __enter__(self) -> Pool:
        """The pool itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the processes; what is queued is not begun, and after a fault nothing is finished."""
        if self._executor is None:
            return
        if kind is not None:
            for process in set(active_children()) - self._others:
                process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def results(self, tasks: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        """Do tasks.

        Yields:
            The place of a task and its result, as each is done.

        Raises:
            BuildError: a process was ended from outside.
            Exception: of a task that failed.
        """
        if self._workers <= 1:
            self._prepare()
            yield from ((place, task()) for place, task in enumerate(tasks))
            return
        try:
            with _sigint_kept_from_children():
                if self._executor is None:
                    context = multiprocessing.get_context(START_METHOD)
                    self._executor = ProcessPoolExecutor(
                        self._workers, context, initializer=_start, initargs=(self._prepare,)
                    )
                futures = {self._executor.submit(task): n for n, task in enumerate(tasks)}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise BuildError(
                "a worker process was ended, for want of memory perhaps; "
                "what is done is kept: run again, with fewer --workers"
            ) from None


@contextmanager
def _sigint_kept_from_children() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal, and each would print a traceback.

    Processes that are started meanwhile inherit the block; this one gets the signal afterwards.
    """
    # Started within the block, the tracker would end it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(prepare: Callable[[], None]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare()


def _end_with_parent() -> None:
    """A pool's process would wait for work for ever once its parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
