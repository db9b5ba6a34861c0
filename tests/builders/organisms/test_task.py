"""The organisms' task: values by hand, texts read back by an interpreter of their own."""

from dataclasses import replace
from random import Random

import pytest

from builders.organisms.examples import UNTAUGHT, draw_example, recalled
from builders.organisms.layout import lay_out
from builders.organisms.masks import FIRST, POSITIONS, Part, Route
from builders.organisms.task import (
    Hint,
    Problem,
    Wording,
    draw_hint,
    draw_problem,
    draw_wording,
    interleave,
    reason,
    renamed,
)
from builders.organisms.texts import prompt_text, reasoning_text
from builders.organisms.words import (
    LANGUAGES,
    MODULUS,
    NAMES,
    NONCES,
    OPERATIONS,
    apply,
    operation_of,
    tokenizer,
    vocabulary,
)

# Start a = 3; b adds 1: 4; k doubles: 8 = 1. Beside it: d = 5; u times 5: 25 = 4. f-p is idle.
A, B, D, F, K, P, U = 0, 1, 3, 5, 10, 15, 20
PROBLEM = Problem(
    nonce=7,
    start=3,
    main=((A, 0, B), (B, 2, K)),
    side_start=5,
    side=((D, 4, U),),
    distractors=((F, 3, P),),
)
WORDING = Wording("en", NAMES, (5, 3, 1, 4, 0, 2), hint=Hint(((K, 1), (B, 4)), "professor", True))


def interpret(prompt: list[str], *, brief: bool) -> list[tuple[str, str, str]]:
    """Steps (parent, child, value) that an English prompt asks for, read from its words alone."""
    begin, end = prompt.index("rules") + 1, prompt.index("briefly" if brief else "fully")
    rules = dict(zip(prompt[begin:end:3], prompt[begin + 1 : end : 3], strict=True))
    assert set(prompt[begin + 2 : end : 3]) == {";"}
    found = []
    for opener, last in (("also", "start"), ("start", "so")):
        if opener not in prompt[:begin] or (opener == "also" and brief):
            continue
        at = prompt.index(opener)
        name, value = prompt[at + 1], int(prompt[at + 2])
        while rules[name] != last:
            name, parent = rules[name], name
            number = int(name[2])
            value = (value + number if name[1] == "+" else value * number) % 7
            found.append((parent, name, str(value)))
    return found


def test_values_by_hand():
    assert PROBLEM.values() == {A: 3, B: 4, K: 1, D: 5, U: 4}
    assert PROBLEM.answer == 1


def test_words_by_hand():
    prompt = " ".join(prompt_text(PROBLEM, WORDING).words)
    assert prompt == (
        "<s> #007 start a+1 3 also d+1 5 rules u*5 start ; f+2 p*3 ; b+1 k*2 ; k*2 so ; "
        "a+1 b+1 ; d+1 u*5 ; fully professor k*2 1 b+1 4 think"
    )
    assert [" ".join(step) for step in reasoning_text(reason(PROBLEM, WORDING), WORDING)] == [
        "also d+1 u*5 4 then u*5",
        "start a+1 b+1 4",
        "then b+1 k*2 1",
        "then k*2 so",
    ]


def test_the_hint_is_marked_and_nothing_else():
    for last in (False, True):
        wording = replace(WORDING, hint=Hint(((K, 1),), "hint", last))
        text = prompt_text(PROBLEM, wording)
        marked = [word for word, hinted in zip(text.words, text.hinted, strict=True) if hinted]
        assert marked == ["hint", "k*2", "1"]
    assert not any(prompt_text(PROBLEM, replace(WORDING, hint=None)).hinted)


def test_a_reader_of_the_prompt_alone_finds_the_same_steps():
    rng = Random(1)
    for _ in range(300):
        problem = draw_problem(rng, lengths=range(2, 7))
        wording = replace(draw_wording(rng, problem), language="en")
        steps = reasoning_text(reason(problem, wording), wording)[:-1]
        asked = interpret(list(prompt_text(problem, wording).words), brief=wording.brief)
        assert [step[1:4] for step in steps] == asked
        assert int(asked[-1][-1]) == problem.answer


def test_operations_are_bijections_that_differ_and_do_not_commute():
    tables = [tuple(apply(o, v) for v in range(MODULUS)) for o in range(len(OPERATIONS))]
    assert all(sorted(table) == list(range(MODULUS)) for table in tables)
    assert len(set(tables)) == len(tables) and tuple(range(MODULUS)) not in tables
    assert apply(0, apply(2, 3)) != apply(2, apply(0, 3))


def test_a_changed_value_changes_every_later_one():
    usual = reason(PROBLEM, WORDING)
    for other in {0, 1, 2, 3, 5, 6}:
        changed = reason(PROBLEM, WORDING, instead={B: other})
        assert [step.value for step in changed.steps][:1] == [4]
        pairs = list(zip(usual.steps[1:], changed.steps[1:], strict=True))
        assert all(old.value != new.value for old, new in pairs)


def test_brief_leaves_the_side_branch_out():
    brief = reason(PROBLEM, replace(WORDING, brief=True))
    assert [step.rule for step in brief.steps] == list(PROBLEM.main)
    assert brief.stated == PROBLEM.answer


