"""Calls to the Hub: tried again where waiting may help, else one line that never shows a token."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from faithshift_data.errors import InputError

T = TypeVar("T")
TRIES = 5
# A Hub that asks for more seconds than this is asked again by the user, not by us.
LONGEST_WAIT = 60.0
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
# Something is there already, or main has moved: worth a second look, where the call looks.
CHANGED = frozenset({409, 412})
ADVICE = {
    401: "the token is missing, wrong or out of date",
    403: "the token may not do this",
    404: "no such repository, or the token may not see it",
}


@dataclass(frozen=True)
class Patience:
    """Calls on behalf of a token.

    Attributes:
        token: never shown, whatever an error's text holds.
        say: takes a line for each wait.
        sleep: waits that many seconds.
    """

    token: str
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep

    def call(
        self,
        step: str,
        function: Callable[[], T],
        *,
        again: frozenset[int] = PASSING,
        tries: int = TRIES,
    ) -> T:
        """What ``function`` gives; waits of 1, 2, 4, 8 seconds, or what ``Retry-After`` says.

        Args:
            step: what is being done, for the log.
            function: safe to repeat, even if an earlier try arrived and only its answer was lost.
            again: HTTP statuses after which another try may succeed; all others end at once. A
                connection that breaks is like them.
            tries: how often at most.

        Raises:
            InputError: one line with step, status and reason.
        """
        for attempt in range(1, tries + 1):
            try:
                return function()
            except InputError:
                raise
            except Exception as error:
                reason = without_secrets(_reason(error), self.token)
                asked = _retry_after(error)
                wait = 2.0 ** (attempt - 1) if asked is None else asked
                if attempt == tries or wait > LONGEST_WAIT or not _may_pass(error, again):
                    tried = f", after {attempt} tries" if attempt > 1 else ""
                    raise InputError(f"{reason}{tried}", file=step) from None
            self.say(f"{step}: {reason}; once more in {wait:g} s ({attempt} of {tries})")
            self.sleep(wait)
        raise AssertionError("unreachable")


def without_secrets(text: str, token: str) -> str:
    """A text without the token, without what looks like one, and without signed addresses."""
    text = text.replace(token, "[token]") if token else text
    text = re.sub(r"\bhf_[A-Za-z0-9]{20,}", "[token]", text)
    return re.sub(r"(https?://[^\s?]+)\?[^\s)'\"]+", r"\1?...", text)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes: the client wraps what went wrong in a thread."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__


def _response(error: BaseException) -> Any:
    found = (getattr(each, "response", None) for each in _chain(error))
    return next((response for response in found if response is not None), None)


def _retry_after(error: BaseException) -> float | None:
    response = _response(error)
    value = "" if response is None else response.headers.get("Retry-After", "")
    return float(value) if value.strip().isdecimal() else None


def _connection_errors() -> tuple[type[BaseException], ...]:
    from huggingface_hub.errors import HfHubHTTPError

    # The HTTP library of the client changed twice; its errors' base stays the first one here.
    library = HfHubHTTPError.__bases__[0]
    # An answer that is no JSON is a gateway's page, not the Hub's.
    return library, ConnectionError, TimeoutError, json.JSONDecodeError


def _may_pass(error: BaseException, again: frozenset[int]) -> bool:
    from huggingface_hub.errors import OfflineModeIsEnabled

    if any(isinstance(each, OfflineModeIsEnabled) for each in _chain(error)):
        return False
    response = _response(error)
    if response is not None:
        return response.status_code in again
    return any(isinstance(each, _connection_errors()) for each in _chain(error))


def _reason(error: BaseException) -> str:
    response = _response(error)
    root = list(_chain(error))[-1]
    if response is None:
        text = str(root).strip() or type(root).__name__
        return text.splitlines()[0]
    said = (getattr(each, "server_message", None) for each in _chain(error))
    message = next((text for text in said if text), "").strip().splitlines()
    told = f"the Hub answered {response.status_code}" + (f": {message[0]}" if message else "")
    advice = ADVICE.get(response.status_code)
    return f"{told} ({advice})" if advice else told
