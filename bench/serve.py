#!/usr/bin/env python3
"""An engine's server under load, beside llama-server on the same model where its path is given. Standard library alone.

  bench/serve.py --engine ENGINE --model PACKED --peer llama-server --peer-model MODEL.gguf --output RESULT.json

Each contestant serves from the beginning to the end; they are asked in turn, in the opposite order every other round, the others idle:
  closed   1, 4, 16 clients that ask again as soon as they are answered: tokens/s, time to the first token (TTFT)
  open     requests arrive at random (Poisson) at several rates, whether or not earlier ones are answered: TTFT, goodput (requests a second whose
           TTFT was within --limit); prompts as in chats: 70 % begin with one of four long beginnings, then something of its own, lengths from a log-normal
  prefix   a prompt of about 1,000 tokens, then the same with another end: TTFT cold and warm
TTFT is the client's: from its connecting to the first event with text. The clients share the machine with the server. Where --output exists, the samples
are added to it: a measurement can be taken in pieces. bench/table.py and bench/plot.py make tables and plots of it.
"""
import argparse
import asyncio
import datetime
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from machine import processor

root = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "tests/cli"))
from served import Served  # noqa: E402

ANSWER = 64  # tokens
WORDS = 24  # of the closed work's prompts, after a number of nine digits


class Ours:
    def __init__(self, precision, options):
        self.name, self.engine, self.options = f"diecast {precision}", options.engine, options
        self.arguments = ["--precision", precision, "--model", options.model, "--threads", str(options.threads), "--running", str(options.running), "--waiting", "4096", "--context", "2048",
                          "--cache-tokens", str(2048 * options.running), "--quiet", *options.engine_options.split()]

    def start(self):
        self.served = Served(self.engine, *self.arguments)
        self.port, self.process = self.served.port, self.served.process

    def stop(self):
        self.served.stop(signal.SIGTERM)


