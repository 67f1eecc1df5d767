"""Run the server: ``python -m servers.firestore --port 0`` prints ``READY host:port``."""

from __future__ import annotations

import argparse
import signal
import threading

from servers.firestore.server import serve


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = serve(options.host, options.port)
    print(f"READY {server.address}", flush=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    server.stop()


main()