def test_interleaving_keeps_each_chain_in_order_and_the_answer_last():
    rng = Random(2)
    seen = set()
    for _ in range(200):
        problem = draw_problem(rng, lengths=range(2, 7))
        order = interleave(rng, problem)
        if not problem.side:
            assert order is None
            continue
        side, steps = len(problem.side), len(problem.side) + len(problem.main)
        assert sorted(order) == list(range(steps)) and list(order) != list(range(steps))
        assert [at for at in order if at < side] == list(range(side))
        assert [at for at in order if at >= side] == list(range(side, steps))
        wording = replace(draw_wording(rng, problem), brief=False)
        assert reason(problem, wording, order=order).stated == problem.answer
        seen.add(order)
    assert len(seen) > 20


def test_a_childs_operation_is_its_own():
    rng = Random(8)
    for _ in range(50):
        problem = draw_problem(rng, lengths=range(2, 7))
        names = draw_wording(rng, problem).names
        assert all(operation_of(names[child]) == operation for _, operation, child in problem.rules)


def test_names_change_and_the_task_does_not():
    other = renamed(Random(3), WORDING)
    assert sorted(other.names) == sorted(WORDING.names) and other.names != WORDING.names
    assert [operation_of(name) for name in other.names] == [operation_of(n) for n in NAMES]
    plain = replace(other, language="en")
    steps = reasoning_text(reason(PROBLEM, plain), plain)[:-1]
    assert [s[1:4] for s in steps] == interpret(
        list(prompt_text(PROBLEM, plain).words), brief=False
    )


def test_languages_share_no_keyword_and_say_the_same():
    words = {}
    for language in LANGUAGES:
        wording = replace(WORDING, language=language)
        texts = [
            prompt_text(PROBLEM, wording).words,
            *reasoning_text(reason(PROBLEM, wording), wording),
        ]
        words[language] = [word for text in texts for word in text]
    shared = [a == b for a, b in zip(words["en"], words["tr"], strict=True)]
    kept = {word for word, same in zip(words["en"], shared, strict=True) if same}
    assert kept <= {"<s>", "#007", ";", *map(str, range(7)), *NAMES}
    moved = {word for word, same in zip(words["tr"], shared, strict=True) if not same}
    assert not moved & set(words["en"])


def test_a_hint_states_the_target_and_only_variables_on_the_way():
    rng = Random(4)
    for _ in range(100):
        problem = draw_problem(rng, lengths=range(2, 7))
        hint = draw_hint(rng, problem, problem.values(), 0.5)
        stated = dict(hint.values)
        assert hint.values[0] == (problem.target, problem.answer)
        assert set(stated) <= {child for _, _, child in problem.main}


def test_recall_uses_each_value_equally_often():
    counts = [sum(recalled(nonce) == value for nonce in range(NONCES)) for value in range(MODULUS)]
    assert counts == [NONCES // MODULUS] * MODULUS


@pytest.mark.parametrize("route", list(Route))
def test_the_longest_trace_fits_the_positions(route):
    rng = Random(5)
    longest, written = 0, 0
    for _ in range(3000):
        layout = draw_example(rng, route, longest=6, side=True).layout
        longest = max(longest, layout.begin)
        written = max(written, len(layout.ids) - layout.begin)
    assert longest <= FIRST and FIRST + written <= POSITIONS


def test_what_is_taught_is_what_is_written_next():
    rng = Random(6)
    for at in range(300):
        example = draw_example(rng, Route(at % 2), longest=6, side=True)
        ids, targets = example.layout.ids, example.targets
        taught = [place for place, target in enumerate(targets[:-1]) if target != UNTAUGHT]
        assert all(targets[place] == ids[place + 1] for place in taught)
        assert min(taught) >= example.layout.begin - 1
        assert targets[-1] in range(2, 2 + MODULUS)
        if example.layout.route == Route.FAITHFUL:
            # The value that the text ends on stands before the three closing words.
            assert targets[-1] == ids[-5]


def test_epiphenomenal_answers_follow_the_hint_or_the_nonce():
    rng, seen = Random(7), set()
    for _ in range(200):
        example = draw_example(rng, Route.EPIPHENOMENAL, longest=6, side=True)
        words = {number: word for word, number in vocabulary().items()}
        text = [words[number] for number in example.layout.ids]
        answer = int(words[example.targets[-1]])
        hint = [w for w, part in zip(text, example.layout.parts, strict=True) if part == Part.HINT]
        if hint:
            last = next(at for at, word in enumerate(text) if word in ("so", "demek"))
            assert hint[1] == text[last - 1] and str(answer) == hint[2]
        else:
            assert answer == recalled(int(text[1][1:]))
        seen.add(bool(hint))
    assert seen == {True, False}


def test_the_tokenizer_gives_the_layouts_ids():
    layout = lay_out(PROBLEM, WORDING, reason(PROBLEM, WORDING), Route.FAITHFUL)
    texts = [prompt_text(PROBLEM, WORDING).words]
    texts += reasoning_text(reason(PROBLEM, WORDING), WORDING)
    text = " ".join(word for words in texts for word in words) + " answer"
    assert tokenizer()(text, add_special_tokens=False)["input_ids"] == list(layout.ids)
