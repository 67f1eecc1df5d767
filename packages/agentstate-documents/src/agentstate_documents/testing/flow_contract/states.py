"""What is saved is what is loaded: any value, any size, any id, at the same time, for so long."""

from __future__ import annotations

import math
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from crewai.flow.async_feedback.types import PendingFeedbackContext

if TYPE_CHECKING:
    from collections.abc import Callable

    # Makes persistences; what those load is not None in most tests.
    Connect = Callable[..., Any]

VALUES: dict[str, Any] = {
    "none": None,
    "empty": ["", [], {}, (), set(), b""],
    "false": [False, 0, 0.0],
    "true": [True, 1, 1.0],
    "infinite": [math.inf, -math.inf],
    "large": 10**30,
    "precise": Decimal("0.1000000000000000000001"),
    "bytes": b"\xff\xfe\x00",
    "moment": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc),
    "day": [date(2026, 1, 2), time(3, 4, 5)],
    "span": timedelta(days=-1, microseconds=1),
    "id of something": uuid.UUID(int=7),
    "members": {("a", 1), ("b", 2)},
    "frozen": frozenset({1, 2}),
    "nested": [[[1], [2]], {"a": [[]]}],
    "by number": {1: "one", (2, 3): "pair"},
    "text": "a\x00b \ud83d 😀",
    "a.b": {"$uuid": "mine", "$": 1},
    "1st": {"$tuple": [1]},
}
"""Every kind of value that comes back as itself, and every name a database might want."""

IDS = [
    "a",
    "a/b",
    "a\\b",
    "a#b",
    "a?b",
    " ",
    "..",
    "_id",
    "é",
    "日本",
    "a\x00",
    "user",
    "user_2",
    "%2F",
]


def new_id() -> str:
    """An id no other test uses."""
    return uuid.uuid4().hex


def context_of(flow: str, **fields: Any) -> PendingFeedbackContext:
    """What a paused flow asks."""
    given = {"method_name": "review", "method_output": {"draft": [1]}, "message": "Good?"}
    return PendingFeedbackContext(flow_id=flow, flow_class="tests.Review", **{**given, **fields})


