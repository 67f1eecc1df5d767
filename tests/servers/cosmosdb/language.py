"""The part of the query language this server speaks, parsed into a tree.

    SELECT [DISTINCT] [TOP n] * | VALUE e | e [AS name], ...   FROM c   [WHERE e]
    [ORDER BY path [ASC | DESC]]

Expressions: constants, parameters, paths, comparisons, AND, OR, NOT, IN, function calls.
Everything else is a 400 that names what was met.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .failure import Failure

TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+)?) | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
    | (?P<parameter>@\w+) | (?P<word>[A-Za-z_]\w*)
    | (?P<sign><=|>=|!=|[=<>().,*\[\]]) | (?P<end>$))""",
    re.VERBOSE,
)
CONSTANTS = {"true": True, "false": False, "null": None}
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Constant:
    value: Any


@dataclass(frozen=True)
class Parameter:
    name: str


@dataclass(frozen=True)
class Path:
    """A property below the item: `c.a.b` has the names a and b, `c` has none."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """A comparison, AND, OR, NOT or IN over its operands; IN has the choices after the value."""

    sign: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Expression, ...]


Expression = Constant | Parameter | Path | Operation | Call


@dataclass(frozen=True)
class Column:
    name: str
    expression: Expression


@dataclass(frozen=True)
class Query:
    """`columns` is None for `*`; `value` says that the one column is the row itself."""

    distinct: bool
    top: int | None
    value: bool
    columns: tuple[Column, ...] | None
    where: Expression | None
    order: Path | None
    descending: bool

    @property
    def counts(self) -> bool:
        """Whether the query is `SELECT VALUE COUNT(...)`, the one aggregate spoken here."""
        first = self.columns[0].expression if self.columns else None
        return self.value and isinstance(first, Call) and first.name == "COUNT"


def parse_query(text: str) -> Query:
    parser = _Parser(text)
    query = parser.query()
    parser.finish()
    return query


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.index = 0
        place = 0
        while not self.tokens or self.tokens[-1][0] != "end":
            match = TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise Failure(400, f"Syntax error near {text[place : place + 20]!r}.")
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            place = match.end()
        self.alias = _alias(text)

    def query(self) -> Query:
        self.expect("SELECT")
        distinct = self.accept("DISTINCT")
        top = int(self.take("number")) if self.accept("TOP") else None
        value = self.accept("VALUE")
        columns = None if self.accept("*") else self.columns()
        self.source()
        where = self.disjunction() if self.accept("WHERE") else None
        order = None
        if self.accept("ORDER"):
            self.expect("BY")
            order = self.path()
        descending = self.accept("DESC")
        if order is not None and not descending:
            self.accept("ASC")
        return Query(distinct, top, value, columns, where, order, descending)

    def columns(self) -> tuple[Column, ...]:
        columns = [self.column(1)]
        while self.accept(","):
            columns.append(self.column(len(columns) + 1))
        return tuple(columns)

    def column(self, number: int) -> Column:
        expression = self.disjunction()
        if self.accept("AS"):
            return Column(self.take("word"), expression)
        if isinstance(expression, Path) and expression.names:
            return Column(expression.names[-1], expression)
        return Column(f"${number}", expression)

    def source(self) -> None:
        self.expect("FROM")
        self.take("word")

    def disjunction(self) -> Expression:
        return self.chain("OR", self.conjunction)

    def conjunction(self) -> Expression:
        return self.chain("AND", self.negation)

    def chain(self, sign: str, operand: Callable[[], Expression]) -> Expression:
        left = operand()
        while self.accept(sign):
            left = Operation(sign, (left, operand()))
        return left

    def negation(self) -> Expression:
        if self.accept("NOT"):
            return Operation("NOT", (self.negation(),))
        return self.comparison()

    def comparison(self) -> Expression:
        left = self.primary()
        if self.accept("IN"):
            self.expect("(")
            return Operation("IN", (left, *self.listed()))
        for sign in COMPARISONS:
            if self.accept(sign):
                return Operation(sign, (left, self.primary()))
        return left

    def primary(self) -> Expression:
        kind, text = self.tokens[self.index]
        if kind == "word" and text != self.alias and text.lower() not in CONSTANTS:
            return self.call()
        if kind == "word" and text == self.alias:
            return self.path()
        self.index += 1
        if text == "(":
            inner = self.disjunction()
            self.expect(")")
            return inner
        return _literal(kind, text)

    def call(self) -> Call:
        name = self.take("word").upper()
        self.expect("(")
        return Call(name, () if self.accept(")") else self.listed())

    def listed(self) -> tuple[Expression, ...]:
        expressions = [self.disjunction()]
        while self.accept(","):
            expressions.append(self.disjunction())
        self.expect(")")
        return tuple(expressions)

    def path(self) -> Path:
        self.expect(self.alias)
        names: list[str] = []
        while True:
            if self.accept("."):
                names.append(self.take("word"))
            elif self.accept("["):
                names.append(_unquoted(self.take("text")))
                self.expect("]")
            else:
                return Path(tuple(names))

    def accept(self, text: str) -> bool:
        kind, found = self.tokens[self.index]
        hit = kind in ("word", "sign") and found.upper() == text.upper()
        self.index += hit
        return hit

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(text)

    def take(self, kind: str) -> str:
        found_kind, text = self.tokens[self.index]
        if found_kind != kind:
            raise self.error(kind)
        self.index += 1
        return text

    def finish(self) -> None:
        self.take("end")

    def error(self, wanted: str) -> Failure:
        found = self.tokens[self.index][1] or "the end"
        return Failure(
            400, f"Syntax error near {found!r}: this protocol test server wants {wanted} there."
        )


def _alias(text: str) -> str:
    # The select list comes before FROM, so the alias must be known before parsing it.
    match = re.search(r"\bFROM\s+(\w+)", text, re.IGNORECASE)
    return match[1] if match else "c"


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        text = '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return str(json.loads(text))


def _literal(kind: str, text: str) -> Expression:
    if kind == "number":
        return Constant(json.loads(text))
    if kind == "text":
        return Constant(_unquoted(text))
    if kind == "parameter":
        return Parameter(text)
    if kind == "word":
        return Constant(CONSTANTS[text.lower()])
    raise Failure(400, f"Syntax error near {text!r}.")
