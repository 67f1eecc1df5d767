"""Scripts: one list told from another."""

from hypothesis import given
from hypothesis import strategies as st

from agentstate_documents.lists import apply_script, plan_script

lists = st.lists(st.integers(0, 9), max_size=40)


@given(lists, lists)
def test_a_script_makes_the_list(old, new):
    """Whatever the two lists, applying the script to the old one is the new one."""
    planned = plan_script(old, new)
    if planned is not None:
        script, inserted = planned
        assert apply_script(script, old, [new[index] for index in inserted]) == new


def script(old, new):
    planned, inserted = plan_script(old, new)
    return planned, [new[index] for index in inserted]


def test_common_changes_are_short():
    """Growing, pruning, editing and clearing are a few numbers and what is new."""
    old = list(range(100))
    assert script(old, [*old, "new"]) == ([0, 100, 1], ["new"])
    assert script(old, [*old[90:], "new"]) == ([90, 10, 1], ["new"])
    assert script(old, [0, *old[90:]]) == ([0, 1, 0, 90, 10, 0], [])
    assert script(old, [*old[:50], "edited", *old[51:]]) == ([0, 50, 1, 51, 49, 0], ["edited"])
    assert script(old, [*old[:50], *old[51:]]) == ([0, 50, 0, 51, 49, 0], [])
    assert script(old, old) == ([0, 100, 0], [])
    assert script(old, []) == ([], [])
    assert script([], ["new"]) == ([0, 0, 1], ["new"])


def test_repeated_elements_are_found():
    """Elements that occur often neither hide a run nor cost more than a few looks."""
    old = [None] * 50 + list(range(50))
    assert script(old, [*range(50), None]) == ([50, 50, 0, 0, 1, 0], [])


def test_a_long_script_is_none():
    """A list that was shuffled is not told in hundreds of steps."""
    old = list(range(200))
    assert plan_script(old, old[::-1]) is None
