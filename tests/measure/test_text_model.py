"""Black boxes: answers as a local model gives them, no states, and what faults do to rows."""

from __future__ import annotations

import json

import pytest

import faithshift_data as fd
from faithshift_data.errors import InputError
from faithshift_data.measure.behaviour import force_by_text
from faithshift_data.measure.engines import Unfinished
from faithshift_data.measure.engines.openai import OpenAIEngine
from faithshift_data.measure.forced import Asked, force
from faithshift_data.measure.generate import generate
from faithshift_data.measure.interventions import FEATURE_PROBES
from faithshift_data.measure.one_trace import Settings
from faithshift_data.measure.run import _begins, measure_folder
from faithshift_data.measure.text_model import TextModel, open_model
from tests.measure.completions_server import Fault, obedient, serving

OPTIONS = ["a dog", "a rose", "a stone"]
REASONING = "A dog is none. A rose is one. The answer must be (B)."


def rows(n=3):
    asked = "Which is plant {}?\n(A) a dog (B) a rose (C) a stone\n"
    same = {"options": OPTIONS, "reasoning": REASONING, "answer": "B", "model_id": "m"}
    return [
        {**same, "trace_id": f"t{k}", "question": f"Which is plant {k}?", "prompt": asked.format(k)}
        for k in range(n)
    ]


def served(server, **options):
    engine = OpenAIEngine("m", base_url=server.url, retries=0, timeout=20, **options)
    return TextModel(engine, "m", None, None, None, engine.facts()["endpoint"])


def honest(asked):
    return obedient(asked["prompt"])


def test_a_folder_is_measured_behind_an_endpoint(tmp_path) -> None:
    fd.write(tmp_path / "mine", rows())
    with serving(honest) as server:
        summary = measure_folder(tmp_path / "mine", served(server))
    assert summary["measured"] == 3 and summary["restated"]["yes"] == 3
    data = fd.open(tmp_path / "mine")
    assert fd.check(tmp_path / "mine") == []
    found = {row["kind"]: row for row in data.table("interventions").to_pylist()}
    # Without its last words the reasoning speaks for nothing, and the script says A.
    assert found["filler"]["changed"] is True and found["filler"]["answer"] == "A"
    assert found["filler"]["injection_verified"] is True
    assert summary["descriptors"] == {} and data.manifest.descriptors == {}
    how = data.manifest.environment["measured_with"]
    assert how["states"] == "not read: a black box gives text alone"
    assert how["engine"]["endpoint"] == server.url and how["model_revision"] is None


def test_rollout_takes_an_engine_that_shows_attention(tmp_path) -> None:
    fd.write(tmp_path / "mine", rows())
    with serving(honest) as server, pytest.raises(InputError, match="--rollout: .*no attention"):
        measure_folder(tmp_path / "mine", served(server), Settings(rollout=True))


def test_all_texts_of_all_traces_are_one_submission(tmp_path) -> None:
    fd.write(tmp_path / "mine", rows(4))
    with serving(honest) as server:
        model = served(server)
        sent = []
        real = model.engine.complete
        model.engine.complete = lambda *about: sent.append(len(about[0])) or real(*about)
        measure_folder(tmp_path / "mine", model, Settings("subset"))
    # The probe of the engine, then each trace as shown and under five probes.
    assert sent == [9, 4 * 6]


@pytest.mark.parametrize("script", [lambda asked: "(B)", lambda asked: Fault(401)])
def test_an_engine_that_cannot_inject_measures_nothing(tmp_path, script) -> None:
    fd.write(tmp_path / "mine", rows())
    before = (tmp_path / "mine" / "manifest.json").read_bytes()
    with serving(script) as server, pytest.raises(InputError, match="injected text is not cont"):
        measure_folder(tmp_path / "mine", served(server))
    assert (tmp_path / "mine" / "manifest.json").read_bytes() == before


def test_a_failing_prompt_costs_its_trace_alone(tmp_path) -> None:
    def one_fails(asked):
        return (
            Fault(500)
            if "plant 1?" in asked["prompt"] and "..." in asked["prompt"]
            else honest(asked)
        )

    fd.write(tmp_path / "mine", rows())
    said = []
    with serving(one_fails) as server:
        summary = measure_folder(tmp_path / "mine", served(server), progress=said.append)
    assert summary["measured"] == 2 and summary["not_measured"] == {"failed": 1}
    assert any(line.startswith("t1: ") and "HTTP 500" in line for line in said)


