"""`faithshift measure` with another engine: the probe's table, and answers behind an endpoint."""

from __future__ import annotations

import json
import re

import pytest

import faithshift_data as fd
from tests.answering_model import write_answering_model
from tests.measure.completions_server import Fault, obedient, serving


def honest(asked):
    return obedient(asked["prompt"])


def test_the_probe_of_an_endpoint_is_a_table(run) -> None:
    with serving(honest) as server:
        code, out, err = run(
            "measure", "--probe", "--engine", "openai", "--url", server.url, "--model", "m"
        )
    assert code == 0 and err == ""
    assert out.startswith("m by openai ")
    assert re.search(r"outcome +supported$", out.strip())


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (lambda asked: obedient("nothing"), "silently discards"),
        (lambda asked: f"<think> {honest(asked)}", "regenerates"),
        (lambda asked: Fault(400, "prefill is not allowed"), "undefined"),
    ],
)
def test_a_backend_that_is_refused_gives_status_1(run, script, outcome: str) -> None:
    where = ("--engine", "openai", "--model", "m", "--json")
    with serving(script) as server:
        code, out, _ = run("measure", "--probe", "--url", server.url, *where)
    found = json.loads(out)
    assert code == 1 and found["outcome"] == outcome and found["reason"]
    assert found["engine"]["endpoint"] == server.url


def test_a_local_model_is_probed_too(run, tmp_path) -> None:
    model = write_answering_model(tmp_path / "answering")
    code, out, _ = run("measure", "--probe", "--model", model)
    # It reads every word, and answers by chance.
    assert code == 1 and re.search(r"injected text in the prompt +yes", out)


def test_traces_are_measured_behind_an_endpoint(run, tmp_path) -> None:
    options = ["a dog", "a rose"]
    row = {"question": "Which is a plant?", "prompt": "Which?\n", "options": options, "answer": "B"}
    fd.write(tmp_path / "mine", [{**row, "model_id": "m", "reasoning": "It must be (B)."}])
    with serving(honest) as server:
        where = ("--engine", "openai", "--url", server.url, "--model", "m")
        code, out, _ = run("measure", tmp_path / "mine", *where)
    assert code == 0 and "1 of 1 traces measured with m" in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--engine", "tgi"), "--engine: unknown"),
        (("--url", "http://127.0.0.1:9/v1"), "--url: engine transformers has no such option"),
        (("--engine", "openai", "--url", "127.0.0.1"), "--url: not an address"),
    ],
)
def test_a_wrong_engine_is_one_line(run, argv, said: str) -> None:
    code, _, err = run("measure", "mine", "--model", "m", *argv)
    assert code == 1 and said in err and err.count("\n") == 1


def test_without_a_folder_there_is_nothing_to_measure(run) -> None:
    code, _, err = run("measure", "--model", "m")
    assert code == 2 and "--probe" in err
