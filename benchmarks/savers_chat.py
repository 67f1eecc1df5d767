"""One conversation over one saver, in the environment of that saver; `savers.py` starts it.

    python benchmarks/savers_chat.py SAVER OPTIONS SHAPE LENGTH PLACE

Every line on standard input is a turn; the reply is how many messages the thread then has, or why
there is no more. Where the database answers is in the environment.
"""

from __future__ import annotations

import sys
from typing import Any

from conversation import Conversation


def options(name: str) -> dict[str, Any]:
    """The same window and the same cipher for every saver that takes one."""
    if name == "reduced":
        from agentstate_reducer import MessageReducer

        return {"reducer": MessageReducer(min_messages=10, max_messages=20)}
    if name == "encrypted":
        from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

        key = b"0123456789abcdef"
        return {"serde": EncryptedSerializer.from_pycryptodome_aes(key=key)}
    return {"gzip": {"enable_checkpoint_compression": True}}.get(name, {})


def saver(name: str, place: str, **given: Any) -> Any:
    """The saver of that name as it is installed here, whoever's it is."""
    if name == "dynamodb":
        from langgraph_dynamodb_checkpoint import DynamoDBSaver

        return DynamoDBSaver(place, **given)
    if name == "aws":
        from langgraph_checkpoint_aws import DynamoDBSaver as AwsSaver  # type: ignore[import-not-found]

        create_for_aws(place)
        return AwsSaver(place, **given)
    if name == "cosmosdb":
        from langgraph_checkpoint_cosmosdb import CosmosDBSaver

        return CosmosDBSaver("benchmarks", place, **given)
    from langgraph_checkpoint_firestore import FirestoreSaver

    return FirestoreSaver(place, **given)


def create_for_aws(table: str) -> None:
    """The table that package expects to find."""
    import boto3

    keys = {"PK": "HASH", "SK": "RANGE"}
    client = boto3.client("dynamodb")
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
    )
    client.close()


def main(name: str, option: str, shape: str, length: str, place: str) -> None:
    """One turn a line; says when each is over."""
    conversation = Conversation(saver(name, place, **options(option)), shape, int(length))
    print("ready", flush=True)
    try:
        for _ in sys.stdin:
            print("done", conversation.turn(), flush=True)
    except Exception as error:
        print("failed", " ".join(f"{type(error).__name__}: {error}".split()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
