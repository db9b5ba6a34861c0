"""The board as a Space; README.md says what its settings are."""

from __future__ import annotations

import os
import sys

from leaderboard.__main__ import main


def words() -> list[str]:
    """The words of ``python -m leaderboard serve`` that the settings make."""
    asked = ["serve", os.environ.get("BOARD_STORE", "store"), "--data", os.environ["BOARD_DATA"]]
    for option, name in (("--key", "BOARD_KEY"), ("--copy", "BOARD_COPY")):
        if os.environ.get(name):
            asked += [option, os.environ[name]]
    # The Hub sets it where a Space lets people log in.
    asked += ["--login"] if os.environ.get("OAUTH_CLIENT_ID") else []
    host, port = (os.environ.get(f"GRADIO_SERVER_{name}") for name in ("NAME", "PORT"))
    return [*asked, "--host", host or "0.0.0.0", "--port", port or "7860"]


if __name__ == "__main__":
    sys.exit(main(words()))
