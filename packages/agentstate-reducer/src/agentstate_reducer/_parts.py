"""What of a message a model is charged for: its texts, and how many media."""

from __future__ import annotations

from typing import Any

from ._messages import ASKING_BLOCKS, elements, field, legacy_call, text, unwrap

_MAX_DEPTH = 32  # of nested content that is looked into; no provider accepts half of it
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
# Fields that hold its data or address, in a block of whatever kind.
_MEDIA_FIELDS = frozenset(
    (
        "data", "bytes", "base64", "b64_json", "image", "image_url", "audio", "audio_url",
        "input_audio", "video", "video_url", "document", "file", "file_data", "file_url",
        "inline_data", "inlineData", "fileData",
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
            self.texts += call_texts(message, content)

    def _any(self, value: Any) -> None:
        kind = type(value)
        if issubclass(kind, str):
            self.texts.append(str.__str__(value))
        elif issubclass(kind, (int, float)):
            self.texts.append(repr(value) if kind in (int, float, bool) else "")
        elif issubclass(kind, (bytes, bytearray, memoryview)):
            self.media += 1
        elif value is not None and len(self._path) < _MAX_DEPTH and id(value) not in self._path:
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
        elif kind in ASKING_BLOCKS or any(field(body, name) is not None for name in _CALL_FIELDS):
            self.texts += _call(body)
            self._any(field(body, "output"))
        else:
            for name, value in _fields(body):
                self._field(name, value)

    def _field(self, name: Any, value: Any) -> None:
        if name in _MEDIA_FIELDS or (type(value) is str and value.startswith("data:")):
            self.media += value is not None
        elif name not in _NOT_CHARGED:
            self._any(value)


def call_texts(message: Any, content: Any = None) -> list[str]:
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
    return texts if beside or named else _call(legacy_call(message))


def _call(call: Any) -> list[str]:
    """The name and the arguments of a call; OpenAI's form wraps them in `function`."""
    function = field(call, "function")
    body = call if function is None else function
    texts = [text(field(body, "name")) or ""]
    arguments = next((v for n in _CALL_FIELDS if (v := field(body, n)) is not None), "")
    return [*texts, arguments if type(arguments) is str else _written(arguments)]


def _written(arguments: Any) -> str:
    """Arguments as text: as long as their JSON but for escapes, in a third of its time."""
    try:
        return repr(arguments)
    except Exception:  # an object that cannot be shown, or depth beyond Python's limit
        return ""


def _is_item(message: Any, letter: str) -> bool:
    """Whether the message is its own block: a Responses item, or of a shape nobody knows."""
    if letter in "ur":
        return True
    return not text(field(message, "role")) and "_call" in (text(field(message, "type")) or "")


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
