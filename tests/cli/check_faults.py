#!/usr/bin/env python3
"""Many clients on one engine, a fifth of them leaving at a random moment: every finished answer equals its solo run, everybody is answered, memory
stays flat, every block is free again. Then the server is killed in the middle of answers, and serves again. Short as a test; the long run is

  tests/cli/check_faults.py --engine ENGINE --model FILE --clients 1000 --seconds 180 --cache-tokens 8192

Options that it does not know are the server's.
"""
import argparse
import asyncio
import json
import random
import re
import resource
import signal
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from served import Served  # noqa: E402


def request(i):
    begin = "The first citizen said that the people of Rome " * (i % 4)
    return {"prompt": f"{begin}Number {i}:", "max_tokens": 8 + 5 * i % 40, "temperature": i % 2, "seed": i}


async def talk(port, head, body, read):
    """Sends a request on a connection of its own and gives what `read` makes of the answer, whose status is 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        status = await reader.readline()
        if b" 200 " not in status:
            raise RuntimeError(status.decode().strip() or "the server closed the connection")
        return await read(reader)
    finally:
        writer.close()


async def ask(port, i, stream=True, leave_after=None):
    """The text of an answer; None where the client left after so many bytes."""

    async def streamed(reader):
        text, done, came = "", False, 0
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

    async def whole(reader):
        if leave_after is not None:
            await asyncio.sleep(leave_after * 1e-4)
            return None
        return json.loads((await reader.read()).split(b"\r\n\r\n", 1)[1])["choices"][0]["text"]

    body = json.dumps({**request(i), "stream": stream}).encode()
    return await talk(port, "POST /v1/completions", body, streamed if stream else whole)


class Counts:
    def __init__(self):
        self.same = self.left = self.wrong = 0
        self.failed = []
        self.seconds = []  # of whole answers
        self.of_client = {}
        self.health = []  # seconds
        self.resident = []  # KiB

    def percentile(self, share):
        return sorted(self.seconds)[int(share * (len(self.seconds) - 1))]


async def client(port, number, end, solo, counts):
    chance = random.Random(number)
    while time.monotonic() < end:
        i = chance.randrange(len(solo))
        stream = chance.random() < 0.9
        leave = chance.randrange(12000) if chance.random() < 0.2 else None
        began = time.monotonic()
        try:
            text = await ask(port, i, stream, leave)
        except (RuntimeError, OSError, asyncio.IncompleteReadError) as error:
            counts.failed.append(str(error)[:100])
            continue
        if text is None:
            counts.left += 1
            continue
        counts.same += text == solo[i]
        counts.wrong += text != solo[i]
        counts.seconds.append(time.monotonic() - began)
        counts.of_client[number] = counts.of_client.get(number, 0) + 1


async def watch(server, end, counts):
    """What is no request for an answer is answered, too, and memory is looked at."""
    step = max(0.5, (end - time.monotonic()) / 40)
    while time.monotonic() < end:
        began = time.monotonic()
        await talk(server.port, "GET /health", b"", lambda reader: reader.read())
        counts.health.append(time.monotonic() - began)
        counts.resident.append(server.resident_kib())
        await asyncio.sleep(step)


async def alone(server):
    return [await ask(server.port, i) for i in range(24)]


async def run(server, options, solo):
    counts = Counts()
    end = time.monotonic() + options.seconds
    await asyncio.gather(watch(server, end, counts), *(client(server.port, n, end, solo, counts) for n in range(options.clients)))
    return counts


async def killed_in_the_middle(server):
    """Clients hear that their server is gone; none takes half an answer for a whole one."""
    answers = [asyncio.ensure_future(ask(server.port, i)) for i in range(24)]
    while numbers(server)["completion_tokens_total"] < 24:
        await asyncio.sleep(0.01)
    server.process.kill()
    return await asyncio.gather(*answers, return_exceptions=True)


def numbers(server):
    text = urllib.request.urlopen(server.url + "/metrics").read().decode()
    return {name: float(value) for name, value in re.findall(r"^diecast_(\w+) ([0-9.e+-]+)$", text, re.MULTILINE)}


def numbers_at_rest(server):
    for _ in range(100):
        now = numbers(server)
        if now["running"] + now["queue_depth"] == 0 and now["connections"] == 1:
            break
        time.sleep(0.1)
    return now


def allow_connections(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, 2 * count + 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--clients", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=8)
    options, of_server = parser.parse_known_args()
    allow_connections(options.clients)
    arguments = ["--model", options.model, "--quiet", "--waiting", str(options.clients + 50), "--connections", str(2 * options.clients + 50), *of_server]
    with Served(options.engine, *arguments) as server:
        solo = asyncio.run(alone(server))
        check(server, asyncio.run(run(server, options, solo)), options.clients)
        assert server.stop(signal.SIGTERM) == 0
    with Served(options.engine, *arguments) as server:
        answers = asyncio.run(killed_in_the_middle(server))
        assert all(isinstance(answer, Exception) or answer == solo[i] for i, answer in enumerate(answers)), answers
        port = server.port
    began = time.monotonic()
    with Served(options.engine, *arguments, port=port) as server:
        assert asyncio.run(ask(port, 0)) == solo[0]
        print(f"killed, started again on the same port and answered after {time.monotonic() - began:.2f} s")
        assert asyncio.run(alone(server)) == solo


def check(server, counts, clients):
    print(f"{counts.same} answers are the same, {counts.wrong} are wrong, {counts.left} clients left, {len(counts.failed)} failed {set(counts.failed)}")
    print(f"an answer took {counts.percentile(0.5):.2f} s, at most {counts.percentile(1):.2f} s; /health at most {max(counts.health):.3f} s")
    print(f"the least of a client's answers: {min(counts.of_client.get(n, 0) for n in range(clients))}, the most: {max(counts.of_client.values())}")
    print("resident MB:", *(kib >> 10 for kib in counts.resident))
    now = numbers_at_rest(server)
    print({name: now[name] for name in ("running", "queue_depth", "connections", "tokens_in_flight", "kv_blocks", "kv_blocks_free", "kv_blocks_cached", "clients_gone_total", "preempted_total", "completion_tokens_total")})
    assert counts.wrong == 0 and not counts.failed, (counts.wrong, counts.failed[:5])
    assert counts.same > 0 and counts.left > 0
    assert now["running"] == now["queue_depth"] == now["tokens_in_flight"] == 0 and now["connections"] == 1, now
    assert now["kv_blocks_free"] + now["kv_blocks_cached"] == now["kv_blocks"], now
    middle = counts.resident[len(counts.resident) // 2]
    assert counts.resident[-1] < 1.1 * middle + 20000, counts.resident


if __name__ == "__main__":
    main()
