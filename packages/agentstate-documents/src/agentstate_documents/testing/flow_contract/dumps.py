"""A persistence stands in dumps, checkpoints and declarations, and is made again from there."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from crewai.events.event_bus import crewai_event_bus
from crewai.flow.flow import Flow, start
from crewai.flow.persistence import persist
from crewai.flow.persistence.base import _persistence_registry
from crewai.flow.persistence.factory import (
    default_flow_persistence,
    set_flow_persistence_factory,
)
from crewai.state.checkpoint_config import CheckpointConfig
from pydantic import ValidationError

from agentstate_documents.flow_reduction import register_reducer
from agentstate_documents.testing.flow_contract.messages import (
    Deliveries,
    contents,
    reducing,
    talk,
)
from agentstate_documents.testing.flow_contract.runs import Quick, Talk
from agentstate_documents.testing.flow_contract.states import new_id

if TYPE_CHECKING:
    from pathlib import Path

    from agentstate_documents.testing.flow_contract.states import Connect


class DumpContract:
    """The persistence as a value."""

    def test_its_type_is_its_class(self, connect: Connect) -> None:
        """CrewAI looks a class up by name, so the type is the name, for derived classes too."""
        persistence = connect()
        cls = type(persistence)
        assert persistence.persistence_type == cls.__name__
        assert _persistence_registry[cls.__name__] is cls
        derived: Any = type("Derived", (cls,), {"__module__": __name__})
        again = derived.model_validate({**persistence.model_dump(), "persistence_type": "x"})
        assert again.persistence_type == "Derived"
        again.close()

    def test_a_dump_makes_an_equal_persistence(self, connect: Connect) -> None:
        """What a dump says, validated, finds the same flows with the same reducer."""
        deliveries, name, flow = Deliveries(), new_id(), new_id()
        register_reducer(name, reducing(deliveries))
        persistence = connect(reducer=name, messages_key=["messages", "m.*"], ttl_seconds=9_000)
        persistence.save_state(flow, "m", {"id": flow, "messages": []})
        dump = json.loads(json.dumps(persistence.model_dump(mode="json")))
        assert json.loads(persistence.model_dump_json()) == dump
        again: Any = _persistence_registry[dump["persistence_type"]].model_validate(dump)
        assert again.model_dump(mode="json") == dump
        again.save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        assert contents(persistence.load_state(flow)["messages"]) == ["t4", "t5"]
        assert deliveries.texts == ["t0", "t1", "t2", "t3"]
        again.close()

    def test_a_registered_object_is_dumped_by_its_name(self, connect: Connect) -> None:
        """A reducer given as an object is dumped under the name it has, or has got since."""
        name, reducer = new_id(), reducing()
        earlier = connect(reducer=reducer)
        register_reducer(name, reducer)
        for persistence in (earlier, connect(reducer=reducer)):
            assert persistence.model_dump()["reducer"] == name
            assert json.loads(persistence.model_dump_json())["reducer"] == name

    def test_a_name_is_looked_up_at_the_first_call(self, connect: Connect) -> None:
        """The order of imports does not matter; a name nobody registered is named."""
        name, flow = new_id(), new_id()
        persistence = connect(reducer=name)
        state = {"id": flow, "messages": talk(0, 6)}
        with pytest.raises(ValueError, match=name):
            persistence.save_state(flow, "m", state)
        assert persistence.load_state(flow) is None
        register_reducer(name, reducing())
        persistence.save_state(flow, "m", state)
        assert contents(persistence.load_state(flow)["messages"]) == ["t4", "t5"]

    def test_what_a_dump_cannot_hold_is_told_once(
        self, connect: Connect, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A reducer or a function without a name is missed, with a warning and not silently."""
        persistence = connect(reducer=reducing(), namespace=lambda state, flow: "/a")
        with caplog.at_level(logging.WARNING):
            dumps = [persistence.model_dump(mode="json") for _ in range(2)]
        assert [(dump["reducer"], dump["namespace"]) for dump in dumps] == [(None, None)] * 2
        assert [r.getMessage().split(" has no ")[1][:8] for r in caplog.records] == [
            "reducer,",
            "namespac",
        ]

    def test_copies_share_everything(self, connect: Connect) -> None:
        """A copy, also a deep one inside a flow that is copied, is the same persistence."""
        deliveries, flow = Deliveries(), new_id()
        persistence = connect(reducer=reducing(deliveries))
        copies = [
            copy.copy(persistence),
            copy.deepcopy({"flow": [persistence]})["flow"][0],
            persistence.model_copy(),
            persistence.model_copy(deep=True),
        ]
        for made in copies:
            made.save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
            assert contents(persistence.load_state(flow)["messages"]) == ["t4", "t5"]
        assert deliveries.texts == ["t0", "t1", "t2", "t3"]

    def test_a_pickle_is_a_dump(self, connect: Connect) -> None:
        """A pickled persistence works in the process that reads it."""
        name, flow = new_id(), new_id()
        register_reducer(name, reducing())
        persistence = connect(reducer=name)
        persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        again = pickle.loads(pickle.dumps(persistence))  # noqa: S301
        assert contents(again.load_state(flow)["messages"]) == ["t4", "t5"]
        again.close()

    def test_an_unknown_option_is_refused(self, connect: Connect) -> None:
        """A misspelt option is a mistake, not something to ignore."""
        with pytest.raises(ValidationError, match="tabel"):
            connect(tabel="x")

    def test_an_error_shows_no_value(self, connect: Connect) -> None:
        """An option nobody knows, or of the wrong kind, may have been meant for a secret."""
        for options in ({"password": "s3cr3t"}, {"namespace": {"s3cr3t": 1}}):
            with pytest.raises(ValidationError, match=next(iter(options))) as refused:
                connect(**options)
            assert "s3cr3t" not in repr(refused.value)

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"messages_key": ""}, "messages_key"),
            ({"messages_key": [1]}, "messages_key"),
            ({"reducer": object()}, "reducer"),
            ({"reducer": ""}, "reducer"),
            ({"namespace": object()}, "namespace"),
        ],
    )
    def test_misuse_is_told_at_once(
        self, connect: Connect, options: dict[str, Any], named: str
    ) -> None:
        """Options of the wrong kind are refused where they are given, by name."""
        with pytest.raises((ValueError, TypeError), match=named):
            connect(**{"reducer": reducing(), **options})

    def test_it_can_be_the_default(self, connect: Connect) -> None:
        """Flows that name no persistence use the one installed, until another one is."""
        persistence = connect()
        persistence.install_as_default()
        try:
            assert default_flow_persistence() is persistence
        finally:
            set_flow_persistence_factory(None)

    def test_a_declared_flow_finds_its_persistence(self, connect: Connect) -> None:
        """A declaration names class and fields, as a dump does."""
        name, flow_id = new_id(), new_id()
        register_reducer(name, reducing())
        declared = {
            "name": "Declared",
            "state": {"type": "dict", "default": {"messages": talk(0, 6)}},
            "persist": {
                "enabled": True,
                "persistence": connect(reducer=name).model_dump(mode="json"),
            },
            "methods": {
                "step": {"start": True, "do": {"call": "expression", "expr": "'done'"}},
            },
        }

        class Declared(Quick, Flow[Any]):
            pass

        flow: Any = Declared.from_declaration(contents=declared, suppress_flow_events=True)
        flow.kickoff(inputs={"id": flow_id})
        assert contents(connect().load_state(flow_id)["messages"]) == ["t4", "t5"]

    def test_a_checkpoint_brings_the_persistence_back(
        self, connect: Connect, tmp_path: Path
    ) -> None:
        """A flow restored from a checkpoint of CrewAI's own saves where it saved before."""
        # A checkpoint holds every flow of its process, and other tests have left theirs.
        crewai_event_bus.reset_runtime_state()
        name = new_id()
        register_reducer(name, reducing())
        persistence = connect(reducer=name)

        @persist(persistence)
        class Checked(Quick, Flow[Talk]):
            @start()
            def work(self) -> None:
                self.state.say(6)

        flow = Checked(
            checkpoint=CheckpointConfig(location=str(tmp_path), on_events=["flow_finished"])
        )
        flow.kickoff()
        (path,) = tmp_path.rglob("*.json")
        assert persistence.persistence_type in path.read_text()
        again: Any = Flow.from_checkpoint(CheckpointConfig(restore_from=str(path)))
        again.persistence.save_state(flow.state.id, "later", {"id": flow.state.id, "n": 1})
        assert connect().load_state(flow.state.id) == {"id": flow.state.id, "n": 1}
