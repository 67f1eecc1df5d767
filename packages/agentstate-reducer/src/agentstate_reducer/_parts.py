"""What of a message a model is charged for: its texts, and how many media."""

from __future__ import annotations

from itertools import chain, compress, repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from ._exchanges import mask
from ._messages import ASKING_BLOCKS, MAX_DEPTH, elements, field, legacy_call, text, unwrap

if TYPE_CHECKING:
    from ._exchanges import Reading

# fmt: off
# Blocks that are an image, a sound, a video or a file.
_MEDIA_KINDS = frozenset(
    (
        "image", "image_url", "image_file", "input_image", "image_generation_call",
        "computer_screenshot", "audio", "audio_url", "input_audio", "video", "video_url",
        "input_video", "media", "file", "file_url", "input_file", "document", "document_url",
        "container_upload",
    )
)
# Fields that hold its data or where it is, in a block of whatever kind.
_DATA_FIELDS = frozenset(("data", "bytes", "base64", "b64_json", "blob", "file_data"))
_MEDIA_FIELDS = frozenset(
    (
        "image", "image_url", "audio", "audio_url", "input_audio", "video", "video_url",
        "document", "file", "file_url", "inline_data", "inlineData", "fileData",
    )
)
# Names, marks and signatures: not words.
_NOT_CHARGED = frozenset(
    (
        "type", "id", "index", "role", "status", "call_id", "tool_call_id", "tool_use_id",
        "toolUseId", "signature", "extras", "cache_control", "encrypted_content",
        "annotations", "citations", "metadata",
    )
)
# fmt: on
_ELSEWHERE = ("invalid_tool_calls", "additional_kwargs", "function_call")
_AI = mask("a")
_CALL_FIELDS = ("arguments", "args", "input")


class Parts:
    """The texts and the number of media of one message; nothing is copied but call arguments."""

    __slots__ = ("_path", "media", "texts")

    def __init__(self, message: Any, letter: str) -> None:
        self.texts: list[str] = []
        self.media = 0
        self._path: list[int] = []  # the containers that are being looked into
        content = field(message, "content")
        if content is None and _is_item(message, letter):
            self._block(message)
            return
        self._any(content)
        if letter == "a":
            self.texts += _call_texts(message, content)

    def _any(self, value: Any) -> None:
        kind = type(value)
        if issubclass(kind, str):
            self.texts.append(str.__str__(value))
        elif issubclass(kind, (int, float)):
            self.texts.append(_written(value))
        elif issubclass(kind, (bytes, bytearray, memoryview)):
            self.media += 1
        elif value is not None and len(self._path) < MAX_DEPTH and id(value) not in self._path:
            self._path.append(id(value))
            if issubclass(kind, (list, tuple)):
                for element in elements(value):
                    self._any(element)
            else:
                self._block(value)
            self._path.pop()

    def _block(self, block: Any) -> None:
        kind, body = unwrap(block)
        plain = _plain_text(kind, block)
        if plain is not None:
            self.texts.append(plain)
        elif kind in _MEDIA_KINDS:
            self.media += 1
        elif any(field(body, name) is not None for name in _CALL_FIELDS):
            self.texts += _call(body)
            self._any(field(body, "output"))
        else:
            for name, value in _fields(body):
                self._field(name, value)

    def _field(self, name: Any, value: Any) -> None:
        if _is_media(name, value):
            self.media += 1
        elif name not in _NOT_CHARGED:
            self._any(value)


def _call_texts(message: Any, content: Any = None) -> list[str]:
    """Names and arguments of the calls that a message holds beside its content.

    A call that a block of the content names as well is left to the block.
    """
    named: set[str | None] = set()
    for kind, body in map(unwrap, elements(content)):
        if kind in ASKING_BLOCKS:
            named.update(text(field(body, name)) for name in ASKING_BLOCKS[kind])
    named.discard(None)
    texts: list[str] = []
    beside = elements(field(message, "tool_calls")) + elements(field(message, "invalid_tool_calls"))
    for call in beside:
        if text(field(call, "id")) not in named:
            texts += _call(call)
    if not beside and not named and (legacy := legacy_call(message)) is not None:
        texts = _call(legacy)
    return texts


