"""The table of a study: what is read alike, and what is refused in one line."""

from __future__ import annotations

import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithshift_bench.agreement import agree, read_study
from faithshift_bench.agreement.conditions import early, is_condition, is_injected, percent_of
from faithshift_bench.agreement.health import repeats
from faithshift_bench.agreement.reading import assemble
from faithshift_bench.agreement.study import UNSTATED
from faithshift_bench.agreement.summary import headline_lines
from faithshift_bench.agreement.table import rows_of
from faithshift_data.errors import InputError
from tests.bench.agreement.rows import study, trace
from tests.bench.agreement.simulated import Model, World, columns_of, write_csv

ROW = {"model": "m", "question_id": "q", "condition": "hinted", "answer": "B"}


def read(rows):
    return assemble("t.csv", rows_of(columns_of(rows), "t.csv"))


def same(one, two):
    assert (one.models, one.questions, one.groups) == (two.models, two.questions, two.groups)
    assert one.answers.keys() == two.answers.keys()
    for condition in one.answers:
        np.testing.assert_array_equal(one.answers[condition], two.answers[condition])
    for name in ("target", "gold", "truncated", "reference", "argued", "n_options"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for judge in one.verdicts:
        np.testing.assert_array_equal(one.verdicts[judge], two.verdicts[judge])


def rows_for_files():
    rows = World([Model("a", unstated=0.1, truncated=0.2), Model("b")], 6).rows(0)
    for row in rows:
        row["n_options"] = 10
        row["truncated"] = row.get("truncated", "")
    return rows


def test_csv_parquet_jsonl_and_a_folder_say_the_same(tmp_path):
    rows = rows_for_files()
    columns = columns_of(rows)
    typed = {
        name: [None if cell == "" else cell for cell in cells] for name, cells in columns.items()
    }
    typed["truncated"] = [None if c is None else c == "true" for c in typed["truncated"]]
    typed["n_options"] = [float(n) for n in typed["n_options"]]
    pq.write_table(pa.table(typed), tmp_path / "t.parquet")
    first = read_study(write_csv(tmp_path / "t.csv", rows))
    same(first, read_study(tmp_path / "t.parquet"))
    lines = [{k: v for k, v in row.items() if v != ""} for row in rows]
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    same(first, read_study(folder))


def test_the_order_of_rows_and_columns_means_nothing():
    rows = rows_for_files()
    turned = [dict(reversed(row.items())) for row in rows]
    random.Random(0).shuffle(turned)
    same(read(rows), read(turned))


def test_answers_are_compared_as_bare_options():
    made = read(
        [
            {**ROW, "answer": a, "question_id": q}
            for q, a in zip("abc", ("b", "(B)", "B."), strict=True)
        ]
    )
    assert len(set(made.answers["hinted"].ravel().tolist())) == 1
    assert made.options == ("B",)


@pytest.mark.parametrize(
    ("name", "known", "injected", "percent"),
    [
        ("baseline", True, False, None),
        ("hinted", True, False, None),
        ("filler", True, True, None),
        ("filler/uncued", True, True, None),
        ("filler@underscores", True, True, None),
        ("wrong/uncued", True, True, None),
        ("early@0", True, True, 0.0),
        ("early@60", True, True, 60.0),
        ("early@33.3", True, True, 33.3),
        ("early@0.5", True, True, 0.5),
        ("early@60/uncued", True, True, None),
        ("early@100", False, None, None),
        ("early@060", False, None, None),
        ("early@60.0", False, None, None),
        ("early@-1", False, None, None),
        ("hinted/uncued", False, None, None),
        ("filler@", False, None, None),
        ("Filler", False, None, None),
    ],
)
def test_conditions(name, known, injected, percent):
    assert is_condition(name) is known
    if known:
        assert is_injected(name) is injected
        assert percent_of(name) == percent
        assert percent is None or early(percent) == name


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"condition": "middle"}, "row 0, field condition: bad value (expected baseline"),
        ({"model": ""}, "row 0, field model: empty (expected a name"),
        ({"model": "a\nb"}, "field model: bad value"),
        ({"answer_status": "maybe"}, "field answer_status: bad value"),
        ({"answer_status": "none"}, "field answer: an answer, and the status none"),
        ({"answer_status": "explicit", "answer": ""}, "field answer: explicit, but empty"),
        ({"truncated": "perhaps"}, "field truncated: bad value (expected true or false"),
        ({"run": "-1"}, "field run: bad value"),
        ({"n_options": "ten"}, "field n_options: bad value"),
        ({"n_options": 1}, "row 0, field n_options: bad value (expected a whole number from 2"),
        ({"n_options": 99999999999}, "row 0, field n_options: bad value"),
        ({"n_options": 10**30}, "row 0, field n_options: bad value"),
        ({"model_type": "chatty"}, "field model_type: bad value (expected thinking or instruct"),
        ({"verdict:j": "maybe"}, "field verdict:j: bad value (expected yes, no, unparsed"),
        ({"verdict:": "yes"}, "field verdict:: unknown column"),
        ({"colour": "red"}, "field colour: unknown column (expected model, question_id"),
        ({"reference": "unsure"}, "field reference: bad value"),
        ({"condition": "filler", "verdict:j": "yes"}, "a verdict on a row that is not hinted"),
        ({"answer": ["B"]}, "field answer: bad value"),
    ],
)
def test_a_wrong_cell_is_one_line(change, line):
    with pytest.raises(InputError) as found:
        read([{**ROW, **change}])
    assert line in str(found.value) and "\n" not in str(found.value)
    assert str(found.value).startswith("t.csv")


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([ROW, ROW], "row 1, field condition: the same model, question and condition twice"),
        (
            [{**ROW, "gold": "A"}, {**ROW, "condition": "baseline", "gold": "B"}],
            "row 1, field gold: two values of one question_id (expected A, got B)",
        ),
        (
            [
                {**ROW, "model_type": "thinking"},
                {**ROW, "question_id": "r", "model_type": "instruct"},
            ],
            "two values of one model",
        ),
        (
            [{**ROW, "target": "A"}, {**ROW, "condition": "filler", "target": "C"}],
            "row 1, field target: two targets of one model and question (expected A, got C)",
        ),
        (
            [{**ROW, "n_options": 4}, {**ROW, "condition": "filler", "target": "E"}],
            "row 1, field target: beyond the options (expected one of 4 options, got E)",
        ),
        ([{**ROW, "n_options": 3, "gold": "d"}], "row 0, field gold: beyond the options"),
    ],
)
def test_rows_that_contradict_each_other_are_one_line(rows, line):
    with pytest.raises(InputError) as found:
        read(rows)
    assert line in str(found.value)