class Peer:
    """llama-server, with as many slots as our server runs sequences."""

    name = "llama-server"

    def __init__(self, options):
        self.port = options.peer_port
        self.command = [options.peer, "-m", options.peer_model, "--port", str(self.port), "-t", str(options.threads), "-c", str(2048 * options.running), "-np", str(options.running),
                        *options.peer_options.split()]

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=1).status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("llama-server does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


async def ask(port, prompt, tokens):
    """One streamed completion: (TTFT, tokens); seconds."""
    body = json.dumps({"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}).encode()
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    first, usage = None, None
    status = await reader.readline()
    if b" 200 " not in status:
        raise RuntimeError(status.decode() + (await reader.read()).decode())
    async for line in reader:
        if not line.startswith(b"data: {"):
            continue
        if first is None or b'"usage":{' in line:
            event = json.loads(line[6:])
            if first is None and event["choices"] and event["choices"][0]["text"]:
                first = time.perf_counter() - began
            usage = event.get("usage") or usage
    writer.close()
    return first or time.perf_counter() - began, usage["completion_tokens"]


class Prompts:
    """Slices of a text: every request has its own end; a shared beginning where one is asked for."""

    def __init__(self, *seed):
        self.random = random.Random(repr(seed))
        self.words = (root / "bench/text.txt").read_text(encoding="utf-8").split()

    def slice(self, words):
        at = self.random.randrange(len(self.words))
        return " ".join(self.words[(at + i) % len(self.words)] for i in range(words))

    def fresh(self, words):
        return f"{self.random.randrange(10**9)} {self.slice(words)}"


# The works: what one sample holds. The same number of a round asks all contestants the same.

async def closed(port, clients, options, number):
    prompts, tokens, times = Prompts("closed", clients, number), 0, []
    end = time.perf_counter() + options.seconds

    async def client():
        nonlocal tokens
        while time.perf_counter() < end:
            first, count = await ask(port, prompts.fresh(options.words), ANSWER)
            times.append(first)
            tokens += count

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return {"ttft": times, "tokens_per_second": tokens / (time.perf_counter() - began)}


async def opened(port, rate, options, number):
    prompts, tasks = Prompts("open", rate, number), []
    beginnings = [prompts.slice(150) for _ in range(4)]
    began = time.perf_counter()
    at = prompts.random.expovariate(rate)
    while at < options.seconds:
        await asyncio.sleep(max(0, began + at - time.perf_counter()))
        own = max(4, min(200, int(prompts.random.lognormvariate(3, 0.8))))
        shared = prompts.random.choice(beginnings) + " " if prompts.random.random() < 0.7 else ""
        tasks.append(asyncio.create_task(ask(port, shared + prompts.fresh(own), ANSWER)))
        at += prompts.random.expovariate(rate)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    good = [a for a in answers if not isinstance(a, BaseException)]
    took = time.perf_counter() - began
    return {"ttft": [first for first, _ in good], "refused": len(answers) - len(good), "tokens_per_second": sum(count for _, count in good) / took,
            "goodput": sum(first <= options.limit for first, _ in good) / options.seconds}


async def prefix(port, options, number):
    prompts, cold, warm = Prompts("prefix", number), [], []
    for _ in range(options.repeat):
        begin = prompts.fresh(750)
        cold.append((await ask(port, begin + " One.", 4))[0])
        warm.append((await ask(port, begin + " Two.", 4))[0])
    return {"cold": cold, "warm": warm}


def works_of(options):
    for clients in map(int, options.clients.split(",") if options.clients else ()):
        yield f"closed {clients}" + (f", {options.words} words" if options.words != WORDS else ""), lambda port, number, clients=clients: closed(port, clients, options, number)
    for rate in map(float, options.rates.split(",") if options.rates else ()):
        yield f"open {rate:g}", lambda port, number, rate=rate: opened(port, rate, options, number)
    if options.repeat:
        yield "prefix", lambda port, number: prefix(port, options, number)


# What the samples of one contestant say together.

def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def summary(samples):
    one = {key: spread([s[key] for s in samples]) for key in ("tokens_per_second", "goodput") if key in samples[0]}
    for key in ("ttft", "cold", "warm"):
        times = [t for s in samples for t in s.get(key, ())]
        if times:
            one[key] = {"p50": statistics.median(times), "p99": quantile(times, 0.99), "least": min(times), "most": max(times), "requests": len(times)}
    if "refused" in samples[0]:
        one["refused"] = sum(s["refused"] for s in samples)
    return one


def busy_seconds(process):
    """CPU time that the machine's processes have had, other guests' included; that of the server and of this program."""
    fields = [int(word) for word in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:9]]
    stat = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    tick = os.sysconf("SC_CLK_TCK")
    return (sum(fields) - fields[3] - fields[4]) / tick, (int(stat[11]) + int(stat[12])) / tick + time.process_time()


def sample(contestant, work, number):
    before, began = busy_seconds(contestant.process), time.perf_counter()
    done = asyncio.run(work(contestant.port, number))
    after, took = busy_seconds(contestant.process), time.perf_counter() - began
    done["other"] = max(0.0, (after[0] - before[0] - after[1] + before[1]) / took / os.cpu_count())  # share of the machine that others had
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", required=True, help="what the engine loads: its packed file, or a GGUF")
    parser.add_argument("--precisions", default="fast,exact", help="of the engine, a contestant each")
    parser.add_argument("--engine-options", default="", help="more options of the engine, in one argument")
    parser.add_argument("--peer", help="llama-server")
    parser.add_argument("--peer-model", help="the same model as GGUF")
    parser.add_argument("--peer-options", default="")
    parser.add_argument("--peer-port", type=int, default=8181)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--running", type=int, default=16, help="sequences at once, of each contestant")
    parser.add_argument("--seconds", type=float, default=20, help="of each sample")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", default="1,4,16")
    parser.add_argument("--words", type=int, default=WORDS, help="of the closed work's prompts; another number is a work of its own")
    parser.add_argument("--rates", default="0.5,1,2,4", help="of the open work, requests a second")
    parser.add_argument("--limit", type=float, default=0.5, help="goodput counts answers whose first token came within so many seconds")
    parser.add_argument("--repeat", type=int, default=5, help="pairs of the prefix work")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()

    result = {"date": str(datetime.date.today()), "cpu": processor(), "cpus": os.cpu_count(), "model": Path(options.peer_model or options.model).name, "commands": [], "serve": {}}
    if options.output and options.output.exists():
        result = json.loads(options.output.read_text(encoding="utf-8"))
    result["commands"].append({"seconds": options.seconds, "limit": options.limit, "threads": options.threads, "running": options.running, "peer": options.peer_options, "engine": options.engine_options,
                               "clients": options.clients, "words": options.words, "rates": options.rates, "rounds": options.rounds, "repeat": options.repeat})
    if options.peer:
        said = subprocess.run([options.peer, "--version"], capture_output=True, text=True, check=False)
        result["peer"] = next((line.split(" (")[0] for line in (said.stdout + said.stderr).splitlines() if line.startswith("version")), "")
    contestants = [Ours(precision, options) for precision in options.precisions.split(",")] + ([Peer(options)] if options.peer else [])
    for one in contestants:
        one.start()
        asyncio.run(ask(one.port, "Warm.", ANSWER))
    try:
        for _ in range(options.rounds):
            for name, work in works_of(options):
                entry = result["serve"].setdefault(name, {})
                number = max((len(one["samples"]) for one in entry.values()), default=0)
                for one in contestants if number % 2 == 0 else contestants[::-1]:
                    entry.setdefault(one.name, {"samples": []})["samples"].append(sample(one, work, number))
                    entry[one.name].update(summary(entry[one.name]["samples"]))
                if options.output:
                    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    finally:
        for one in contestants:
            one.stop()
    for name, work in result["serve"].items():
        for who, one in work.items():
            print(f"{name:10} {who:14}", "  ".join(f"{key} {json.dumps(value)}" for key, value in one.items() if key != "samples"))


if __name__ == "__main__":
    main()
