r"""Ids and namespaces as text every database takes for a key.

Rule: keys are composed and compared, never parsed for their meaning, except that `decode`
turns an encoded id back. `!` ends an encoded id and occurs in none, so an id that begins
like another sorts before it and is never mistaken for it.

Letters, digits and most punctuation stand for themselves. What databases forbid, `!` and
everything below `$` become `"` and two hex digits; `~` and everything beyond ASCII become
`~` and six. Apart from `/ \ ?`, encoded text sorts by code point like the text.
"""

from __future__ import annotations

import hashlib
import re

from agentstate_documents.model import MAX_KEY_LENGTH

END = "!"
AFTER_END = '"'
_FLOW = "flow" + END

# With two ends and the longest kind around a task (29 characters), at most MAX_KEY_LENGTH.
_MAX_NAMESPACE = 256
MAX_ID = 128
_MAX_TASK = 64

_SPECIAL = re.compile(r"[^$-.0-;A-\[\]-}=>@<]")
_ENCODED = re.compile(r'"([0-9a-f]{2})|~([0-9a-f]{6})')


def encode(text: str) -> str:
    """`text` in the characters of a key; `decode` gives it back."""
    return _SPECIAL.sub(_escape, text)


def decode(encoded: str) -> str:
    """The text `encode` was given."""
    return _ENCODED.sub(lambda found: chr(int(found[1] or found[2], 16)), encoded)


def encode_partition(name: str) -> str:
    """The partition of a thread; one too long to be a key is named by its digest."""
    encoded = encode(name)
    if encoded[0] in "._":  # names some databases keep for themselves
        encoded = f'"{ord(encoded[0]):02x}{encoded[1:]}'
    return encoded if len(encoded) <= MAX_KEY_LENGTH else _digest(name)


def encode_flow(name: str) -> str:
    """The partition of a flow, never that of a thread: `!` occurs in none of those."""
    partition = _FLOW + encode(name)
    return partition if len(partition) <= MAX_KEY_LENGTH else _FLOW + _digest(name)


def is_flow(partition: str) -> bool:
    """Whether the partition is one of `encode_flow`."""
    return partition.startswith(_FLOW)


def encode_namespace(namespace: str) -> str:
    """The start of every sort in this namespace; one too long is named by its digest."""
    encoded = encode(namespace)
    return encoded if len(encoded) <= _MAX_NAMESPACE else _digest(namespace)


def encode_task(task: str) -> str:
    """The part of a sort that tells tasks apart; never decoded."""
    encoded = encode(task)
    return encoded if len(encoded) <= _MAX_TASK else _digest(task)


def is_digest(encoded: str) -> bool:
    """Whether the text itself has to be looked up elsewhere."""
    return encoded.startswith('"h')


def _digest(text: str) -> str:
    # No escape begins like this: h is not a hex digit.
    return '"h' + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f'"{code:02x}' if code < ord("~") else f"~{code:06x}"
