"""Faults of a Hub, on demand: which route, at which call, how often, and what goes wrong."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

HOWS = ("status", "drop", "lose", "half", "corrupt", "intrude")


@dataclass
class Fault:
    """One planted fault.

    Attributes:
        route: name of the route (``routes.ROUTES``).
        how: ``status`` answers ``status``; ``drop`` closes the connection before anything is done;
            ``lose`` does it and closes without an answer; ``half`` reads half a body, or sends
            half of one, and closes; ``corrupt`` changes the last byte that it sends; ``intrude``
            lets somebody else commit to main just before.
        nth: the first call that fails, from 1, counted from when the fault was planted.
        times: how many calls in a row fail.
        status: of ``status``.
        headers: of that answer, for instance ``Retry-After``.
        message: of that answer.
    """

    route: str
    how: str
    nth: int = 1
    times: int = 1
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "planted fault"
    calls: int = 0

    def __post_init__(self) -> None:
        """Refuse a way to fail that does not exist."""
        assert self.how in HOWS, self.how

    @property
    def struck(self) -> bool:
        """Whether it has happened at least once."""
        return self.calls >= self.nth

    def hits(self) -> bool:
        """Count a call; whether it fails."""
        self.calls += 1
        return self.nth <= self.calls < self.nth + self.times


class Faults:
    """The planted faults, asked at every request."""

    def __init__(self) -> None:
        """None yet."""
        self._planted: list[Fault] = []
        self._lock = threading.Lock()

    def plant(self, fault: Fault) -> Fault:
        """Let it happen from now on."""
        self._planted.append(fault)
        return fault

    def clear(self) -> None:
        """Forget all."""
        self._planted.clear()

    def take(self, route: str) -> Fault | None:
        """The fault of this call; every planted fault of the route counts the call."""
        with self._lock:
            hit = [fault for fault in self._planted if fault.route == route and fault.hits()]
        return hit[0] if hit else None
