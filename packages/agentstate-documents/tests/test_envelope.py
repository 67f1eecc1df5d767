"""Bodies: frames in, the same frames out, and nothing guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate_documents import StoredFormatUnknown, envelope

kinds = st.sampled_from(["msgpack", "null", "bytes+aes", "own:kind", "ü"]) | st.text(max_size=200)
frames = st.lists(st.tuples(kinds, st.binary(max_size=300)), max_size=8)


@given(frames)
def test_frames_come_back(typed):
    """Any types and bytes, in order."""
    assert envelope.unpack(envelope.pack(typed)) == typed


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 16_383, 16_384, 3_000_000])
def test_frames_of_any_length(size):
    """Lengths around the borders of their encoding come back."""
    typed = [("msgpack", b"\xa5" * size), ("x" * (size % 20_000), b"")]
    assert envelope.unpack(envelope.pack(typed)) == typed


def test_packing_is_never_much_larger():
    """What does not compress is stored as it is, with a byte more."""
    noise = bytes(range(256)) * 4
    packed = envelope.pack([("bytes", noise)])
    assert len(packed) <= len(noise) + 4


def test_the_dictionary_pays():
    """What LangGraph writes around a message costs little."""
    around = b"\x91\xc8\x02c\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage\x89\xa7content"
    around += b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0"
    assert len(envelope.pack([("msgpack", around)])) < 15


def test_what_is_unknown_is_said():
    """A codec or a type of a newer version is an error that names it."""
    with pytest.raises(StoredFormatUnknown, match="codec 7f"):
        envelope.unpack(b"\x7fdata")
    with pytest.raises(StoredFormatUnknown, match="value type 99"):
        envelope.unpack(b"\x00\x63\x00")
    with pytest.raises(StoredFormatUnknown, match="codec 02"):
        envelope.unpack(envelope.seal(("bytes+aes", b"x")))


def test_sealed_bytes_hold_one_frame():
    """`sealed_frame` finds what was sealed, and nothing in what was not."""
    assert envelope.sealed_frame(envelope.seal(("bytes+x", b"data"))) == ("bytes+x", b"data")
    assert envelope.sealed_frame(envelope.pack([("bytes", b"data")])) is None
