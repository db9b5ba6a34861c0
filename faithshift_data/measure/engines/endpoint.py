"""Requests to a server that speaks the completions protocol of OpenAI, and why they fail."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import openai

from faithshift_data.errors import InputError
from faithshift_data.measure.address import KEY, check_address, key_for

TRANSIENT = (408, 409, 429)
# The longest pause between two tries, in seconds, that a server can ask of the client.
PAUSE = 60.0
_SILENT = (401, 403)


class Refused(Exception):
    """A prompt that got no completion, in one line.

    Attributes:
        permanent: whether other prompts would fail in the same way.
    """

    def __init__(self, line: str, permanent: bool = False) -> None:
        """Keep both."""
        super().__init__(line)
        self.permanent = permanent


class Endpoint:
    """A model at a server. The key is read from the environment and told to nobody else.

    Args:
        model: its name there.
        base_url: as ``http://localhost:8000/v1``; None: OpenAI's.
        timeout: seconds a request may take.
        retries: of one request, after timeouts, lost connections and HTTP 408, 409, 429 and 5xx;
            the pauses grow, or are what the server asks for.
        extra: fields of a request beside the protocol's.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None,
        *,
        timeout: float,
        retries: int,
        extra: dict[str, Any],
    ) -> None:
        """Connect to nothing yet.

        Raises:
            InputError: no address, no key where one is needed, or fewer than 0 retries.
        """
        if base_url is not None:
            check_address(base_url, field="--url")
        key = key_for(base_url)
        if key is None or not (key.isascii() and key.isprintable()):
            raise InputError("no API key", field=KEY, expected="plain ASCII, in the environment")
        if retries < 0:
            raise InputError("bad value", field="retries", expected="0 or more", got=retries)
        self.model, self.base_url, self.extra = model, base_url, extra
        self._key, self._timeout, self._retries = key, timeout, retries

    @property
    def where(self) -> str:
        """The address without anything secret that it may hold."""
        parts = urlsplit(self.base_url or "https://api.openai.com/v1")
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

    def client(self) -> openai.AsyncOpenAI:
        """A client for one event loop; a context."""
        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self.base_url,
            timeout=self._timeout,
            max_retries=self._retries,
        )

    async def request(self, client: openai.AsyncOpenAI, **asked: Any) -> Any:
        """One completion, as the client reads it.

        Raises:
            Refused: the server refused it, or there was no reply after all retries.
        """
        tries = f"{self._retries + 1} tries"
        # The client waits for the next byte; a reply that drips would go on for ever.
        most = self._timeout * (self._retries + 1) + PAUSE * self._retries
        try:
            async with asyncio.timeout(most):
                return await client.completions.create(
                    model=self.model, extra_body=self.extra, **asked
                )
        except openai.APIStatusError as error:
            raise self._refusal(error, tries) from None
        except (openai.APITimeoutError, TimeoutError):
            raise Refused(f"no reply in {self._timeout:g} s, {tries}") from None
        except openai.APIConnectionError as error:
            cause = type(error.__cause__ or error).__name__
            raise Refused(f"no connection ({cause}), {tries}") from None
        except (openai.OpenAIError, ValueError, TypeError, RecursionError) as error:
            raise Refused(f"the reply is no completion ({type(error).__name__})") from None

    def _refusal(self, error: openai.APIStatusError, tries: str) -> Refused:
        """Why a server did not complete. What it says of a key is not repeated."""
        status = error.status_code
        permanent = status < 500 and status not in TRANSIENT
        line = f"HTTP {status}" + ("" if permanent else f", {tries}")
        said = error.body.get("message") if isinstance(error.body, dict) else None
        if isinstance(said, str) and status not in _SILENT and self._key not in said:
            line += f": {' '.join(said.split())[:200]}"
        return Refused(line, permanent)
