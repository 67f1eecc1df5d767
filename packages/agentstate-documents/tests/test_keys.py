"""Ids as keys: reversible, ordered, in the characters every database takes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate_documents import keys
from agentstate_documents.model import MAX_KEY_LENGTH

texts = st.text(st.characters(codec=None), max_size=60)
safe = re.compile(r"[!-~]*")


@given(texts)
def test_encoding_is_reversible(text):
    """`decode` gives back any text, broken surrogates included."""
    assert keys.decode(keys.encode(text)) == text


@given(texts)
def test_encoded_text_is_safe(text):
    """Printable ASCII without what databases forbid, and without the end mark."""
    encoded = keys.encode(text)
    assert safe.fullmatch(encoded)
    assert not set(encoded) & set("!/\\?# ")


@given(st.lists(st.text(st.characters(exclude_characters="/\\?"), max_size=5), max_size=8))
def test_encoded_text_sorts_like_text(values):
    """Ended by the end mark, encoded ids are in the order of the ids."""
    assert sorted(values, key=lambda v: keys.encode(v) + keys.END) == sorted(values)


@given(texts.filter(bool), texts.filter(bool))
def test_partitions_are_as_many_as_names(one, other):
    """Two names are two partitions."""
    assert (keys.encode_partition(one) == keys.encode_partition(other)) == (one == other)


@pytest.mark.parametrize("name", [".", "..", ".x", "_", "__x__", "a" * 9999, "é" * 200, "a b"])
def test_partitions_are_keys(name):
    """A partition is short enough, begins harmlessly, and is decoded if it is no digest."""
    partition = keys.encode_partition(name)
    assert safe.fullmatch(partition)
    assert len(partition) <= MAX_KEY_LENGTH
    assert partition[0] not in "._"
    assert keys.is_digest(partition) == (len(name) > 100)
    assert keys.is_digest(partition) or keys.decode(partition) == name


@given(texts.filter(bool), texts.filter(bool))
def test_no_flow_is_a_thread(one, other):
    """Flows have partitions of their own, one each, also those with long names."""
    for name in (one, one * 5000):
        flow = keys.encode_flow(name)
        assert keys.is_flow(flow)
        assert safe.fullmatch(flow)
        assert len(flow) <= MAX_KEY_LENGTH
        assert not keys.is_flow(keys.encode_partition(name))
        assert (flow == keys.encode_flow(other)) == (name == other)


def test_long_names_are_told_apart():
    """Names that differ at the end alone have different digests, in their own form."""
    long = "x" * 5000
    for encode in (keys.encode_partition, keys.encode_namespace, keys.encode_task):
        assert encode(long + "1") != encode(long + "2")
        assert keys.is_digest(encode(long))
        assert not keys.is_digest(encode('"h123'))


def test_the_longest_sort_is_a_key():
    """Namespace, checkpoint, task, kind and part together fit a sort."""
    longest = keys.END.join(
        [
            keys.encode_namespace("n" * 256),
            "c" * keys.MAX_ID,
            "w",
            keys.encode_task("t" * 64),
            "r",
            "p" + "0" * 16,
            "99999999",
        ]
    )
    assert len(longest) <= MAX_KEY_LENGTH
