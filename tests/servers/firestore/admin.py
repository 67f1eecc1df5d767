"""UpdateField of google.firestore.admin.v1.FirestoreAdmin: exempt a field, make it the expiry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.longrunning.operations_pb2 import Operation

from servers.firestore.refusals import invalid, unimplemented

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servers.firestore.store import Database


class FirestoreAdmin:
    """One method per RPC, named like it."""

    def __init__(self, databases: Mapping[str, Database]) -> None:
        self._databases = databases
        self._expiry: dict[str, str] = {}

    def UpdateField(self, request: Any) -> Any:  # noqa: N802
        """Set the indexes of a field, and whether documents expire by it. Nothing is deleted."""
        parts = request.field.name.split("/")
        if len(parts) != 8 or parts[4] != "collectionGroups" or parts[6] != "fields":
            raise invalid(f"{request.field.name!r} names no field.")
        database, collection, field = "/".join(parts[:4]), parts[5], parts[7]
        for path in request.update_mask.paths:
            if path == "index_config":
                if request.field.index_config.indexes:
                    raise unimplemented("single-field indexes other than none")
                self._databases[database].indexes.set_exempt(collection, field, True)
            elif path == "ttl_config":
                group = f"{database}/{collection}"
                if self._expiry.setdefault(group, field) != field:
                    raise invalid(f"{group} expires by {self._expiry[group]} already.")
            else:
                raise invalid(f"A field has no {path}.")
        done = Operation(name=f"{database}/operations/done", done=True)
        done.response.Pack(request.field)
        return done
