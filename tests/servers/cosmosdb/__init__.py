"""A protocol test server for Azure Cosmos DB for NoSQL: in memory, for tests only.

It answers the REST requests the official SDK sends, and refuses what the service refuses: wrong
signatures, ids and bodies out of bounds, broken conditions, ordering by a path that is not indexed.
It was written from the public documentation and the SDK's source and is tested through that SDK;
it was never compared with the service. Throughput is not modelled: every request costs one unit.

What it does not speak (patches, stored procedures, hierarchical keys, change feed, most of the
query language) is answered with an error that says so, never with an approximation.

    PYTHONPATH=tests python -m servers.cosmosdb --partitions 3
"""