class StateContract:
    """The states themselves."""

    def test_values_come_back_as_they_were(self, connect: Connect) -> None:
        """Every listed type is the same in another process, int, float and bool apart."""
        flow = new_id()
        connect().save_state(flow, "m", {"id": flow, **VALUES})
        loaded = connect().load_state(flow)
        assert loaded == {"id": flow, **VALUES}
        assert [type(v) for v in loaded["false"]] == [bool, int, float]
        assert [type(v) for v in loaded["true"]] == [bool, int, float]
        assert [type(v) for v in loaded["empty"]] == [str, list, dict, tuple, set, bytes]

    def test_not_a_number_is_stored(self, connect: Connect) -> None:
        """NaN, which most databases refuse as a number, comes back."""
        flow = new_id()
        connect().save_state(flow, "m", {"id": flow, "v": math.nan})
        assert math.isnan(connect().load_state(flow)["v"])

    def test_no_key_of_the_user_is_ours(self, connect: Connect) -> None:
        """Names that the database or this layer uses are ordinary keys of a state."""
        flow = new_id()
        names = "ttl _ts _etag id flow_uuid _persistence_meta format state lists method p s b x"
        state = {**dict.fromkeys(names.split(), 1), "id": flow}
        connect().save_state(flow, "m", state)
        assert connect().load_state(flow) == state

    def test_an_unknown_flow_is_none(self, connect: Connect) -> None:
        """Nothing is loaded of a flow that was never saved, and that is no error."""
        persistence = connect()
        assert persistence.load_state(new_id()) is None
        assert persistence.load_pending_feedback(new_id()) is None
        persistence.clear_pending_feedback(new_id())
        persistence.delete(new_id())

    def test_any_id_is_a_flow_of_its_own(self, connect: Connect) -> None:
        """Ids with separators, beyond ASCII, long, or a prefix of others never meet."""
        persistence, salt = connect(), new_id()
        ids: list[Any] = [f"{salt}{i}" for i in IDS] + [f"{i}{salt}" for i in IDS]
        ids += [salt * 40, salt * 41, uuid.UUID(salt), uuid.UUID(salt).int]
        for n, flow in enumerate(ids):
            persistence.save_state(flow, "m", {"id": "x", "n": n})
        assert [persistence.load_state(flow)["n"] for flow in ids] == list(range(len(ids)))
        persistence.delete(ids[0])
        assert [persistence.load_state(flow) is None for flow in ids] == [True] + [False] * (
            len(ids) - 1
        )
        listed = {flow.flow_uuid for flow in persistence.list_flows()}
        assert {str(flow) for flow in ids[1:]} <= listed

    @pytest.mark.parametrize("flow", ["", None])
    def test_a_flow_needs_an_id(self, connect: Connect, flow: Any) -> None:
        """An empty or missing one is a mistake, and nothing is stored under its text."""
        persistence = connect()
        with pytest.raises(ValueError, match="flow_uuid"):
            persistence.save_state(flow, "m", {"id": flow})
        with pytest.raises(ValueError, match="flow_uuid"):
            persistence.load_state(flow)

    def test_what_is_no_state_is_refused(self, connect: Connect) -> None:
        """A list or None instead of a state is a mistake and stores nothing."""
        persistence, flow = connect(), new_id()
        for wrong in (None, [("id", flow)], "state"):
            with pytest.raises(TypeError, match="state_data"):
                persistence.save_state(flow, "m", wrong)
        assert persistence.load_state(flow) is None

    def test_a_state_of_any_size_is_stored(self, connect: Connect) -> None:
        """Three megabytes that do not compress come back, and so does what replaces them."""
        persistence, flow = connect(), new_id()
        large = b"".join(uuid.uuid5(uuid.NAMESPACE_OID, str(n)).bytes for n in range(190_000))
        for state in ({"id": flow, "v": large}, {"id": flow, "v": large[::-1]}, {"id": flow}):
            persistence.save_state(flow, "m", state)
            assert connect().load_state(flow) == state
        persistence.delete(flow)
        assert connect().load_state(flow) is None

    def test_names_of_arguments_are_contract(self, connect: Connect) -> None:
        """CrewAI calls by keyword, and later versions may say more."""
        persistence, flow = connect(), new_id()
        persistence.save_state(
            flow_uuid=flow, method_name="m", state_data={"id": flow}, flow_class="tests.Review"
        )
        persistence.save_pending_feedback(
            flow_uuid=flow, context=context_of(flow), state_data={"id": flow}
        )
        assert persistence.load_state(flow) == {"id": flow}

    def test_flows_at_once_do_not_disturb_each_other(self, connect: Connect) -> None:
        """Eight threads, each saving and loading a flow of its own from the first call on."""
        persistence = connect()

        def run(thread: int) -> list[int]:
            flow, seen = new_id(), []
            for n in range(12):
                persistence.save_state(flow, "m", {"id": flow, "n": n, "thread": thread})
                seen.append(persistence.load_state(flow)["n"])
            return seen

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(run, range(8))) == [list(range(12))] * 8

    def test_a_waiting_flow_is_found_by_another_process(self, connect: Connect) -> None:
        """State and question are stored in one step, and come back with every field."""
        flow = new_id()
        asked = context_of(
            flow, emit=["yes", "no"], default_outcome="no", metadata={"to": "ann"}, llm="none/none"
        )
        connect().save_pending_feedback(flow, asked, {"id": flow, "n": 1})
        state, context = connect().load_pending_feedback(flow)
        assert state == {"id": flow, "n": 1}
        assert context == asked
        assert connect().load_state(flow) == state

    def test_a_flow_waits_for_one_answer(self, connect: Connect) -> None:
        """A second question replaces the first, and clearing it leaves the state."""
        persistence, flow = connect(), new_id()
        for n in (1, 2):
            persistence.save_pending_feedback(
                flow, context_of(flow, message=f"{n}?"), {"id": flow, "n": n}
            )
        assert connect().load_pending_feedback(flow)[1].message == "2?"
        persistence.save_state(flow, "later", {"id": flow, "n": 3})
        assert connect().load_pending_feedback(flow)[0]["n"] == 2
        persistence.clear_pending_feedback(flow)
        assert connect().load_pending_feedback(flow) is None
        assert connect().load_state(flow)["n"] == 3

    def test_flows_are_listed_and_deleted(self, connect: Connect) -> None:
        """A listing shows each flow once, with its last method; a deleted one is gone, whole."""
        persistence, one, two = connect(), new_id(), new_id()
        persistence.save_state(one, "first", {"id": one})
        persistence.save_state(one, "second", {"id": one})
        persistence.save_pending_feedback(two, context_of(two), {"id": two})
        listed = {f.flow_uuid: (f.method_name, f.waiting) for f in connect().list_flows()}
        assert listed[one] == ("second", False)
        assert listed[two] == ("review", True)
        persistence.delete(two)
        assert two not in {f.flow_uuid for f in connect().list_flows()}
        assert connect().load_pending_feedback(two) is None
        assert connect().load_state(one) == {"id": one}

    def test_what_expired_is_not_there(
        self, connect: Connect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After `ttl_seconds` nothing shows the flow, though the database still has it."""
        persistence, flow = connect(ttl_seconds=60), new_id()
        persistence.save_pending_feedback(flow, context_of(flow), {"id": flow})
        assert persistence.load_state(flow) == {"id": flow}
        now = datetime.now(timezone.utc).timestamp()
        monkeypatch.setattr("agentstate_documents.flows.time", lambda: now + 62)
        for reader in (persistence, connect()):
            assert reader.load_state(flow) is None
            assert reader.load_pending_feedback(flow) is None
            assert flow not in {f.flow_uuid for f in reader.list_flows()}

    @pytest.mark.parametrize("ttl", [0, -1, math.inf, math.nan, True, "60"])
    def test_a_ttl_that_makes_no_sense_is_refused(self, connect: Connect, ttl: Any) -> None:
        """A time to live is a number of seconds above 0."""
        with pytest.raises((ValueError, TypeError), match="ttl_seconds"):
            connect(ttl_seconds=ttl)

    def test_a_closed_persistence_can_be_used_again(self, connect: Connect) -> None:
        """Closing lets go of connections and nothing else."""
        persistence, flow = connect(), new_id()
        persistence.close()
        persistence.setup()
        persistence.save_state(flow, "m", {"id": flow})
        persistence.close()
        persistence.close()
        assert persistence.load_state(flow) == {"id": flow}
