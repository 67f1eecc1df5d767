"""The awaiting face: never blocks the loop, and outlives it."""

import asyncio
import os
import threading

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.cipher import Keystream
from agentstate_documents.testing.saver_scenes import at, checkpoint


class Turning:
    """Waits for the event loop to turn."""

    def __init__(self, loop):
        self._loop = loop

    def __call__(self):
        turned = threading.Event()
        self._loop.call_soon_threadsafe(turned.set)
        assert turned.wait(20), "the event loop is blocked"


class WaitingTable(MemoryTable):
    """Answers only when the event loop has turned meanwhile."""

    def __init__(self, loop):
        super().__init__()
        self._turned = Turning(loop)

    def put(self, partition, writes):
        self._turned()
        super().put(partition, writes)

    def query(self, partition, **range_):
        self._turned()
        return super().query(partition, **range_)

    def delete(self, partition, sorts):
        self._turned()
        super().delete(partition, sorts)

    def partitions(self):
        self._turned()
        return super().partitions()


class WaitingCipher(Keystream):
    """Works only while the event loop turns."""

    def __init__(self, loop):
        super().__init__()
        self._turned = Turning(loop)

    def encrypt(self, plaintext):
        self._turned()
        return super().encrypt(plaintext)

    def decrypt(self, ciphername, ciphertext):
        self._turned()
        return super().decrypt(ciphername, ciphertext)


async def everything(saver, value=2):
    """Every awaiting method once."""
    await saver.asetup()
    config = await saver.aput(at("t"), checkpoint({"a": value}), {"run_id": "r"}, {})
    await saver.aput_writes(config, [("a", value)], "task")
    assert (await saver.aget_tuple(at("t"))).pending_writes == [("task", "a", value)]
    assert [found async for found in saver.alist(None)]
    await saver.acopy_thread("t", "copy")
    await saver.aprune(["t"])
    assert await saver.aget_delta_channel_history(config=config, channels=["a"])
    await saver.adelete_for_runs(["r"])
    await saver.adelete_thread("t")
    assert await saver.aget(at("copy")) is None
    await saver.aclose()


async def test_the_loop_turns_during_every_request():
    """A table that needs the loop to turn is served by every method."""
    await everything(DocumentSaver(WaitingTable(asyncio.get_running_loop())))


async def test_the_loop_turns_while_much_is_compressed_and_encrypted():
    """A cipher that needs the loop to turn is served by every method, from some size on."""
    serde = EncryptedSerializer(WaitingCipher(asyncio.get_running_loop()))
    await everything(DocumentSaver(MemoryTable(), serde=serde), os.urandom(100_000))


async def test_what_is_put_is_the_state_of_that_moment():
    """A step that goes on at once, and changes its state in place, changes no checkpoint."""
    saver = DocumentSaver(MemoryTable())
    value = [os.urandom(100_000)]
    putting = asyncio.create_task(saver.aput(at("t"), checkpoint({"a": value}), {}, {}))
    await asyncio.sleep(0)
    value.append("later")
    await putting
    assert len((await saver.aget(at("t")))["channel_values"]["a"]) == 1


def test_one_saver_serves_one_loop_after_another():
    """Nothing of the saver belongs to the loop it was first used in."""
    saver = DocumentSaver(MemoryTable())
    for _ in range(2):
        asyncio.run(everything(saver))


def test_threads_share_a_saver():
    """Many threads, one saver: each conversation is its own."""
    saver = DocumentSaver(MemoryTable())
    failures = []

    def talk(name):
        try:
            config, messages = at(name), []
            for n in range(25):
                messages = [*messages, f"{name} {n} " * 10]
                config = saver.put(config, checkpoint({"messages": messages}), {}, {})
                found = saver.get_tuple(at(name))
                assert found.checkpoint["channel_values"]["messages"] == messages
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=talk, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
