"""What leaves a message list is handed over once, under a key that outlives the process."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from agentstate_documents.testing.flow_contract.messages import (
    Deliveries,
    contents,
    reducing,
    talk,
)
from agentstate_documents.testing.flow_contract.states import context_of, new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentstate_documents.testing.flow_contract.states import Connect


class Crash(BaseException):
    """The process dies here."""


def crash(pruned: Any, namespace: Any) -> None:
    """A hook after which nothing happens any more."""
    raise Crash


class HistoryContract:
    """The whole history of a list, of which the stored part is the end."""

    def test_saves_that_overlap_hand_over_once(self, connect: Connect) -> None:
        """A live list that is saved again and again delivers each message that leaves once."""
        deliveries = Deliveries()
        persistence, flow = connect(reducer=reducing(deliveries)), new_id()
        for last in (6, 6, 6, 7, 9, 9):
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, last)})
        assert deliveries.texts == [f"t{n}" for n in range(7)]
        assert len(set(deliveries.keys)) == 7

    def test_equal_messages_are_different_messages(self, connect: Connect) -> None:
        """People repeat themselves: each repetition is handed over, also after a restart."""
        flow, same = new_id(), {"role": "user", "content": "yes"}
        deliveries = Deliveries()
        first = connect(reducer=reducing(deliveries))
        for count in (6, 6, 7):
            first.save_state(flow, "m", {"id": flow, "messages": [same] * count})
        assert len(deliveries.seen) == 5
        second = connect(reducer=reducing(deliveries))
        for expected in (9, 13):  # the first time it loads what another process stored
            live = second.load_state(flow)
            live["messages"] += [same] * 4
            second.save_state(flow, "m", live)
            second.save_state(flow, "m", live)
            assert len(set(deliveries.keys)) == len(deliveries.keys) == expected

    def test_a_restart_goes_on_where_the_history_stood(self, connect: Connect) -> None:
        """Over processes that load and go on, every message is handed over once."""
        flow, deliveries = new_id(), Deliveries()
        connect().save_state(flow, "m", {"id": flow, "messages": []})
        for start in range(0, 40, 5):
            persistence = connect(reducer=reducing(deliveries))
            state = persistence.load_state(flow)
            for n in range(start, start + 5):
                state["messages"] += talk(n, n + 1)
                persistence.save_state(flow, "m", state)
        assert deliveries.texts == [f"t{n}" for n in range(len(deliveries.texts))]
        assert len(set(deliveries.keys)) == len(deliveries.texts) >= 35

    def test_a_crash_before_the_write_repeats_under_the_same_keys(self, connect: Connect) -> None:
        """What was handed over and not stored comes again, and a key tells that it does."""
        flow, before, after = new_id(), Deliveries(), Deliveries()
        setup = connect(reducer=reducing())
        setup.save_state(flow, "m", {"id": flow, "messages": [{"role": "system", "content": "s"}]})
        setup.save_state(
            flow,
            "m",
            {"id": flow, "messages": [{"role": "system", "content": "s"}, *talk(0, 6)]},
        )
        for hooks, failing in (([before, crash], True), ([after], False)):
            process = connect(reducer=reducing(*hooks))
            state = process.load_state(flow)
            state["messages"] += talk(6, 9)
            if failing:
                with pytest.raises(Crash):
                    process.save_state(flow, "m", state)
            else:
                process.save_state(flow, "m", state)
        assert before.seen == after.seen
        assert before.texts == ["t4", "t5", "t6"]

    def test_looking_at_a_running_flow_changes_nothing(self, connect: Connect) -> None:
        """A load in the middle of a run does not make its messages new ones."""
        deliveries = Deliveries()
        persistence, flow = connect(reducer=reducing(deliveries)), new_id()
        for last in range(5, 12):
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, last)})
            persistence.load_state(flow)
        assert deliveries.texts == [f"t{n}" for n in range(len(deliveries.texts))]

    def test_a_state_brought_back_by_other_means_keeps_its_keys(self, connect: Connect) -> None:
        """A process that saves the whole history without loading numbers it like the first."""
        flow, first, second = new_id(), Deliveries(), Deliveries()
        for deliveries, last in ((first, 8), (second, 8)):
            persistence = connect(reducer=reducing(deliveries))
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, last)})
        assert second.seen == first.seen

    def test_a_state_loaded_by_somebody_else_keeps_its_keys(self, connect: Connect) -> None:
        """It need not be the saving persistence that has loaded the state."""
        flow, loading, not_loading = new_id(), Deliveries(), Deliveries()
        connect(reducer=reducing()).save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        first = connect(reducer=reducing(loading, crash))
        state = first.load_state(flow)
        state["messages"] += talk(6, 9)
        with pytest.raises(Crash):
            first.save_state(flow, "m", state)
        connect(reducer=reducing(not_loading)).save_state(flow, "m", state)
        assert not_loading.seen == loading.seen
        assert loading.texts == ["t4", "t5", "t6"]

    @pytest.mark.parametrize("asked", ["load_pending_feedback", "clear_pending_feedback"])
    def test_asking_for_a_question_first_changes_no_key(self, connect: Connect, asked: str) -> None:
        """A process that first looks whether a flow waits numbers its messages as others do."""
        flow, other, deliveries = new_id(), Deliveries(), Deliveries()
        connect(reducer=reducing()).save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        state = connect().load_state(flow)
        state["messages"] += talk(6, 9)
        with pytest.raises(Crash):
            connect(reducer=reducing(other, crash)).save_state(flow, "m", state)
        persistence = connect(reducer=reducing(deliveries))
        getattr(persistence, asked)(flow)
        persistence.save_state(flow, "m", state)
        assert deliveries.seen == other.seen
        assert deliveries.texts == ["t4", "t5", "t6"]

    def test_a_deleted_flow_starts_anew(self, connect: Connect) -> None:
        """A new flow under an old id is bounded and complete."""
        deliveries = Deliveries()
        persistence, flow = connect(reducer=reducing(deliveries)), new_id()
        persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, 8)})
        persistence.delete(flow)
        persistence.save_state(flow, "m", {"id": flow, "messages": talk(20, 28)})
        assert deliveries.texts == [f"t{n}" for n in (*range(6), *range(20, 26))]

    def test_a_deleted_flow_may_begin_with_the_same_words(self, connect: Connect) -> None:
        """It is another conversation: what leaves it is handed over, under keys of its own."""
        deliveries = Deliveries()
        persistence, flow = connect(reducer=reducing(deliveries)), new_id()
        for _ in range(3):
            for last in (6, 8):
                persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, last)})
            persistence.delete(flow)
        assert deliveries.texts == [f"t{n}" for n in range(6)] * 3
        assert len(set(deliveries.keys)) == 18

    @pytest.mark.parametrize("words", [lambda n: f"t{n}", lambda n: "yes"])
    @pytest.mark.parametrize("lasting", [True, False])
    def test_several_persistences_save_one_running_flow(
        self,
        connect: Connect,
        backend: Callable[..., Any],
        words: Callable[[int], str],
        lasting: bool,
    ) -> None:
        """One of the class and one of a method, made once or for each run, hand over once."""
        deliveries, flow, said = Deliveries(), new_id(), 0
        reducer = reducing(deliveries)
        of_class = connect(reducer=reducer)
        of_class.save_state(flow, "m", {"id": flow, "messages": []})
        of_method = backend(reducer=reducer)
        for _ in range(4):
            live = of_class.load_state(flow)
            for persistence in (of_class, of_method, of_class, of_class, of_method, of_class):
                live["messages"].append({"role": "user", "content": words(said)})
                persistence.save_state(flow, "m", live)
                said += 1
            if not lasting:
                of_class.close()
                of_method.close()
                of_class, of_method = backend(reducer=reducer), backend(reducer=reducer)
        left = said - len(of_class.load_state(flow)["messages"])
        assert deliveries.texts == [words(n) for n in range(left)]
        assert len(set(deliveries.keys)) == left
        of_class.close()
        of_method.close()

    def test_flows_do_not_share_what_was_delivered(self, connect: Connect) -> None:
        """The same ids and texts in two flows reach the memories of both users."""
        deliveries = Deliveries()
        persistence = connect(reducer=reducing(deliveries))
        for user in ("ann", "bob"):
            messages = [{**m, "id": f"m{n}"} for n, m in enumerate(talk(0, 6))]
            persistence.save_state(
                flow := new_id(),
                "m",
                {"id": flow, "messages": messages, "memory_namespace": f"/user/{user}"},
            )
        assert Counter(namespace for namespace, _, _ in deliveries.seen) == {
            "/user/ann": 4,
            "/user/bob": 4,
        }
        assert deliveries.keys[:4] == ["m0", "m1", "m2", "m3"]

    def test_the_newest_state_is_stored_last(self, connect: Connect) -> None:
        """Of two saves at once, the one that copied the state later is what stays."""
        flow, inside, go_on = new_id(), threading.Event(), threading.Event()

        def slow(pruned: Any, namespace: Any) -> None:
            inside.set()
            go_on.wait(30)

        persistence = connect(reducer=reducing(slow))
        state: dict[str, Any] = {"id": flow, "messages": talk(0, 6), "done": ["one"]}
        older = threading.Thread(target=persistence.save_state, args=(flow, "m", state))
        older.start()
        assert inside.wait(30)
        state["done"].append("two")
        newer = threading.Thread(target=persistence.save_state, args=(flow, "m", state))
        newer.start()
        newer.join(0.2)  # the chance to overtake, which it must not use
        go_on.set()
        older.join()
        newer.join()
        assert persistence.load_state(flow)["done"] == ["one", "two"]

    def test_a_waiting_state_is_reduced_too(self, connect: Connect) -> None:
        """Pausing hands over once, together with the saves around it."""
        deliveries, flow = Deliveries(), new_id()
        persistence = connect(reducer=reducing(deliveries))
        state = {"id": flow, "messages": talk(0, 6)}
        persistence.save_state(flow, "m", state)
        persistence.save_pending_feedback(flow, context_of(flow), state)
        resumed = connect(reducer=reducing(deliveries))
        live, _ = resumed.load_pending_feedback(flow)
        assert contents(live["messages"]) == ["t4", "t5"]
        live["messages"] += talk(6, 10)
        resumed.save_state(flow, "m", live)
        assert deliveries.texts == [f"t{n}" for n in range(8)]
