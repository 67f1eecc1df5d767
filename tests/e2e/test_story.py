"""Two users talk, the process restarts in the middle of a turn, and nothing is lost or doubled."""

from __future__ import annotations

from typing import Any

USERS = ("ada", "bob")
TURNS = 8


async def test_what_left_the_conversation_is_in_memory_once_under_its_user(app: Any) -> None:
    """Each message is stored or remembered, and what a process hands over it hands over once."""
    for turn in range(TURNS):
        for user in USERS:
            careful = turn % 2 == 0
            waits = await app.say(user, f"{user} asks {turn}" + careful * ", ask me first")
            assert waits == careful
            if turn == TURNS // 2:
                await app.restart()
            if waits:
                await app.consent(user)
            said, stored = list(app.said[user]), list(await app.stored(user))
            end = said[-len(stored) :]
            assert stored in ([said[0], *end[1:]], end)
            assert max(app.handed.values(), default=1) == 1
    for user in USERS:
        said, stored, remembered = app.said[user], await app.stored(user), app.remembered(user)
        assert len(said) == 4 * TURNS
        assert stored.keys() | remembered.keys() == said.keys()
        assert all(said[key] == text for key, text in {**stored, **remembered}.items())
        assert len(stored) <= 8
    assert app.namespaces() == {("memories", user) for user in USERS}
