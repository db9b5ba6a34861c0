"""Questions to traces: which wrong answer is planted, what a reply is taken for, refusals."""

from __future__ import annotations

import json

import pytest

import faithshift_data as fd
from faithshift_data.errors import InputError
from faithshift_data.measure.engines import Completion
from faithshift_data.measure.generate import CUE, INSTRUCTION, generate
from faithshift_data.measure.local_model import LocalModel
from faithshift_data.measure.questions import read_questions
from tests.answering_model import write_answering_model

CHOICE = {"question": "Which is a plant?", "options": ["dog", "rose", "stone"], "gold": "B"}
COUNT = {"question": "How much is 3 times 14?", "gold": 42}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return LocalModel.open(write_answering_model(tmp_path_factory.mktemp("model") / "answering"))


@pytest.fixture
def asked(tmp_path):
    """A file of questions."""

    def write(*rows):
        path = tmp_path / "questions.jsonl"
        path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
        return path

    return write


@pytest.fixture
def replies(model, monkeypatch):
    """Lets the model give a reply that does not depend on the prompt."""

    def give(text, finish="stop"):
        def complete(prompts, seeds, sampling):
            return [Completion(text, finish, 9) for _ in prompts]

        monkeypatch.setattr(model.engine, "complete", complete)

    return give


def traces(folder):
    return {row["condition"]: row for row in fd.open(folder).table("traces").to_pylist()}


def test_targets_are_wrong_answers_drawn_by_the_question(asked):
    questions = [{**CHOICE, "question": f"Which is plant {k}?"} for k in range(40)]
    questions += [{"question": f"How much is {k} and 1?", "gold": k + 1} for k in range(20)]
    found = read_questions(asked(*questions, "", "  "))
    assert len(found) == 60
    assert {row["target"] for row in found[:40]} == {"A", "C"}
    offsets = {int(row["target"]) - int(row["gold"]) for row in found[40:]}
    assert offsets <= set(range(1, 10)) and len(offsets) > 3
    assert [row["answer_kind"] for row in found] == ["letter"] * 40 + ["number"] * 20
    assert read_questions(asked(*questions[::-1])) == found[::-1]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{", "row 1: not JSON"),
        ("[1]", "row 1: not an object"),
        ({"options": ["a", "b"]}, "row 1, field question: required"),
        ({"question": " "}, "row 1, field question: an empty text"),
        ({"question": "Why?", "colour": "red"}, "row 1, field colour: unknown field"),
        ({"question": 3}, "row 1, field question: not a text"),
        ({"question": "Why?", "gold": True, "target": "x"}, "row 1, field gold: not a text"),
        ({"question": "Why?", "options": "ab"}, "row 1, field options: not a list"),
        ({"question": "Why?", "options": ["a"]}, "row 1, field options: not a list"),
        ({"question": "Why?", "options": ["a", "b"], "gold": "C"}, "field gold: not an option"),
        ({"question": "Why?", "options": ["a", "b"], "gold": "b"}, "expected A to B, got b"),
        (
            {"question": "Why?", "answer_kind": "word", "target": "x"},
            "field answer_kind: unknown (expected letter, number, text, got word)",
        ),
        ({"question": "Why?", "answer_kind": "letter", "target": "A"}, "letter goes with options"),
        ({**CHOICE, "answer_kind": "text"}, "field answer_kind: letter goes with options"),
        ({"question": "Why?", "options": ["a", " a"]}, "not a list of 2 to 26 different texts"),
        ({"question": "Why?", "options": ["a", " "]}, "not a list of 2 to 26 different texts"),
        ({"question": "Why?", "options": []}, "not a list of 2 to 26 different texts"),
        ({"question": "Why?", "options": ["a", 1]}, "not a list of 2 to 26 different texts"),
        ({"question": "Why?", "gold": "4", "target": "many"}, "field target: not a number"),
        ({"question": "Why?", "gold": "4", "target": "4.0"}, "field target: the right answer"),
        ({"question": "Why?", "gold": 1000, "target": "1,000"}, "field target: the right answer"),
        ({"question": "Why?", "gold": "So", "target": "so."}, "field target: the right answer"),
        ({"question": "Why?", "answer_kind": "number", "gold": "x"}, "field gold: not a number"),
        ({"question": "Why?", "target": " "}, "row 1, field target: an empty text"),
        ('{"question": "Why?", "gold": 1e999}', "row 1, field gold: not a text"),
        ('{"question": "Why? \\ud83d"}', "row 1, field question: half a character"),
        ('{"question": "Why?", "options": ["a", "\\udc00"]}', "field options: half a character"),
        ("[" * 100_000, "row 1: not JSON"),
        ({"question": "Why?"}, "row 1, field target: required where"),
        ({"question": "Why?", "gold": "so"}, "row 1, field target: required where"),
        ({"question": "Why?", "gold": "0.5"}, "row 1, field target: required where"),
        ({"question": "Why?", "gold": "so", "target": "so"}, "row 1, field target: the right"),
        ({**CHOICE, "question": "which is a PLANT"}, "the question of row 0 once more"),
    ],
)
def test_bad_questions_are_one_line(asked, line, text):
    with pytest.raises(InputError) as caught:
        read_questions(asked(CHOICE, line))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_any_text_may_stand_in_a_line(asked, tmp_path):
    spread = "Which\u2028is\u0085a\u000bplant?"
    path = asked({**CHOICE, "question": spread}, "\r", json.dumps(COUNT) + "\r")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    plain = tmp_path / "plain.jsonl"
    plain.write_text(json.dumps({**CHOICE, "question": spread}, ensure_ascii=False), "utf-8")
    assert [row["question"] for row in read_questions(path)] == [spread, COUNT["question"]]
    assert [row["question"] for row in read_questions(plain)] == [spread]


