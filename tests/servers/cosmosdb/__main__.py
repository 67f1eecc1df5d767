"""`python -m servers.cosmosdb`: serve until a signal to stop."""

from __future__ import annotations

import argparse
import asyncio
import signal
import ssl

from aiohttp import web

from .app import Server


async def serve(port: int, partitions: int, certificate: str | None) -> None:
    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    runner = web.AppRunner(Server(partitions).application(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    scheme = "https" if certificate else "http"
    print(f"READY {scheme}://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    await stopped.wait()
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(prog="servers.cosmosdb", description="A protocol test server.")
    parser.add_argument("--port", type=int, default=0, help="0 (default): any free one")
    parser.add_argument("--partitions", type=int, default=2, help="physical partitions, default 2")
    parser.add_argument("--certificate", help="PEM file with certificate and key: serve HTTPS")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.partitions, options.certificate))


main()