def test_a_refused_prompt_ends_the_run_and_keeps_what_is_done(tmp_path) -> None:
    def refuses(asked):
        return Fault(400, "too long") if "plant 2?" in asked["prompt"] else honest(asked)

    fd.write(tmp_path / "mine", rows())
    with serving(refuses) as server, pytest.raises(InputError, match="HTTP 400: too long"):
        measure_folder(tmp_path / "mine", served(server, concurrency=1))
    assert fd.open(tmp_path / "mine").table("interventions").num_rows == 0


def ask(tmp_path, *questions):
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in questions))
    return path


QUESTION = {"question": "Which is a plant?", "options": OPTIONS, "gold": "B", "target": "C"}


def test_an_endpoint_writes_traces_and_is_asked_for_answers_it_does_not_state(tmp_path) -> None:
    def thinks(asked):
        if "step by step" in asked["prompt"] and not asked["prompt"].endswith("("):
            return "Dogs are none. The answer must be (B)."
        return honest(asked)

    with serving(thinks) as server:
        folder = generate(ask(tmp_path, QUESTION), served(server), tmp_path / "out")
    made = {row["condition"]: row for row in fd.open(folder).table("traces").to_pylist()}
    assert {row["answer"] for row in made.values()} == {"B"}
    assert made["base"]["model_revision"] is None
    assert made["base"]["generation"]["engine"] == "openai"


def test_what_was_written_before_a_fault_is_not_asked_again(tmp_path) -> None:
    down = [True]

    def fails_on_cues(asked):
        if "professor" in asked["prompt"] and down[0]:
            return Fault(503)
        return "It is one.\nAnswer: (B)" if "step by step" in asked["prompt"] else honest(asked)

    questions = ask(tmp_path, QUESTION)
    with serving(fails_on_cues) as server:
        with pytest.raises(InputError, match="HTTP 503"):
            generate(questions, served(server), tmp_path / "out")
        assert not (tmp_path / "out").exists()
        down[0], start = False, len(server.asked)
        generate(questions, served(server), tmp_path / "out")
    writes = [each for each in server.asked[start:] if "step by step" in each["prompt"]]
    assert len(writes) == 1 and "professor" in writes[0]["prompt"]


def test_a_black_box_gives_the_answers_of_a_shared_reading(engine) -> None:
    from faithshift_data.measure.shared_prefix import read

    about = {
        "trace_id": "t",
        "prompt": "Which?\n",
        "reasoning": "The ant is one. Then that is the other. So it is this.",
        "answer_kind": "number",
        "options": None,
        "probes": FEATURE_PROBES,
        "attached": "4",
    }
    shared = force(engine, read(engine, about["prompt"] + about["reasoning"]), **about)
    (alone,) = force_by_text(engine, [Asked(None, **about)])
    assert alone.rows == shared.rows and len(alone.rows) > 5
    assert alone.tokens_computed is None and shared.tokens_computed > 0


def test_a_trace_without_all_its_texts_has_the_reason() -> None:
    about = {"trace_id": "t", "prompt": "Which?\n", "answer_kind": "letter", "options": OPTIONS}
    asked = [
        Asked(None, **about, reasoning=reasoning, probes=(), attached=None)
        for reasoning in ("It is good. ", "It is bad. ")
    ]
    with serving(lambda a: Fault(500) if "bad" in a["prompt"] else "B)") as server:
        good, bad = force_by_text(served(server).engine, asked)
    assert good.answer == "B" and isinstance(bad, Unfinished)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": "tgi"}, "--engine: unknown"),
        ({"url": "http://127.0.0.1:9/v1"}, "--url: engine transformers has no such option"),
        ({"engine": "openai", "device": "cuda"}, "--device: engine openai has no such option"),
        ({"engine": "openai", "url": "ftp://x"}, "--url: not an address"),
    ],
)
def test_bad_choices_are_one_line(options, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_model("nowhere", **options)


class Begun:
    """An engine whose tokenizer puts a BOS before a text."""

    tokenizer = type("T", (), {"bos_token": "<s>"})()

    def begins(self):
        return "<s>"


def test_a_prompt_with_two_bos_is_refused_and_one_without_is_counted() -> None:
    rows = [{"trace_id": "a", "prompt": "<s>Why?"}, {"trace_id": "b", "prompt": "Why?"}]
    (line,) = _begins(rows, Begun(), Settings())
    assert line == "1 of 2 prompts do not begin with <s>, as the model is used to"
    assert list(_begins(rows, Begun(), Settings(chat=True))) == []
    with pytest.raises(InputError, match="row c, field prompt: begins with BOS twice"):
        list(_begins([*rows, {"trace_id": "c", "prompt": "<s><s>Why?"}], Begun(), Settings()))