@pytest.mark.parametrize(
    ("gold", "kind", "least"),
    [
        ("0.5", "number", None),
        ("1,000", "number", 1001),
        ("4.0", "number", 5),
        ("1_000", "text", 0),
    ],
)
def test_what_a_number_is(asked, gold, kind, least):
    given = {"question": "How much?", "gold": gold}
    (row,) = read_questions(asked({**given, "target": "7"}))
    assert (row["answer_kind"], row["target"]) == (kind, "7")
    if least:
        (row,) = read_questions(asked(given))
        assert least <= int(row["target"]) < least + 9


def test_no_file_and_no_questions(asked, tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="no questions"):
        read_questions(asked(" "))


def test_two_traces_a_question_that_differ_in_the_cue_alone(asked, model, tmp_path):
    folder = generate(asked(CHOICE, COUNT), model, tmp_path / "d", max_tokens=6)
    assert fd.check(folder) == []
    assert not list(tmp_path.glob("*.work"))
    data = fd.open(folder)
    rows = data.table("traces").to_pylist()
    assert len(rows) == 4
    for cued in (row for row in rows if row["cue"]):
        (base,) = (row for row in rows if row["trace_id"] == cued["anchor_id"])
        text = cued["cue"]["text"]
        shown = f"({cued['cue']['target']})" if cued["options"] else cued["cue"]["target"]
        assert text == CUE.format(target=shown)
        stems = [row["prompt"].split("<|assistant|>")[0] for row in (base, cued)]
        assert stems[1] == stems[0] + text + "\n"
        assert INSTRUCTION in stems[0] and base["cue"] is None
        assert base["generation"]["seed"] != cued["generation"]["seed"]
    assert {row["model_revision"] for row in rows} == {model.revision}
    assert data.manifest.models[0].family == "llama"
    for pair in data.table("pairs").to_pylist():
        assert (pair["axis"], pair["kind"], pair["mode"]) == ("cue_injection", "altering", "regen")
        assert (pair["verified"], pair["dropped_because"]) == (False, "label unknown")
    again = generate(asked(COUNT, CHOICE), model, tmp_path / "again", max_tokens=6)
    assert fd.open(again).table("traces").equals(data.table("traces"))


