"""`python -m agentstate_reducer explain`: what would leave a file's messages, and why."""

from __future__ import annotations

import io
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from agentstate_reducer import MessageReducer, ReducerConfig

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"up": "x"}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"id": "q", "role": "user", "content": "<b>What</b>\nis\tx?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"},
    {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "http://x/"}}]},
    {"role": "user", "content": "thanks \ud83d"},
]
LIMITS = ["--min-messages", "2", "--max-messages", "4"]


def run(*arguments: str) -> object:
    """The exit code of `python -m agentstate_reducer`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["agentstate_reducer", *arguments])
        with pytest.raises(SystemExit) as end:
            runpy.run_module("agentstate_reducer", run_name="__main__", alter_sys=True)
    return end.value.code


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints when all is well."""
    assert run("explain", *arguments) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line it says when something is wrong."""
    assert run(*arguments) == 2
    out, line = capsys.readouterr()
    assert out == ""
    assert line.count("\n") == 1
    return line.rstrip("\n").removeprefix("python -m agentstate_reducer").lstrip(": ")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the messages are."""
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(MESSAGES, indent=1))
    return path


def test_the_table_says_what_leaves_and_why(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each message, its text on one line, and how many leave."""
    assert explain(capsys, str(file), *LIMITS).splitlines() == [
        "#  role    verdict  reason          text",
        "0  system  stays    first message   Be brief.",
        "1  human   leaves   in the window   <b>What</b> is x?",
        '2  ai      leaves   in the window   look {"up": "x"}',
        "3  tool    leaves   with its call   42",
        "4  ai      stays    in the tail     [1 media]",
        "5  human   stays    newest message  thanks",
        "",
        "3 of 6 messages leave",
    ]


def test_the_limits_are_those_of_the_configuration(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without any 10 of 20 messages stay; each is given under the name of its field."""
    assert "0 of 6 messages leave" in explain(capsys, str(file))
    given = "--context-window=60 --max-token-ratio=0.5 --target-tokens=20 --start-on=human"
    given += " --no-preserve-first --repair-tool-pairs --cascade-tool-messages"
    config = ReducerConfig(
        context_window=60,
        max_token_ratio=0.5,
        target_tokens=20,
        start_on="human",
        preserve_first=False,
        repair_tool_pairs=True,
    )
    plan = MessageReducer(config=config).plan(MESSAGES)
    report = json.loads(explain(capsys, str(file), "--json", *given.split()))
    assert [verdict["leaves"] for verdict in report["verdicts"]] == [
        verdict.leaves for verdict in plan.verdicts
    ]
    assert (report["tokens_before"], report["tokens_after"]) == (
        plan.tokens_before,
        plan.tokens_after,
    )
    table = explain(capsys, str(file), *given.split())
    assert f"{plan.tokens_before:,} tokens before, {plan.tokens_after:,} after" in table


def test_json_holds_the_verdicts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers for the whole, and for each message its index, id, role, verdict and reason."""
    report = json.loads(explain(capsys, str(file), "--json", *LIMITS))
    verdicts = report.pop("verdicts")
    assert report == {"messages": 6, "leave": 3, "tokens_before": None, "tokens_after": None}
    assert verdicts[1] == {
        "index": 1,
        "id": "q",
        "role": "human",
        "leaves": True,
        "reason": "in the window",
    }


def test_the_page_shows_messages_as_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No message becomes HTML."""
    page = explain(capsys, str(file), "--html", *LIMITS)
    assert page.startswith("<!doctype html>")
    assert "<td>&lt;b&gt;What&lt;/b&gt;\nis\tx?" in page
    assert page.count('<tr class="leaves">') == 3
    assert "\\ud83d" in page  # half an emoji, which UTF-8 cannot hold


def test_the_page_is_written_in_the_encoding_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever that of the standard output is; the table goes by the latter."""
    (tmp_path / "x").write_text(json.dumps({"role": "user", "content": "h\u00e9 \u5b57"}))
    for form, said in (("--html", "h\u00e9 \u5b57".encode()), ("--max-tokens=9", b"h\xe9 \\u5b57")):
        data = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, encoding="latin-1"))
        assert run("explain", str(tmp_path / "x"), form) == 0
        assert said in data.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(MESSAGES[:2]),
        "\ufeff" + json.dumps({"thread": "t", "messages": MESSAGES[:2]}),
        "\n".join(map(json.dumps, MESSAGES[:2])) + "\n\n",
        json.dumps(MESSAGES[0]),
        "[]",
    ],
)
def test_the_forms_a_file_may_have(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A list, an object that holds one, a message a line, and nothing at all."""
    (tmp_path / "x").write_text(text, encoding="utf-8")
    count = text.count('"role"')
    assert f"0 of {count} messages leave" in explain(capsys, str(tmp_path / "x"))


def test_the_standard_input_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is a hyphen."""
    given = io.TextIOWrapper(io.BytesIO(json.dumps(MESSAGES).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    assert "0 of 6" in explain(capsys, "-")


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b'[{"role": "user"},\n 5]', "2: expected a message, an object with a role, got int"),
        (
            b'{"a": [1, {"b": 2}],\n "messages": [\n{}, "x"]}',
            "3: expected a message, an object with a role, got str",
        ),
        (
            b'{"messages": [], "messages": [{"role": "user"}, 1]}',
            "1: expected a message, an object with a role",
        ),
        (b'{"role": "user"}\n\n[1]', "3: expected a message, an object with a role, got list"),
        (
            b'{"role": "user"}\n{"role"',
            "2: expected a message as JSON: Expecting ':' delimiter",
        ),
        (b'[\n{"role": "user"}', "2: expected JSON: Expecting ',' delimiter"),
        (b"7", '1: expected a list of messages, or an object with one under "messages"'),
        (b'{"messages": 1}', '1: expected a list of messages, or an object with one under "mess'),
        (b"\n \n", "1: expected messages as JSON, got nothing"),
        (b"[\n\xff]", "2: expected UTF-8"),
        (b"[" * 100_000, "1: expected JSON: it is nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "1: expected JSON: Exceeds the limit"),
    ],
)
def test_a_wrong_file_is_named_with_the_line(
    data: bytes, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line: file, line, what was expected."""
    (tmp_path / "x").write_bytes(data)
    said = refused(capsys, "explain", str(tmp_path / "x"))
    assert said.startswith(f"{tmp_path / 'x'}:{wrong}")


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["explain", "/nowhere/at all"], "/nowhere/at all: cannot be read: No such file"),
        (["explain", "/nowhere/at\nall"], "/nowhere/at\\nall: cannot be read: No such file"),
        (["explain", "-", "--max-messages", "4"], "min_messages=10 exceeds max_messages=4"),
        (
            ["explain", "-", "--context-window", "9" * 400, "--max-token-ratio", ".5"],
            "context_window is too large, got 999",
        ),
        (["explain", "-", "--max-tokens", "x"], "explain: argument --max-tokens: invalid int"),
        (["explain", "-", "--json", "--html"], "explain: argument --html: not allowed with"),
        (["explain"], "explain: the following arguments are required: FILE"),
        ([], "the following arguments are required: explain"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(
    arguments: list[str], wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a traceback nor the usage of every option."""
    assert refused(capsys, *arguments).startswith(wrong)


def test_whoever_reads_may_stop_early(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed pipe is the end, also for what is still to be written when Python ends."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert run("explain", str(file)) == 0


def test_a_standard_stream_that_is_closed_is_told(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no file to read from, or none to write to."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", None)
        assert refused(capsys, "explain", "-") == "the standard input is closed"
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert refused(capsys, "explain", str(file)) == "the standard output is closed"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device on this platform")
def test_a_disk_that_is_full_is_told(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and not again when Python ends."""
    with monkeypatch.context() as patch, open("/dev/full", "w") as full:
        patch.setattr(sys, "stdout", full)
        said = refused(capsys, "explain", str(file))
    assert said == "the output cannot be written: No space left on device"
