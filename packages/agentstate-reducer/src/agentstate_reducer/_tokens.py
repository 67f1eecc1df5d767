"""Token counters and the memo of what texts cost."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import compress, repeat
from operator import index, is_, not_
from typing import TYPE_CHECKING, Any, Protocol

from ._drivers import name_of
from ._messages import role_of
from ._parts import Parts, texts_of_calls

if TYPE_CHECKING:
    from ._exchanges import Reading

MESSAGE_TOKENS = 4
"""Charged per message for its role and separators, as OpenAI documents for its chat format."""

MEDIA_TOKENS = 765
"""Charged per image, sound, video or file: what OpenAI documents for a 1024 x 1024 image in high
detail (85 + 4 tiles of 170). Anthropic's formula, width x height / 750, gives 1,398 for it."""

VOCABULARY_SECONDS = 5.0
"""How long the first count waits for tiktoken, which may download its vocabulary."""

MEMO_CHARACTERS = 16_000_000
"""Bound of the texts that the memo keeps alive, in characters over all reducers."""

# Wide characters, CJK and what lies above it, are about a token each. In UTF-8 those from U+2E80 on
# begin with this pair of bytes, those from U+3000 on with a byte that is none of these.
_WIDE_BELOW_U3000 = re.compile(b"\xe2[\xba-\xbf]")
_NOT_FROM_U3000 = bytes(range(0xE3))

_Encode = Callable[[str], list[int]]


class TokenCounter(Protocol):
    """Counts one message when called; `costs` counts those of a reading.

    `may_block` says whether the next count may run code of the user's, wait for the network, or
    take so long that an event loop should not wait for it.
    """

    def __call__(self, message: Any) -> int: ...

    def costs(self, reading: Reading) -> list[int]: ...

    def may_block(self) -> bool: ...


def resolve_token_counter(token_counter: Callable[[Any], int] | None = None) -> TokenCounter:
    """The counter to use: the given one, else tiktoken's cl100k_base, else a heuristic.

    Nothing is imported or downloaded before the first count. Where tiktoken is missing, or does
    not answer within 5 seconds, it is the heuristic for the rest of the process: per message
    `4 + n // 4 + w`, n characters below U+2E80 and w others.

    Built-in counters take names and arguments of tool calls into account, 765 tokens for each
    image, sound, video or file whatever its data, and special tokens as the text they are.
    """
    return BuiltIn() if token_counter is None else Custom(token_counter)


class Custom:
    """The caller's counter, whose answers are checked."""

    def __init__(self, count: Callable[[Any], int]) -> None:
        self._count, self._name = count, name_of(count)

    def __call__(self, message: Any) -> int:
        """The caller's count; `ValueError` names the counter when it raises or is no count."""
        try:
            tokens = self._count(message)
        except Exception as error:
            raise ValueError(f"token_counter {self._name} raised {error!r}") from error
        try:
            valid = tokens >= 0 and (isinstance(tokens, float) or index(tokens) >= 0)
        except Exception:
            valid = False
        if not valid or isinstance(tokens, bool) or tokens == float("inf"):
            raise ValueError(f"token_counter {self._name} returned {tokens!r}, not a count")
        return tokens

    def costs(self, reading: Reading) -> list[int]:
        """The count of each message."""
        return list(map(self, reading.messages))

    def may_block(self) -> bool:
        """The counter is the user's."""
        return True


class BuiltIn:
    """tiktoken when it is there, else the heuristic. Holds no state: the memo is the process's."""

    def __call__(self, message: Any) -> int:
        """The tokens of one message of any shape."""
        return _cost(Parts(message, role_of(message)))

    def costs(self, reading: Reading) -> list[int]:
        """The tokens of each message; those of a uniform list are counted at the speed of C."""
        if not reading.uniform:
            return list(map(_cost, map(Parts, reading.messages, reading.letters)))
        contents = reading.contents
        weights = _weights([c or "" for c in contents] if None in contents else contents)
        owners, texts = texts_of_calls(reading)
        for i, weight in zip(owners, _weights(texts), strict=True):
            weights[i] += weight
        return [(weight >> 2) + MESSAGE_TOKENS for weight in weights]

    def may_block(self) -> bool:
        """The first count looks for tiktoken, which takes its time for long texts afterwards."""
        return not vocabulary.settled or vocabulary.encode() is not None


def _cost(parts: Parts) -> int:
    quarters = sum(_weights(parts.texts)) >> 2
    return quarters + MESSAGE_TOKENS + parts.media * MEDIA_TOKENS


def _weights(texts: list[str]) -> list[int]:
    """What each text costs in quarters of a token, so that texts add up before they are rounded."""
    encode = vocabulary.encode()
    if encode is not None:
        return _memo.weights(texts, encode)
    lengths = list(map(len, texts))
    narrow = list(map(str.isascii, texts))
    if not all(narrow):
        for i in compress(range(len(texts)), map(not_, narrow)):
            lengths[i] += 3 * _wide(texts[i])
    return lengths


def _wide(text: str) -> int:
    """How many characters of a text lie at U+2E80 or above, at the speed of `bytes`."""
    encoded = text.encode("utf-8", "surrogatepass")
    beyond = len(encoded.translate(None, _NOT_FROM_U3000))
    return beyond + len(_WIDE_BELOW_U3000.findall(encoded))


class _Memo:
    """Weights by text, in two generations: the older one is forgotten when the younger fills.

    A text that is asked for again moves into the younger one.
    """

    def __init__(self, max_characters: int) -> None:
        self._half = max_characters // 2
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._characters = 0

    def weights(self, texts: list[str], encode: _Encode) -> list[int]:
        weights: list[Any] = list(map(self._young.get, texts))
        for i in compress(range(len(texts)), map(is_, weights, repeat(None))):
            weights[i] = self._learn(texts[i], encode)
        return weights

    def _learn(self, text: str, encode: _Encode) -> int:
        if text in self._young:  # it may stand twice in one list
            return self._young[text]
        weight = self._old.get(text)
        if weight is None:
            weight = len(encode(text)) << 2
        if len(text) > self._half:
            return weight
        self._young[text] = weight
        self._characters += len(text)
        if self._characters > self._half:
            self._old, self._young, self._characters = self._young, {}, 0
        return weight


class _Vocabulary:
    """tiktoken's encoding, looked for once per process."""

    def __init__(self) -> None:
        self.settled = False
        self._encode: _Encode | None = None
        self._lock = threading.Lock()

    def encode(self) -> _Encode | None:
        """The function that encodes a text; None for the heuristic. Waits at the first call."""
        # The lock is not waited for without end: a fork may have left it locked.
        if not self.settled and self._lock.acquire(timeout=VOCABULARY_SECONDS):
            try:
                if not self.settled:
                    self._encode = _load()
            finally:
                self._lock.release()
        self.settled = True
        return self._encode


def _load() -> _Encode | None:
    """Tiktoken's `encode_ordinary`, which takes special tokens as text; None after 5 seconds.

    A thread loads it, since a download without a network may hang and cannot be called off.
    """
    found: list[_Encode] = []

    def look() -> None:
        with suppress(Exception):  # not installed, no network, a damaged cache
            import tiktoken

            found.append(tiktoken.get_encoding("cl100k_base").encode_ordinary)

    thread = threading.Thread(target=look, name="agentstate-tiktoken", daemon=True)
    thread.start()
    thread.join(VOCABULARY_SECONDS)
    return found[0] if found else None


vocabulary = _Vocabulary()
_memo = _Memo(MEMO_CHARACTERS)
