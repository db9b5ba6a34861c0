"""Questions in the shapes in which datasets of the Hub hold them: columns, nesting, configs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
NEIGHBOUR = Path(__file__).parents[2].parent / "shared" / "data"
PUBLIC = Path(os.environ.get("FAITHSHIFT_PUBLIC_TRACES", NEIGHBOUR)) / "questions"


def write_copy(folder: Path, split: str, configs: Mapping[str, Iterable[Row]]) -> str:
    """A local copy of a dataset: one file a config, named in the front matter of its card."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    named = []
    for name, rows in configs.items():
        file = folder / name / f"{split}-00000-of-00001.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), file)
        path = f"{name}/{split}-*"
        named.append({"config_name": name, "data_files": [{"split": split, "path": path}]})
    (folder / "README.md").write_text(f"---\nconfigs: {json.dumps(named)}\n---\n")
    return str(folder)


def gsm8k(question: str, answer: str, reasoning: str = "So it is.") -> Row:
    return {"question": question, "answer": f"{reasoning}\n#### {answer}"}


def math(problem: str, solution: str) -> Row:
    return {"problem": problem, "level": "Level 1", "type": "Algebra", "solution": solution}


def commonsense_qa(question: str, texts: list[str], key: str, labels: str = "") -> Row:
    choices = {"label": list(labels or "ABCDEFGHIJ"[: len(texts)]), "text": texts}
    return {
        "id": "0",
        "question": question,
        "question_concept": "x",
        "choices": choices,
        "answerKey": key,
    }


def bbh(question: str, target: str, options: Iterable[str] = ()) -> Row:
    listed = "".join(f"\n{option}" for option in options)
    return {"input": question + (f"\nOptions:{listed}" if listed else ""), "target": target}


def mmlu_pro(question: str, options: list[str], answer: str, category: str = "math") -> Row:
    return {
        "question_id": 0,
        "question": question,
        "options": options,
        "answer": answer,
        "answer_index": "ABCDEFGHIJ".index(answer),
        "cot_content": "",
        "category": category,
        "src": "",
    }


def public_copies(folder: Path, tasks: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Copies of public questions in these shapes, by source; ``tasks`` limits their configs."""

    def rows(name: str) -> list[dict[str, Any]]:
        text = (PUBLIC / f"{name}.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    by_task: dict[str, list[Row]] = {}
    for row in rows("bbh"):
        by_task.setdefault(row["subdomain"], []).append(
            {"input": row["question_raw"], "target": row["answer_raw"]}
        )
    subjects: dict[str, list[Row]] = {}
    for row in rows("math500"):
        name = row["subdomain"].lower().replace(" & ", "_and_").replace(" ", "_")
        subjects.setdefault(name, []).append(math(row["question"], row["solution"]))
    found = {
        "gsm8k": ("test", {"main": [gsm8k(r["question"], r["answer"]) for r in rows("gsm8k")]}),
        "math": ("test", subjects),
        "commonsense_qa": (
            "validation",
            {
                "default": [
                    commonsense_qa(r["question"], r["options"], r["answer"])
                    for r in rows("commonsenseqa")
                ]
            },
        ),
        "bbh": ("test", by_task),
        "mmlu_pro": (
            "test",
            {
                "default": [
                    mmlu_pro(r["question"], r["options"], r["answer"], r["subdomain"])
                    for r in rows("mmlu_pro")
                ]
            },
        ),
    }
    return {
        name: write_copy(folder / name, split, configs) for name, (split, configs) in found.items()
    }
