#!/usr/bin/env python3
"""Many streaming clients on one engine, a fifth of them leaving at a random moment: every finished answer equals its solo run, memory stays flat,
every block is free again. Short as a test; the long run is

  tests/cli/check_faults.py --engine ENGINE --model FILE --clients 1000 --seconds 180
"""
import argparse
import asyncio
import json
import random
import re
import signal
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from served import Served  # noqa: E402


def request(i):
    begin = "The first citizen said that the people of Rome " * (i % 4)
    return {"prompt": f"{begin}Number {i}:", "max_tokens": 8 + 5 * i % 40, "temperature": i % 2, "seed": i, "stream": True}


async def ask(port, body, leave_after=None):
    """The text of a streamed answer; None where the client left after so many bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        data = json.dumps(body).encode()
        writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
        text, status, done, came = "", await reader.readline(), False, 0
        if b" 200 " not in status:
            raise RuntimeError(status.decode())
        async for line in reader:
            came += len(line)
            if leave_after is not None and came > leave_after:
                return None
            if line.startswith(b"data: {"):
                event = json.loads(line[6:])
                if "error" in event:
                    raise RuntimeError(event["error"]["message"])
                text += event["choices"][0]["text"]
            done = done or line.startswith(b"data: [DONE]")
        if not done:
            raise RuntimeError("the stream ended without [DONE]")
        return text
    finally:
        writer.close()


async def client(port, number, end, solo, counts):
    chance = random.Random(number)
    while time.monotonic() < end:
        i = chance.randrange(len(solo))
        leave = chance.randrange(12000) if chance.random() < 0.2 else None
        try:
            text = await ask(port, request(i), leave)
            counts["left" if text is None else "same" if text == solo[i] else "wrong"] += 1
        except (RuntimeError, OSError, asyncio.IncompleteReadError) as error:
            counts["failed"] += 1
            counts["why"].add(str(error)[:100])


async def watch(server, end, memory):
    while time.monotonic() < end:
        await asyncio.sleep(max(0.5, (end - time.monotonic()) / 20))
        memory.append(server.resident_kib())


async def run(server, options):
    solo = [await ask(server.port, request(i)) for i in range(24)]
    counts, memory = {"same": 0, "left": 0, "wrong": 0, "failed": 0, "why": set()}, []
    end = time.monotonic() + options.seconds
    await asyncio.gather(watch(server, end, memory), *(client(server.port, n, end, solo, counts) for n in range(options.clients)))
    return counts, memory


def numbers(server):
    text = urllib.request.urlopen(server.url + "/metrics").read().decode()
    return {name: float(value) for name, value in re.findall(r"^diecast_(\w+) ([0-9.e+-]+)$", text, re.MULTILINE)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--clients", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    with Served(options.engine, "--model", options.model, "--quiet", "--waiting", str(options.clients + 50), "--connections", str(2 * options.clients + 50)) as server:
        counts, memory = asyncio.run(run(server, options))
        print(counts)
        print("resident MB:", *(kib >> 10 for kib in memory))
        for _ in range(100):
            now = numbers(server)
            if now["running"] + now["queue_depth"] == 0 and now["connections"] == 1:
                break
            time.sleep(0.1)
        print({name: now[name] for name in ("running", "queue_depth", "connections", "tokens_in_flight", "kv_blocks", "kv_blocks_free", "kv_blocks_cached", "clients_gone_total", "preempted_total")})
        assert counts["wrong"] == 0 and counts["failed"] == 0, counts
        assert counts["same"] > 0 and counts["left"] > 0, counts
        assert now["running"] == now["queue_depth"] == now["tokens_in_flight"] == 0 and now["connections"] == 1, now
        assert now["kv_blocks_free"] + now["kv_blocks_cached"] == now["kv_blocks"], now
        middle = memory[len(memory) // 2]
        assert memory[-1] < 1.1 * middle + 20000, memory
        assert server.stop(signal.SIGTERM) == 0


if __name__ == "__main__":
    main()