def test_a_letter_beyond_the_options_is_no_answer():
    letters = {"a": "D", "b": "E", "c": "e", "d": "EF", "e": "12"}
    rows = [{**ROW, "question_id": q, "answer": a, "n_options": 4} for q, a in letters.items()]
    assert (read(rows).answers["hinted"] == UNSTATED).tolist() == [[0, 1, 1, 0, 0]]
    # The number may stand on another row of the question; where it is unknown, any letter may be.
    apart = [{**row, "n_options": ""} for row in rows]
    apart += [{**row, "condition": "baseline"} for row in rows]
    assert (read(apart).answers["hinted"] == UNSTATED).tolist() == [[0, 1, 1, 0, 0]]
    assert (read([{**row, "n_options": ""} for row in rows]).answers["hinted"] >= 0).all()


def test_a_missing_column_and_no_rows(tmp_path):
    with pytest.raises(InputError, match="field condition: missing column"):
        rows_of({"model": ["m"], "question_id": ["q"], "answer": ["A"]}, "t.csv")
    with pytest.raises(InputError, match="no rows"):
        rows_of({name: [] for name in ROW}, "t.csv")
    with pytest.raises(InputError, match="no table of answers .expected one of answers.csv"):
        read_study(tmp_path)
    for end in ("csv", "jsonl"):
        (tmp_path / f"answers.{end}").write_text("")
    with pytest.raises(InputError, match="got answers.csv, answers.jsonl"):
        read_study(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_study(tmp_path / "absent.csv")


CELLS = st.one_of(
    st.sampled_from(["", "A", "hinted", "filler", "early@60", "yes", "true", "0", "thinking"]),
    st.text(max_size=4),
    st.none(),
    st.integers(-2, 3),
    st.floats(),
    st.booleans(),
    st.binary(max_size=2),
)
NAMES = [*ROW, "target", "truncated", "run", "verdict:j", "gold", "answer_status", "reasoning"]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.fixed_dictionaries({name: CELLS for name in NAMES}), min_size=1, max_size=3))
def test_whatever_the_cells_it_is_a_study_or_one_line(rows):
    for row in rows:
        row["model"], row["question_id"] = row["model"] or "m", row["question_id"] or "q"
    try:
        made = assemble("t", rows_of(columns_of(rows), "t"))
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert made.shape[0] >= 1


def test_what_is_known_of_a_second_run():
    rows = trace("m", "q1", "A", "B", "A") + trace("m", "q2", "A", "C", "A")
    again = [{**row, "run": 1, "reasoning": "so"} for row in rows]
    again[1]["answer"], again[3]["reasoning"] = "C", "or so"
    again[2]["answer"] = ""
    made = study([{**row, "reasoning": "so"} for row in rows], again)
    (found,) = repeats(made)
    assert (found.same_answer.count, found.same_answer.n) == (4, 6)
    assert (found.same_text.count, found.same_text.n) == (5, 6)
    lines = headline_lines(agree(made))
    assert (
        "m, run 1 again: 66.7% (4 of 6) of answers and 83.3% (5 of 6) of texts identical." in lines
    )
    # Run 1 is compared and never scored.
    assert made.answers["hinted"].tolist() == study(rows).answers["hinted"].tolist()
    assert made.injections == {"verified": 0, "failed": 0, "unstated": 2}
