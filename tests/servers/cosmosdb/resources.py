"""The account, its databases and containers, and the physical partitions of a container."""

from __future__ import annotations

from .exchange import Answer, Request, feed
from .failure import Failure, not_spoken
from .store import Account, Container, Database


def serve_resource(account: Account, request: Request) -> Answer:
    """The answer to a path of up to four segments, or to that of physical partitions."""
    match request.segments:
        case ():
            return _account(request)
        case ("dbs",):
            return _databases(account, request)
        case ("dbs", database_id):
            return _database(account, request, database_id)
        case ("dbs", database_id, "colls"):
            return _containers(account, request, database_id)
        case ("dbs", database_id, "colls", container_id):
            return _container(account, request, database_id, container_id)
        case ("dbs", database_id, "colls", container_id, "pkranges"):
            return _ranges(account.container(database_id, container_id), request)
    raise not_spoken(f"The resource {request.segments[0]!r}")


def _account(request: Request) -> Answer:
    # Clients go on with these addresses, so they must be the one they came by.
    place = [{"name": "Local", "databaseAccountEndpoint": request.base_url}]
    return Answer(
        200,
        {
            "id": "local",
            "_rid": "local",
            "_self": "",
            "writableLocations": place,
            "readableLocations": place,
            "enableMultipleWriteLocations": False,
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
            "queryEngineConfiguration": "{}",
        },
    )


def _databases(account: Account, request: Request) -> Answer:
    if request.method != "POST":
        return feed("Databases", [each.properties for each in account.databases.values()])
    database_id = request.body["id"]
    if database_id in account.databases:
        raise _exists()
    database = account.databases[database_id] = Database(account, database_id)
    return Answer(201, database.properties)


def _database(account: Account, request: Request, database_id: str) -> Answer:
    database = account.database(database_id)
    if request.method != "DELETE":
        return Answer(200, database.properties)
    del account.databases[database_id]
    return Answer(204)


def _containers(account: Account, request: Request, database_id: str) -> Answer:
    database = account.database(database_id)
    if request.method != "POST":
        found = [each.properties for each in database.containers.values()]
        return feed("DocumentCollections", found)
    if request.body["id"] in database.containers:
        raise _exists()
    container = Container(account, database, request.body)
    database.containers[request.body["id"]] = container
    return Answer(201, container.properties)


def _container(account: Account, request: Request, database_id: str, container_id: str) -> Answer:
    container = account.container(database_id, container_id)
    if request.method == "DELETE":
        del account.database(database_id).containers[container_id]
        return Answer(204)
    if request.method == "PUT":
        if request.body["partitionKey"]["paths"] != container.properties["partitionKey"]["paths"]:
            raise Failure(400, "The partition key of a container cannot be changed.")
        container.configure(request.body)
    return Answer(200, container.properties)


def _ranges(container: Container, request: Request) -> Answer:
    # The partitions never split, so a client that has seen them has seen everything.
    if request.headers.get("if-none-match") == '"1"':
        raise Failure(304, headers={"etag": '"1"'})
    ranges = [
        {
            "id": str(index),
            "_rid": f"{container.rid}{index}",
            "minInclusive": low,
            "maxExclusive": high,
            "status": "online",
            "parents": [],
        }
        for index, (low, high) in enumerate(container.bounds)
    ]
    answer = feed("PartitionKeyRanges", ranges)
    return Answer(answer.status, answer.body, {**answer.headers, "etag": '"1"'})


def _exists() -> Failure:
    return Failure(409, "Resource with specified id or name already exists.")
