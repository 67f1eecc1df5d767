"""`python -m agentstate_reducer explain FILE`: what would leave a list of messages, and why."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ._config import ReducerConfig
from ._messages import ROLES, id_of, role_of
from ._parts import Parts
from ._reducer import MessageReducer

if TYPE_CHECKING:
    from ._plan import Plan

_DESCRIPTION = """\
Says for every message of FILE whether reduce() would take it out, and why. FILE is UTF-8 and
holds messages as JSON: a list, an object with a list under "messages", or one message a line;
"-" is the standard input. Without limits those of ReducerConfig() hold: 10 of 20 messages."""

_SHOWN_CHARACTERS = 60  # of a message, in a line of the table

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.4 system-ui, sans-serif }}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: left }}
th, td {{ vertical-align: top }}
td:first-child {{ text-align: right }}
td:last-child {{ overflow-wrap: anywhere; white-space: pre-wrap }}
tr.leaves {{ background: #d9534f26 }}
</style>
<h1>{title}</h1>
<p>{result}</p>
<table>
<tr><th>#<th>role<th>verdict<th>reason<th>text
{rows}
</table>
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
        self.exit(2, f"{self.prog}: {line}\n")


class _FileError(Exception):
    """What is wrong with the file that is read or written, and where."""


def main(arguments: list[str] | None = None) -> int:
    """The command; returns 0, or ends with 2 and one line on standard error that says why."""
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    limits = {f.name: options[f.name] for f in fields(ReducerConfig) if f.name in options}
    try:
        reducer = MessageReducer(config=ReducerConfig(**limits))
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    form = {"json": _as_json, "html": _as_page}.get(options.get("form", ""), _as_table)
    try:
        messages = _read(options["file"])
        text = form(messages, reducer.plan(messages))
        _write(text, encoding="utf-8" if form is _as_page else None)
    except _FileError as error:
        parser.error(str(error))
    return 0


def _parser() -> _Parser:
    parser = _Parser("python -m agentstate_reducer")
    commands = parser.add_subparsers(required=True, metavar="explain")
    explain = commands.add_parser(
        "explain", help="what would leave, and why", description=_DESCRIPTION
    )
    explain.add_argument("file", metavar="FILE")
    form = explain.add_mutually_exclusive_group()
    for name, what in (("json", "JSON"), ("html", "a page of HTML")):
        form.add_argument(
            f"--{name}",
            dest="form",
            action="store_const",
            const=name,
            default=argparse.SUPPRESS,
            help=f"{what} instead of a table",
        )
    limits = explain.add_argument_group("limits, the fields of ReducerConfig")
    for field in fields(ReducerConfig):
        flag = "--" + field.name.replace("_", "-")
        kind = {"int": int, "int | None": int, "float | None": float}.get(str(field.type))
        if field.name in ("preserve_first", "cascade_tool_messages", "repair_tool_pairs"):
            switch = argparse.BooleanOptionalAction
            limits.add_argument(flag, action=switch, default=argparse.SUPPRESS)
        elif field.name == "start_on":
            limits.add_argument(flag, choices=["human"], default=argparse.SUPPRESS)
        elif kind is not None and field.name != "dedupe_window":
            limits.add_argument(flag, type=kind, metavar="N", default=argparse.SUPPRESS)
    return parser


def _read(name: str) -> list[dict[str, Any]]:
    """The messages of a file.

    Raises:
        _FileError: It cannot be read, or holds something else.
    """
    if name == "-" and sys.stdin is None:
        raise _FileError("the standard input is closed")
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise _FileError(f"{name}: cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _FileError(f"{name}:{line}: expected UTF-8") from error
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _read_lines(name, text, error)
    if isinstance(found, dict) and "messages" not in found and role_of(found) != "u":
        return [found]  # one line of messages
    messages = found.get("messages") if isinstance(found, dict) else found
    if not isinstance(messages, list):
        raise _FileError(
            f'{name}:1: expected a list of messages, or an object with one under "messages"'
        )
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            try:
                line = _line_of(text, index)
            except (ValueError, IndexError):  # the object names its messages twice
                line = 1
            raise _FileError(_not_a_message(name, line, message))
    return messages


def _read_lines(name: str, text: str, error: Exception) -> list[dict[str, Any]]:
    """The messages of a text that is no JSON as a whole, for the reason given."""
    messages: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as fault:
            if messages:
                reason = f"{name}:{number}: expected a message as JSON: {_reason(fault)}"
            else:
                reason = f"{name}:{getattr(error, 'lineno', 1)}: expected JSON: {_reason(error)}"
            raise _FileError(reason) from fault
        if not isinstance(message, dict):
            raise _FileError(_not_a_message(name, number, message))
        messages.append(message)
    if not messages:
        raise _FileError(f"{name}:1: expected messages as JSON, got nothing")
    return messages


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return getattr(error, "msg", str(error))


def _not_a_message(name: str, line: int, found: Any) -> str:
    return f"{name}:{line}: expected a message, an object with a role, got {type(found).__name__}"


def _line_of(text: str, index: int) -> int:
    """The line on which an element of the list of messages begins; the text is valid."""
    decode = json.JSONDecoder().raw_decode
    at = _next(text, 0)
    if text[at] == "{":
        key = None
        while key != "messages":
            if key is not None:
                _, at = decode(text, at)
            key, at = decode(text, _next(text, at + 1))
            at = _next(text, _next(text, at) + 1)
    for _ in range(index):
        _, at = decode(text, _next(text, at + 1))
        at = _next(text, at)
    return text.count("\n", 0, _next(text, at + 1)) + 1


def _next(text: str, at: int) -> int:
    """Where what is no white space goes on."""
    while text[at].isspace():
        at += 1
    return at


def _rows(messages: list[dict[str, Any]], plan: Plan) -> list[tuple[str, str, str, str, str]]:
    """Index, role, verdict, reason and text of each message."""
    return [
        (str(i), ROLES[role_of(m)], "leaves" if v.leaves else "stays", v.reason, _text_of(m))
        for i, (m, v) in enumerate(zip(messages, plan.verdicts, strict=True))
    ]


def _text_of(message: dict[str, Any]) -> str:
    """All that counts as text, names and arguments of calls included."""
    parts = Parts(message, role_of(message))
    media = [f"[{parts.media} media]"] if parts.media else []
    return " ".join(filter(None, [*parts.texts, *media]))


def _result(plan: Plan) -> str:
    result = f"{len(plan.pruned)} of {plan.size} messages leave"
    if plan.tokens_before is None:
        return result
    return f"{result}: {plan.tokens_before:,} tokens before, {plan.tokens_after:,} after"


def _as_table(messages: list[dict[str, Any]], plan: Plan) -> str:
    rows = [("#", "role", "verdict", "reason", "text"), *_rows(messages, plan)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = []
    for index, role, verdict, reason, words in rows:
        said = " ".join("".join(c if c.isprintable() else " " for c in words).split())
        cells = [index.rjust(widths[0]), role.ljust(widths[1]), verdict.ljust(widths[2])]
        cells += [reason.ljust(widths[3]), said[:_SHOWN_CHARACTERS]]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, "", _result(plan)])


def _as_json(messages: list[dict[str, Any]], plan: Plan) -> str:
    verdicts = [
        {
            "index": i,
            "id": id_of(message),
            "role": ROLES[role_of(message)],
            "leaves": verdict.leaves,
            "reason": verdict.reason,
        }
        for i, (message, verdict) in enumerate(zip(messages, plan.verdicts, strict=True))
    ]
    report = {
        "messages": plan.size,
        "leave": len(plan.pruned),
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "verdicts": verdicts,
    }
    return json.dumps(report, indent=2)


def _as_page(messages: list[dict[str, Any]], plan: Plan) -> str:
    rows = (
        f'<tr class="{row[2]}"><td>' + "<td>".join(map(escape, row))
        for row in _rows(messages, plan)
    )
    return _PAGE.format(
        title="What would leave", result=escape(_result(plan)), rows="\n".join(rows)
    )


def _write(text: str, encoding: str | None) -> None:
    """The text is on the standard output, in its encoding or in this one.

    Whoever reads it may close it early, as `head` does.

    Raises:
        _FileError: It cannot be written.
    """
    if sys.stdout is None:
        raise _FileError("the standard output is closed")
    data = f"{text}\n".encode(encoding or sys.stdout.encoding, "backslashreplace")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        # Python would try to write what is left when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise _FileError(f"the output cannot be written: {error.strerror}") from error