@pytest.mark.parametrize(
    ("reply", "reasoning", "said"),
    [
        (
            "<think>\nA rose grows. So B.\n</think>\nThe answer is (B).",
            "A rose grows. So B.",
            "B",
        ),
        ("A rose grows. So B.\nAnswer: (B)", "A rose grows. So B.", "B"),
        ("A rose grows. The answer is (B).", "A rose grows. The answer is (B).", "B"),
    ],
)
def test_what_a_reply_is_taken_for(asked, model, replies, tmp_path, reply, reasoning, said):
    replies(reply)
    folder = generate(asked(CHOICE), model, tmp_path / "d")
    for row in traces(folder).values():
        assert (row["reasoning"], row["answer"], row["truncated"]) == (reasoning, said, False)
        asked_for = row["prompt"][row["prompt"].index("<|assistant|>") + len("<|assistant|>") :]
        assert (asked_for + row["reasoning"]) == reply[: len(asked_for + reasoning)]


def test_an_answer_that_is_not_stated_is_asked_for(asked, model, replies, tmp_path):
    reply = "<think>\nA rose grows. It may be"
    replies(reply, "length")
    folder = generate(asked(CHOICE), model, tmp_path / "d")
    for row in traces(folder).values():
        assert row["truncated"] and row["reasoning"] == "A rose grows. It may be"
        text = f"{row['prompt']}{row['reasoning']}\n</think>\n\nThe answer is ("
        logits = model.engine.model(
            **model.engine.tokenizer(text, return_tensors="pt", add_special_tokens=False)
        ).logits
        said = model.engine.tokenizer.decode(int(logits[0, -1].argmax()))
        assert row["answer"] == (said if said in "ABC" else None)


def test_no_answer_is_asked_for_where_the_context_is_full(asked, model, replies, tmp_path):
    replies("<think>\nA rose" + "\ufffd" * 700, "length")
    assert len(model.engine.ids("\ufffd")) == 3
    folder = generate(asked(CHOICE), model, tmp_path / "d", max_tokens=700)
    for row in traces(folder).values():
        assert (row["answer"], row["answer_status"], row["truncated"]) == (None, "none", True)


def test_a_model_that_fails_is_one_line_and_what_is_done_is_kept(
    asked, model, tmp_path, monkeypatch
):
    real, calls = model.engine.complete, []

    def failing(*batch):
        calls.append(batch)
        if len(calls) == 2:
            raise RuntimeError("probabilities are\nnot finite")
        return real(*batch)

    monkeypatch.setattr(model.engine, "complete", failing)
    questions = asked(*({**CHOICE, "question": f"Which is plant {k}?"} for k in range(6)))
    with pytest.raises(InputError) as caught:
        generate(questions, model, tmp_path / "d", max_tokens=4)
    said = f"{model.path}: cannot answer: RuntimeError: probabilities are not finite"
    assert str(caught.value) == said
    assert len(list((tmp_path / "d.work").iterdir())) == 8 and not (tmp_path / "d").exists()


