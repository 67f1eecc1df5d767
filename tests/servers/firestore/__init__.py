"""A Firestore protocol test server: google.firestore.v1 over gRPC, in memory, for tests only.

It speaks through the protos of the SDK, so the real ``google-cloud-firestore`` clients connect to
it as they would to Google's emulator (``FIRESTORE_EMULATOR_HOST``). It is not an emulator and was
never compared with the service itself, only with the documentation and with Google's emulator.

Unlike that emulator it demands the indexes the service demands, takes requests of up to 10 MiB,
answers UpdateField of the admin API, and lets a test inject failures and read what a client would
be billed for. What it does not speak (listeners, transactions, transforms, counts, OR, collection
groups, ...) it refuses as UNIMPLEMENTED instead of answering wrongly.
"""
