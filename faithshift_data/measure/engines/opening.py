"""The text a model reads before the first word of its reasoning."""

from __future__ import annotations

from faithshift_data.measure.engines import Engine
from faithshift_data.measure.engines.stopping import is_open
from faithshift_data.reasoning import DELIMITERS, HARMONY_BLOCK, speaks_harmony


def before_reasoning(engine: Engine, message: str) -> str:
    """One user message in the model's template; the block of a model that thinks is opened.

    Some templates open the block themselves and others leave it to the model, which may then put
    the first words of a given reasoning before it. A model without template gets the message and
    a line break.
    """
    template = getattr(engine.tokenizer, "chat_template", None)
    if not template:
        return f"{engine.begins()}{message}\n"
    rendered = engine.render(message)
    if speaks_harmony(rendered):
        return rendered + HARMONY_BLOCK[0]
    opener = next((opener for opener, _ in DELIMITERS.values() if opener in str(template)), None)
    return rendered if opener is None or is_open(rendered) else f"{rendered}{opener}\n"
