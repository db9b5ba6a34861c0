"""Published figures as a sheet, and the small language of formulas over it.

A formula is arithmetic over cells. ``ivr`` is the column of the row at hand, ``T1c.row.raw`` the
same row of another table, ``T1a.sift.gap`` a cell, ``T1a.gap`` a column, ``text.abstention`` a
figure of the running text. Functions are those of ``FUNCTIONS`` and ``SELECTIONS``.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from faithshift_data.errors import InputError

Key = tuple[str, str, str]
Value = float | list[float]
Tables = Mapping[str, Mapping[str, Any]]


class Missing(Exception):
    """An ingredient that was not published; its message says which."""


@dataclass(frozen=True)
class Figure:
    """A printed number: its value, and half a unit of its last printed digit."""

    value: float
    half_unit: float

    @classmethod
    def parse(cls, text: str | None) -> Figure | None:
        """The figure that ``text`` prints; None where it prints no plain number."""
        if text is None or not re.fullmatch(r"-?\d+(\.\d+)?", text):
            return None
        return cls(float(text), 0.5 * 10.0 ** -len(text.partition(".")[2]))


@dataclass(frozen=True)
class Sheet:
    """Tables by id, each with ``columns`` and ``rows`` of printed text, as in published.json."""

    tables: Tables

    def figure(self, key: Key) -> Figure | None:
        """The figure at (table, row, column); None where there is no number.

        Raises:
            InputError: there is no such cell.
        """
        table, row, column = key
        if row not in self.rows(table) or column not in self.columns(table):
            raise InputError("no such figure", file="published figures", field=".".join(key))
        return Figure.parse(self.text(key))

    def text(self, key: Key) -> str | None:
        """What is printed at (table, row, column); None where nothing is."""
        table, row, column = key
        if column not in self.columns(table):
            return None
        text: str | None = self._table(table)["rows"][row][self.columns(table).index(column)]
        return text

    def rows(self, table: str) -> list[str]:
        """Names of a table's rows, as printed."""
        return list(self._table(table)["rows"])

    def columns(self, table: str) -> list[str]:
        """Names of a table's columns, as printed."""
        return list(self._table(table)["columns"])

    def key(self, path: str, row: tuple[str, str] | None) -> Key:
        """The cell that a path names, seen from ``row`` (table, row)."""
        parts = path.split(".")
        if len(parts) == 1 and row is not None:
            return (*row, parts[0])
        if len(parts) == 2 and "value" in self.columns(parts[0]):
            return (parts[0], parts[1], "value")
        if len(parts) == 3:
            if parts[1] == "row" and row is not None:
                parts[1] = row[1]
            return (parts[0], parts[1], parts[2])
        raise InputError("not a cell", file="published figures", field=path)

    def keys(self, path: str, row: tuple[str, str] | None, but: str = "") -> Key | list[Key]:
        """The cell, or the cells of the column or row, that a path names, without row ``but``."""
        parts = path.split(".")
        if len(parts) != 2 or "value" in self.columns(parts[0]):
            return self.key(path, row)
        table, name = parts
        if name in self.columns(table):
            return [(table, each, name) for each in self.rows(table) if each != but]
        return [(table, name, column) for column in self.columns(table)]

    def _table(self, name: str) -> Mapping[str, Any]:
        if name not in self.tables:
            raise InputError("no such table", file="published figures", field=name)
        return self.tables[name]


def _flat(values: Iterable[Value]) -> list[float]:
    out: list[float] = []
    for value in values:
        out += value if isinstance(value, list) else [value]
    return out


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _harmonic(values: list[float]) -> float:
    a, b = values
    return 2 * a * b / (a + b)


FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "mean": _mean,
    "sum": math.fsum,
    "min": min,
    "max": max,
    "hm": _harmonic,
    "abs": lambda v: abs(v[0]),
    "sqrt": lambda v: math.sqrt(v[0]),
    "erf": lambda v: math.erf(v[0]),
}
SELECTIONS = ("but", "diagonal", "off_diagonal", "leads", "block")
OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


@dataclass
class Reader:
    """Evaluates formulas as seen from one row, with some cells moved by a given amount.

    ``used`` collects the cells that a formula reads.
    """

    sheet: Sheet
    row: tuple[str, str] | None = None
    moved: Mapping[Key, float] = field(default_factory=dict)
    used: list[Key] = field(default_factory=list)

    def __call__(self, formula: str) -> float:
        """The value of ``formula``.

        Raises:
            Missing: an ingredient was not published, or a division by zero.
            InputError: the formula names no figure or function, or is no formula.
        """
        try:
            (value,) = _flat([self._eval(ast.parse(formula, mode="eval").body)])
        except ZeroDivisionError:
            raise Missing("a division by zero") from None
        except InputError:
            raise
        except (SyntaxError, KeyError, IndexError, TypeError, ValueError) as error:
            raise InputError("bad formula", field=formula, got=error) from error
        return value

    def _eval(self, node: ast.AST) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._cells(self.sheet.keys(ast.unparse(node), self.row))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._number(node.operand)
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](self._number(node.left), self._number(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node.func.id, node.args)
        raise ValueError(ast.unparse(node))

    def _call(self, name: str, args: list[ast.expr]) -> Value:
        """A function of numbers, or a selection of cells.

        ``but(row, column)`` leaves a row out; of a square table ``diagonal``, ``off_diagonal``,
        ``leads`` (each diagonal cell less each other of its row) and ``block(table, rows,
        columns)`` without the diagonal.
        """
        if name in FUNCTIONS:
            return FUNCTIONS[name](_flat(self._eval(arg) for arg in args))
        if name not in SELECTIONS:
            raise KeyError(name)
        names = [ast.literal_eval(arg) if isinstance(arg, ast.Constant) else "" for arg in args]
        if name == "but":
            return self._cells(self.sheet.keys(ast.unparse(args[1]), self.row, but=names[0]))
        table = ast.unparse(args[0])
        every = self.sheet.rows(table)
        if name == "diagonal":
            return self._cells([(table, each, each) for each in every])
        if name == "off_diagonal":
            return self._cells([(table, a, b) for a in every for b in every if a != b])
        if name == "leads":
            return [
                _flat([self._cells((table, a, a))])[0] - _flat([self._cells((table, a, b))])[0]
                for a in every
                for b in every
                if a != b
            ]
        rows, columns = names[1].split(), names[2].split()
        return self._cells([(table, a, b) for a in rows for b in columns if a != b])

    def _number(self, node: ast.AST) -> float:
        (value,) = _flat([self._eval(node)])
        return value

    def _cells(self, keys: Key | list[Key]) -> Value:
        if isinstance(keys, list):
            return _flat(self._cells(key) for key in keys)
        figure = self.sheet.figure(keys)
        if figure is None:
            raise Missing(f"{'.'.join(keys)} was not published")
        self.used.append(keys)
        return figure.value + self.moved.get(keys, 0.0)
