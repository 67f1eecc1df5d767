"""What an expression of the query language is worth for one item.

A value that cannot be told is `UNDEFINED`: an absent property, a comparison of different types. A
condition holds only where it is true, so such an item is left out; NOT of undefined is undefined.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from .failure import not_spoken
from .language import Call, Constant, Expression, Operation, Parameter, Path
from .store import JSON


class _Undefined:
    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = _Undefined()
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Parameters = Mapping[str, Any]


def is_true(condition: Expression, document: JSON, parameters: Parameters | None = None) -> bool:
    return evaluate(condition, document, parameters or {}) is True


@singledispatch
def evaluate(expression: Expression, document: JSON, parameters: Parameters) -> Any:
    raise TypeError(expression)


@evaluate.register
def _(expression: Constant, document: JSON, parameters: Parameters) -> Any:
    return expression.value


@evaluate.register
def _(expression: Parameter, document: JSON, parameters: Parameters) -> Any:
    return parameters.get(expression.name, UNDEFINED)


@evaluate.register
def _(expression: Path, document: JSON, parameters: Parameters) -> Any:
    value: Any = document
    for name in expression.names:
        value = value.get(name, UNDEFINED) if isinstance(value, dict) else UNDEFINED
    return value


@evaluate.register
def _(expression: Operation, document: JSON, parameters: Parameters) -> Any:
    values = [evaluate(operand, document, parameters) for operand in expression.operands]
    match expression.sign:
        case "AND":
            return _decide(values, False)
        case "OR":
            return _decide(values, True)
        case "NOT":
            return not values[0] if isinstance(values[0], bool) else UNDEFINED
        case "IN":
            choices = values[1:]
            return UNDEFINED if values[0] is UNDEFINED else _same(values[0]) in map(_same, choices)
        case sign:
            return _compare(sign, *values)


@evaluate.register
def _(expression: Call, document: JSON, parameters: Parameters) -> Any:
    values = [evaluate(argument, document, parameters) for argument in expression.arguments]
    if expression.name == "IS_DEFINED":
        return values[0] is not UNDEFINED
    if expression.name == "STARTSWITH":
        return values[0].startswith(values[1]) if _are_text(values) else UNDEFINED
    raise not_spoken(f"The function {expression.name}")


def rank(value: Any) -> int:
    """The place of the type of a value in the order of types."""
    types: tuple[Any, ...] = (_Undefined, type(None), bool, (int, float), str, list, dict)
    return next(place for place, kind in enumerate(types) if isinstance(value, kind))


def _decide(values: list[Any], decisive: bool) -> Any:
    if any(value is decisive for value in values):
        return decisive
    return UNDEFINED if any(not isinstance(value, bool) for value in values) else not decisive


def _compare(sign: str, left: Any, right: Any) -> Any:
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    if rank(left) != rank(right):
        return {"=": False, "!=": True}.get(sign, UNDEFINED)
    if sign not in ("=", "!=") and not isinstance(left, str | int | float):
        return UNDEFINED
    return COMPARE[sign](left, right)


def _same(value: Any) -> tuple[int, Any]:
    return rank(value), value  # so that true is not 1


def _are_text(values: list[Any]) -> bool:
    return len(values) == 2 and all(isinstance(value, str) for value in values)
