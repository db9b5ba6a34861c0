"""Files that a stranger might send. ``python -m tests.leaderboard.hostile DATA OUT`` tries all.

They are tried in one process that may not use much memory; OUT gets, for each, the line that
refused it, and the most memory that the process ever held.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import faithshift_data as fd
from faithshift_bench.submission import read_card, read_package, validate
from faithshift_bench.submission.bounds import MAX_BYTES, MAX_SEEDS
from faithshift_bench.submission.card import DECLARATIONS, check_card
from faithshift_bench.submission.package import STATEMENT, package_of, write_package
from faithshift_data.errors import InputError
from leaderboard.api import answer
from leaderboard.store import Store

MEMORY = 3 * 2**30
Columns = dict[str, Any]
Maker = Callable[["Bench"], object]
CASES: dict[str, tuple[str, Maker]] = {}

CARD = """\
name = "mine"
revision = "v1"
reads = ["text"]
training_data = []
contact = "me@example.org"
[declares]
label_rule = false
asks_models = false
other_labels = false
joins_traces = false
contaminated = false
"""


class Bench:
    """An empty folder, and the ids to be scored."""

    def __init__(self, data: fd.FaithShift, folder: Path) -> None:
        self.data, self.folder = data, folder
        rows = data.table("traces").select(["trace_id", "split", "label"]).to_pylist()
        self.ids = [row["trace_id"] for row in rows if row["split"] != "train"]
        self.n = len(rows)
        self.label = {row["trace_id"]: row["label"] for row in rows}

    def columns(self, **changed: Any) -> Columns:
        score = [0.9 if self.label[name] else 0.2 for name in self.ids]
        return {"trace_id": self.ids, "score": score, **changed}

    def parquet(self, table: pa.Table | Columns, name: str = "s.parquet", **how: Any) -> None:
        made = table if isinstance(table, pa.Table) else pa.table(table)
        pq.write_table(made, self.folder / name, **how)
        self.check(name)

    def text(self, name: str, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        (self.folder / name).write_bytes(data)
        self.check(name)

    def check(self, name: str) -> None:
        validate(self.folder / name, check_card(_card()), self.data)

    def csv(self, rows: list[str], header: str = "trace_id,score") -> None:
        self.text("s.csv", "\n".join([header, *rows]) + "\n")

    def jsonl(self, *rows: object) -> None:
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        self.text("s.jsonl", "\n".join(lines) + "\n")

    def card(self, text: str | bytes) -> None:
        path = self.folder / "card.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        read_card(path)

    def package(self) -> Path:
        pq.write_table(pa.table(self.columns()), self.folder / "s.parquet")
        scores = self.folder / "s.parquet"
        package = package_of(scores, check_card(_card()), self.data)
        return write_package(package, scores, self.folder)

    def post(self, body: object) -> None:
        store = Store(self.folder / "store")
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        hashes = frozenset({package_hash(self.data)})
        status, said = answer(store, hashes, "POST", "/api/submissions", data)
        assert status >= 400, said
        assert not list((self.folder / "store").rglob("*.json"))
        raise InputError(said["error"])


def package_hash(data: fd.FaithShift) -> str:
    from faithshift_bench.submission.package import about_data

    return about_data(data)["hash"]


def _card() -> dict[str, Any]:
    declares = dict.fromkeys(DECLARATIONS, False)
    said = {"name": "mine", "revision": "v1", "contact": "me@example.org"}
    return {**said, "reads": ["text"], "training_data": [], "declares": declares}


def case(name: str, expected: str) -> Callable[[Maker], Maker]:
    def keep(maker: Maker) -> Maker:
        assert name not in CASES
        CASES[name] = (expected, maker)
        return maker

    return keep


def each(expected: str, **makers: Maker) -> None:
    for name, maker in makers.items():
        case(name, expected)(maker)


def _bomb(b: Bench) -> None:
    """Ten million equal scores in a few kilobytes."""
    n = 10**7
    table = {"trace_id": pa.repeat("t", n).dictionary_encode(), "score": pa.repeat(0.5, n)}
    pq.write_table(pa.table(table), b.folder / "s.parquet", compression="zstd")
    assert (b.folder / "s.parquet").stat().st_size < 200_000
    b.check("s.parquet")


def _declared_rows(b: Bench) -> None:
    """A footer that states 10^8 rows, over pages that hold few."""
    n = b.n * MAX_SEEDS
    pq.write_table(pa.table({"trace_id": ["t"] * n, "score": [0.5] * n}), b.folder / "s.parquet")
    data = (b.folder / "s.parquet").read_bytes()
    wrong = data.replace(_varint(n), _varint(10**8)[: len(_varint(n))], 50)
    b.text("s.parquet", wrong)


def _varint(value: int) -> bytes:
    value, out = value << 1, bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _one_long(b: Bench) -> None:
    b.parquet(b.columns(trace_id=["x" * 5000, *b.ids[1:]]))


def _wide(n: int) -> Maker:
    return lambda b: b.parquet({f"column_{k}": [0.5] for k in range(n)})


def _big_footer(b: Bench) -> None:
    table = pa.table(b.columns()).replace_schema_metadata({"faithshift": "x" * 3_000_000})
    b.parquet(table)


def _long_value(b: Bench) -> None:
    b.parquet(b.columns(trace_id=["y" * 30_000_000, *b.ids[1:]]), compression="zstd")


def _sparse(b: Bench) -> None:
    with open(b.folder / "s.csv", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    b.check("s.csv")


def _nested(b: Bench) -> None:
    score = [[0.5]] * len(b.ids)
    b.parquet(b.columns(score=score))


def _struct(b: Bench) -> None:
    b.parquet(b.columns(score=[{"a": 0.5}] * len(b.ids)))


def _typed(kind: pa.DataType, value: Any, column: str = "score") -> Maker:
    return lambda b: b.parquet(b.columns(**{column: pa.array([value] * len(b.ids), kind)}))


def _twice(b: Bench) -> None:
    values = [pa.array(b.ids), pa.array([0.5] * len(b.ids)), pa.array([0.1] * len(b.ids))]
    b.parquet(pa.Table.from_arrays(values, names=["trace_id", "score", "score"]))


def _score(value: Any) -> Maker:
    return lambda b: b.parquet(b.columns(score=[value, *[0.5] * (len(b.ids) - 1)]))


def _link(b: Bench) -> None:
    pq.write_table(pa.table(b.columns()), b.folder / "real.parquet")
    (b.folder / "s.parquet").symlink_to(b.folder / "real.parquet")
    b.check("s.parquet")


def _pipe(b: Bench) -> None:
    os.mkfifo(b.folder / "s.csv")
    b.check("s.csv")


def _folder(b: Bench) -> None:
    (b.folder / "s.csv").mkdir()
    b.check("s.csv")


def _device(b: Bench) -> None:
    (b.folder / "s.csv").symlink_to("/dev/zero")
    b.check("s.csv")


def _seeds(b: Bench) -> None:
    seeds = list(range(MAX_SEEDS + 1))
    b.parquet({"trace_id": b.ids[:1] * len(seeds), "seed": seeds, "score": [0.5] * len(seeds)})


def _many_seeds(b: Bench) -> None:
    """As many rows as are allowed, and one seed more than is."""
    seeds, ids = MAX_SEEDS + 1, b.ids
    assert len(ids) * seeds <= b.n * MAX_SEEDS, "train is too small for this case"
    names = np.tile(np.array(ids), seeds)
    seed = np.repeat(np.arange(seeds), len(ids))
    b.parquet({"trace_id": names, "seed": seed, "score": np.full(len(names), 0.5)})


def _rows(b: Bench) -> None:
    b.csv(["t,0.5"] * (b.n * MAX_SEEDS + 5))


def _says_evidence(b: Bench) -> None:
    said = json.dumps({"reads_label_evidence": True})
    b.parquet(pa.table(b.columns()).replace_schema_metadata({"faithshift": said}))


def _spoilt(b: Bench) -> None:
    pq.write_table(pa.table(b.columns()), b.folder / "s.parquet")
    data = bytearray((b.folder / "s.parquet").read_bytes())
    data[10 : len(data) // 2] = b"\xff" * (len(data) // 2 - 10)
    b.text("s.parquet", bytes(data))


def _cut(b: Bench) -> None:
    pq.write_table(pa.table(b.columns()), b.folder / "s.parquet")
    b.text("s.parquet", (b.folder / "s.parquet").read_bytes()[:-20])


def _negative(b: Bench) -> None:
    b.csv([f"{name},0.5" for name in b.ids[:-1]] + [f"{b.ids[-1]},-0.1"])


each("too many rows", bomb=_bomb, csv_rows=_rows)
each("not a Parquet file", declared_rows=_declared_rows)
each("trace_id: too long.*200 bytes", one_long_id=_one_long)
each("unknown column", wide=_wide(300))
each("footer too large", big_footer=_big_footer, very_wide=_wide(10_000))
each("unpacks too large", one_huge_string=_long_value)
each("too large .expected 33554432 bytes", sparse_file=_sparse)
each("score: bad type.*list<", nested=_nested)
each("score: bad type.*struct<", struct=_struct)
each("score: bad type.*binary", binary=_typed(pa.binary(), b"0.5"))
each("score: bad type.*string", text_scores=_typed(pa.string(), "0.5"))
each("score: bad type.*bool", bool_scores=_typed(pa.bool_(), True))
each("score: bad type.*timestamp", dates=_typed(pa.timestamp("s"), 0))
each("score: bad type.*decimal", decimals=_typed(pa.decimal128(5, 2), None))
each("score: bad type.*null", nulls=_typed(pa.null(), None))
each("trace_id: bad type.*int64", number_ids=_typed(pa.int64(), 7, "trace_id"))
each("trace_id: bad type.*fixed_size_binary", byte_ids=_typed(pa.binary(4), b"abcd", "trace_id"))
each("row 0, field score: bad value.*got nan", nan=_score(float("nan")))
each("row 0, field score: bad value.*got inf", infinite=_score(float("inf")))
each("row 0, field score: bad value.*got 1.5", logit=_score(1.5))
each("row 0, field score: bad value.*got nothing", null=_score(None))
each("repeated column", two_scores=_twice)
each("cannot be read.*a link", link=_link, device=_device)
each("a pipe or device", pipe=_pipe)
each("got a folder", folder=_folder)
each("missing row", seeds_of_one_trace=_seeds)
each("too many seeds", seeds=_many_seeds)
each("the detector reads label evidence, the card does not", evidence=_says_evidence)
each("not a Parquet file", spoilt=_spoilt, cut=_cut)
each("not a Parquet file", pickle=lambda b: b.text("s.parquet", b"\x80\x04cos\nsystem\n."))
each("unknown kind of file", pickle_name=lambda b: b.text("s.pkl", b"\x80\x04."))
each("unknown kind of file", script=lambda b: b.text("s.py", "import os"))
each("unknown kind of file.*no ending", nameless=lambda b: b.text("scores", "x"))
each("empty", empty=lambda b: b.text("s.csv", ""))
each("no rows", header_alone=lambda b: b.csv([]))
each("missing column", one_column=lambda b: b.csv(["t"], "trace_id"))
each("unknown column", label_column=lambda b: b.csv(["t,0.5,1"], "trace_id,score,label"))
each("repeated column", csv_twice=lambda b: b.csv(["t,0.5,1"], "trace_id,score,score"))
each("ragged row", ragged=lambda b: b.csv(["t,0.5,1"]))
each("a zero byte", zero_byte=lambda b: b.csv(["t\0,0.5"]))
each("not UTF-8", latin=lambda b: b.text("s.csv", b"trace_id,score\n\xe9,0.5\n"))
each("not UTF-8", latin_jsonl=lambda b: b.text("s.jsonl", b'{"trace_id": "\xe9"}\n'))
each("a line is too long", long_line=lambda b: b.csv(["x" * 10**6 + ",0.5"]))
each("not CSV", open_quote=lambda b: b.csv(['"t,0.5']))
each("field score: bad value.*=1", formula=lambda b: b.csv(["t,=1+1"]))
each("field seed: bad value", seed=lambda b: b.csv(["t,0.5,-1"], "trace_id,score,seed"))
each("unknown trace", unknown=lambda b: b.csv(["../../etc/passwd,0.5"]))
each(r"unknown trace.*x1b\[2J", terminal=lambda b: b.csv(["\x1b[2J,0.5"]))
each("field score: bad value.*-0.1", negative=_negative)
each("not JSON.*nested too deep|not JSON", deep=lambda b: b.jsonl("[" * 900))
each("not JSON", half=lambda b: b.jsonl('{"trace_id": "t"'))
each("not an object", array=lambda b: b.jsonl([1, 2]))
each(
    "field score: bad value.*got nan", json_nan=lambda b: b.jsonl('{"trace_id": "t", "score": NaN}')
)
each("unknown column", json_keys=lambda b: b.jsonl({"x" * 300: 1}))
each("repeated column", json_twice=lambda b: b.jsonl('{"trace_id": "t", "score": 1, "score": 0}'))
each(
    "below chance.*--i-mean-it",
    reversed=lambda b: b.parquet(
        b.columns(score=[0.1 if b.label[name] else 0.9 for name in b.ids])
    ),
)


each("unknown trace.*got 3, such as x, y, z", unknowns=lambda b: b.csv(["x,1", "y,1", "z,1"]))


@case("repeated", "repeated row")
def _repeated(b: Bench) -> None:
    b.csv([f"{name},0.5" for name in [*b.ids, b.ids[0]]])


@case("subset", "missing row|[0-9]+ missing")
def _subset(b: Bench) -> None:
    b.csv([f"{name},0.5" for name in b.ids[:10]])


def changed(old: str, new: str) -> Maker:
    assert old in CARD
    return lambda b: b.card(CARD.replace(old, new))


each("field name: bad name", card_newline=changed('"mine"', '"a\\nb"'))
each("field name: bad name", card_escape=changed('"mine"', '"a\\u001b[2J"'))
each("field name: bad value.*u202e", card_bidi=changed('"mine"', '"a\\u202Egnp"'))
each("2 marks at most", card_marks=changed('"mine"', '"a\\u0335\\u0335\\u0335"'))
each("80 characters at most", card_long=changed('"mine"', f'"{"x" * 81}"'))
each("field name: bad name", card_blank=changed('"mine"', '" "'))
each("field name: bad value.*got int", card_number=changed('"mine"', "7"))
each("field revision: missing", card_missing=changed('revision = "v1"\n', ""))
each(
    "field extra: unknown field",
    card_extra=changed('revision = "v1"', 'revision = "v1"\nextra = 1'),
)
each("field reads: bad value.*got labels", card_reads=changed('["text"]', '["labels"]'))
each("field reads: bad value.*nothing", card_reads_nothing=changed('["text"]', "[]"))
each("32 entries at most", card_list=changed("data = []", f"data = {['x'] * 33}"))
each("field contact: bad value", card_contact=changed("me@example.org", "javascript:alert(1)"))
each(
    "field url: bad value",
    card_url=changed('revision = "v1"', 'revision = "v1"\nurl = "javascript:x"'),
)
each("declares.label_rule: bad value", card_silent=changed("label_rule = false\n", ""))
each(
    "declares.label_rule: bad value", card_maybe=changed("label_rule = false", 'label_rule = "no"')
)
each(
    "declares.honest: unknown field",
    card_more=changed("label_rule = false", "label_rule = false\nhonest = true"),
)
each("not TOML", card_toml=lambda b: b.card("name = = 1"))
each("not UTF-8", card_bytes=lambda b: b.card(b'name = "\xff"'))
each("too large", card_large=lambda b: b.card("#" * 20_000))
each("not TOML", card_deep=lambda b: b.card("a = " + "[" * 8000))


@case("package_renamed", "other content")
def _renamed(b: Bench) -> None:
    read_package(b.package().rename(b.folder / ("0" * 64)))


@case("package_named_up", "not a submission.*64 hex digits")
def _named_up(b: Bench) -> None:
    read_package(b.package().rename(b.folder / "..%2f..%2fetc"))


@case("package_other_scores", "scores.parquet: other content")
def _other_scores(b: Bench) -> None:
    folder = b.package()
    (folder / "scores.parquet").write_bytes(b"PAR1")
    read_package(folder)


@case("package_linked_scores", "cannot be read.*a link")
def _linked_scores(b: Bench) -> None:
    folder = b.package()
    (folder / "scores.parquet").rename(b.folder / "away")
    (folder / "scores.parquet").symlink_to(b.folder / "away")
    read_package(folder)


@case("package_more", "a file too many")
def _more(b: Bench) -> None:
    folder = b.package()
    (folder / "run.py").write_text("import os")
    read_package(folder)


@case("package_link", "not a submission.*a link")
def _package_link(b: Bench) -> None:
    folder = b.package()
    away = folder.rename(b.folder / "away")
    folder.symlink_to(away)
    read_package(folder)


def said(change: Callable[[dict[str, Any]], object]) -> Maker:
    """A posted statement, changed."""

    def post(b: Bench) -> None:
        folder = b.package()
        statement = json.loads((folder / STATEMENT).read_text())
        change(statement)
        scores = base64.b64encode((folder / "scores.parquet").read_bytes()).decode()
        b.post({"statement": statement, "scores": scores})

    return post


each("scores.file: bad value", post_path=said(lambda s: s["scores"].update(file="../../x.parquet")))
each("scores.parquet: other content", post_hash=said(lambda s: s["scores"].update(sha256="0" * 64)))
each("other data than this board ranks", post_data=said(lambda s: s["data"].update(hash="0" * 64)))
each("field version: bad value", post_version=said(lambda s: s.update(version=2)))
each("not a submission", post_key=said(lambda s: s.update(admin=True)))
each("below_chance: bad value", post_flag=said(lambda s: s.update(below_chance="yes")))
each("field data: bad value", post_type=said(lambda s: s.update(data=[1])))
each("not a submission", post_nothing=lambda b: b.post(b""))
each("not a submission", post_deep=lambda b: b.post(b"[" * 100_000))
each("not a submission", post_base64=lambda b: b.post({"statement": {}, "scores": "???"}))
each("body: too large", post_large=lambda b: b.post(bytes(60 * 2**20)))


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    data, found = fd.open(sys.argv[1]), {}
    for name, (_, maker) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                maker(Bench(data, Path(folder)))
                found[name] = "taken"
            except InputError as error:
                found[name] = str(error)
            except BaseException as error:  # noqa: BLE001
                found[name] = f"not refused in a line: {type(error).__name__}: {error}"
    # getrusage would count the parent's memory, from before this program took its place.
    status = Path("/proc/self/status").read_text()
    most = int(status.split("VmHWM:")[1].split()[0]) * 1024
    Path(sys.argv[2]).write_text(json.dumps({"found": found, "bytes": most}))


if __name__ == "__main__":
    main()
