"""What google.firestore.admin.v1.FirestoreAdmin does with fields: exempt them, let them expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.cloud.firestore_admin_v1 import types
from google.longrunning.operations_pb2 import Operation

from servers.firestore.refusals import invalid, unimplemented

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servers.firestore.store import Database

Field: Any = types.Field.pb()


class FirestoreAdmin:
    """One method per RPC, named like it."""

    def __init__(self, databases: Mapping[str, Database]) -> None:
        self._databases = databases
        self._fields: dict[str, Any] = {}

    def GetField(self, request: Any) -> Any:  # noqa: N802
        """Answer what is set for a field; nothing is until then, and it is indexed as all are."""
        inherited = {"uses_ancestor_config": True}
        return self._fields.get(request.name, Field(name=request.name, index_config=inherited))

    def UpdateField(self, request: Any) -> Any:  # noqa: N802
        """Set that a field is not indexed, or that documents expire by it. Nothing is deleted."""
        name = request.field.name
        parts = name.split("/")
        if len(parts) != 8 or parts[4] != "collectionGroups" or parts[6] != "fields":
            raise invalid(f"{name!r} names no field.")
        field = Field(name=name)
        field.CopyFrom(self.GetField(request.field))
        for path in request.update_mask.paths:
            if path == "index_config" and not request.field.index_config.indexes:
                self._databases["/".join(parts[:4])].indexes.exempt(parts[5], parts[7])
                field.index_config.Clear()
                field.index_config.SetInParent()
            elif path == "ttl_config":
                self._check_only_expiry(name)
                field.ttl_config.state = Field.TtlConfig.State.ACTIVE
            else:
                raise unimplemented(f"this {path} of a field")
        self._fields[name] = field
        done = Operation(name=f"{'/'.join(parts[:4])}/operations/done", done=True)
        done.response.Pack(field)
        return done

    def _check_only_expiry(self, name: str) -> None:
        group = name.rpartition("/")[0]
        for other, field in self._fields.items():
            if other != name and other.startswith(f"{group}/") and field.HasField("ttl_config"):
                raise invalid(f"Documents expire by {other} already.")