def texts_of_calls(reading: Reading) -> tuple[list[int], list[str]]:
    """(indices, texts): the texts that a uniform reading's calls hold, and whose each one is."""
    speaks = reading.letters.encode().translate(_AI)
    ai = list(compress(reading.messages, speaks))
    try:
        calls = _only_calls(ai)
        texts = _names_and_arguments(list(chain.from_iterable(calls)))
    except Exception:  # calls of another form: they are looked into one by one
        held = list(map(_call_texts, ai))
        return _owners(speaks, held), list(chain.from_iterable(held))
    return _owners(speaks, calls) * 2, texts


def _owners(speaks: bytes, held: list[Any]) -> list[int]:
    """The index of the ai message that holds each thing, as often as it holds things."""
    if not any(held):
        return []
    at = compress(range(len(speaks)), speaks)
    return list(chain.from_iterable(map(repeat, at, map(len, held))))


def _only_calls(ai: list[Any]) -> list[Any]:
    """The `tool_calls` of each message; raises when calls stand elsewhere as well."""
    if {dict}.issuperset(map(type, ai)):
        present = set().union(*ai)
        places = [list(map(dict.get, ai, repeat(name))) for name in _ELSEWHERE if name in present]
        made = list(map(dict.get, ai, repeat("tool_calls"))) if "tool_calls" in present else []
    else:
        places = [list(map(attrgetter(name), ai)) for name in _ELSEWHERE[:2]]
        made = list(map(attrgetter("tool_calls"), ai))
    if any(map(_holds_call, filter(None, chain.from_iterable(places)))):
        raise TypeError("calls beside tool_calls")
    return [calls or () for calls in made] if any(made) else []


def _holds_call(value: Any) -> bool:
    """Whether what stands elsewhere is a call; `additional_kwargs` hold other things as well."""
    return not isinstance(value, dict) or "function_call" in value or "name" in value


def _names_and_arguments(calls: list[Any]) -> list[str]:
    """The names of calls of one common form, and then their arguments; raises for another form."""
    form = "args"
    if calls and "function" in calls[0]:
        calls, form = list(map(itemgetter("function"), calls)), "arguments"
    names, arguments = (list(map(itemgetter(key), calls)) for key in ("name", form))
    if not {str}.issuperset(map(type, names)) or None in arguments:
        raise TypeError("a call of another form")
    return names + [a if type(a) is str else _written(a) for a in arguments]


def _call(call: Any) -> list[str]:
    name, arguments = name_and_arguments(call)
    arguments = "" if arguments is None else arguments
    return [name or "", arguments if type(arguments) is str else _written(arguments)]


def name_and_arguments(call: Any) -> tuple[str | None, Any]:
    """What a call names and hands over, if anything; OpenAI wraps both by the call's kind."""
    wrapped = (field(call, kind) for kind in ("function", "custom"))
    body = next((body for body in wrapped if body is not None), call)
    arguments = (field(body, name) for name in _CALL_FIELDS)
    return text(field(body, "name")), next((a for a in arguments if a is not None), None)


def _written(value: Any) -> str:
    """A value as text: as long as its JSON but for escapes, in a third of the time."""
    try:
        return repr(value)
    except Exception:  # it cannot be shown, or goes deeper or is longer than Python writes
        return ""


def _is_item(message: Any, letter: str) -> bool:
    """Whether the message is its own block: a Responses item, or of a shape nobody knows."""
    if letter in "ur":
        return True
    kind = text(field(message, "type")) or ""
    return kind.endswith(("_call", "_output")) and not text(field(message, "role"))


def _is_media(name: Any, value: Any) -> bool:
    """Whether a field of a block of unknown kind holds an image, a sound, a video or a file."""
    if type(value) is str:
        data_url = value.startswith("data:") and ";base64," in value[:200]
        return data_url or name in _DATA_FIELDS or name in _MEDIA_FIELDS
    return type(value) is dict and name in _MEDIA_FIELDS


def _plain_text(kind: str | None, block: Any) -> str | None:
    """The text of a text block, a plain text document included."""
    if kind not in _MEDIA_KINDS:
        return text(field(block, "text"))
    if text(field(block, "source_type")) == "text":
        return text(field(block, "text"))
    source = field(block, "source")
    return text(field(source, "data")) if text(field(source, "type")) == "text" else None


def _fields(block: Any) -> list[tuple[Any, Any]]:
    try:
        return list((block if issubclass(type(block), dict) else vars(block)).items())
    except Exception:  # an object without fields, or one that raises
        return []