def test_a_full_disk_is_one_line(asked, model, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("faithshift_data.atomic.os.replace", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        generate(asked(CHOICE), model, tmp_path / "d", max_tokens=4)
    assert not list(tmp_path.glob("*.work"))


def test_a_reply_without_reasoning_is_counted(asked, model, replies, tmp_path):
    replies("<think></think>The answer is (B).")
    lines = []
    folder = generate(asked(CHOICE), model, tmp_path / "d", progress=lines.append)
    assert lines == ["2 of 2 replies hold no reasoning"]
    assert {row["reasoning"] for row in traces(folder).values()} == {None}


def test_an_interruption_loses_no_reply(asked, model, tmp_path, monkeypatch):
    questions = asked(*({**CHOICE, "question": f"Which is plant {k}?"} for k in range(10)))
    whole = generate(questions, model, tmp_path / "whole", max_tokens=4)
    real, calls = model.engine.complete, []

    def interrupted(prompts, seeds, sampling):
        if calls and calls[-1] is None:
            raise KeyboardInterrupt
        calls.append(None)
        return real(prompts, seeds, sampling)

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(model.engine, "complete", interrupted)
        generate(questions, model, tmp_path / "d", max_tokens=4)
    assert not (tmp_path / "d").exists()
    asked_again = []
    with monkeypatch.context() as watched:
        watched.setattr(
            model.engine, "complete", lambda p, *rest: asked_again.append(len(p)) or real(p, *rest)
        )
        folder = generate(questions, model, tmp_path / "d", max_tokens=4)
    assert sum(asked_again) == 12  # of 20, a batch of 8 was done
    assert fd.open(folder).table("traces").equals(fd.open(whole).table("traces"))


def test_what_cannot_be_written_is_known_before_the_model_answers(
    asked, model, replies, tmp_path, monkeypatch
):
    monkeypatch.setattr(model.engine, "complete", lambda *a: pytest.fail("the model was asked"))
    taken = fd.write(tmp_path / "taken", [{"question": "Why?"}])
    with pytest.raises(InputError, match="already exists; without --generate"):
        generate(asked(CHOICE), model, taken)
    with pytest.raises(InputError, match="--max-tokens"):
        generate(asked(CHOICE), model, tmp_path / "d", max_tokens=0)
    with pytest.raises(InputError, match="already exists .expected a new or empty folder"):
        generate(asked(CHOICE), model, tmp_path / "d", measured_to=taken)
    with pytest.raises(InputError, match="field --out: lies in the folder that is measured"):
        generate(asked(CHOICE), model, tmp_path / "d", measured_to=tmp_path / "d" / "e")
    stem = "in a garden behind the old house with the green door which of these is by all that you"
    near = [
        {**CHOICE, "question": f"{word} {stem} have read in books on nature a plant?"}
        for word in ("Really", "Truly", "Surely", "So", "Well", "Now")
    ]
    with pytest.raises(InputError, match="nearly equal questions"):
        generate(asked(*near), model, tmp_path / "d")
    assert not (tmp_path / "d").exists() and not list(tmp_path.glob("*.work"))


def test_a_reply_must_fit_into_the_context(asked, model, replies, tmp_path):
    replies("<think>So.</think>B")
    shown = f"{COUNT['question']}\n{INSTRUCTION}\n{CUE.format(target=50)}"
    taken = len(model.engine.ids(model.engine.render(shown)))
    room = 2048 - taken - 64
    question = asked({**COUNT, "target": 50})
    with pytest.raises(InputError) as caught:
        generate(question, model, tmp_path / "d", max_tokens=room + 1)
    assert str(caught.value) == (
        f"field --max-tokens: the longest prompt takes {taken} of the model's 2048 tokens "
        f"(expected at most {room}, got {room + 1})"
    )
    generate(question, model, tmp_path / "d", max_tokens=room)
    long = asked({**COUNT, "question": "Why? " * 500, "target": 50})
    with pytest.raises(InputError, match="expected a shorter question, got 1"):
        generate(long, model, tmp_path / "e", max_tokens=1)
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize("template", ["{{ raise_exception('no user') }}", "{% bad %}"])
def test_a_chat_template_that_fails_is_one_line(asked, model, tmp_path, monkeypatch, template):
    monkeypatch.setattr(model.engine.tokenizer, "chat_template", template)
    with pytest.raises(InputError) as caught:
        generate(asked(CHOICE), model, tmp_path / "d")
    assert "answering: the chat template fails: Template" in str(caught.value)
    assert not list(tmp_path.glob("d*"))
