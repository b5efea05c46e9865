#!/usr/bin/env python3
"""An engine's server under load, beside llama-server on the same model where its path is given. Standard library alone; matplotlib for the plot.

  bench/serve.py --engine ENGINE --model PACKED --peer llama-server --peer-model MODEL.gguf --output RESULT.json

Three works, each on a server of its own, contestants in turn:
  closed   1, 4, 16 clients that ask again as soon as they are answered: tokens/s, time to the first token (TTFT)
  open     requests arrive at random (Poisson) at several rates, whether or not earlier ones are answered: TTFT, goodput (requests a second whose
           TTFT was within --limit); prompts as in chats: one of four long beginnings, then something of its own, lengths from a log-normal
  prefix   a prompt of about 1,000 tokens, then the same with another end: TTFT cold and warm
TTFT is the client's: from its connecting to the first event with text. The clients share the machine with the server.
"""
import argparse
import asyncio
import json
import random
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

root = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "tests/cli"))
from served import Served  # noqa: E402


class Peer:
    """llama-server, with as many slots as our server runs sequences."""

    def __init__(self, options):
        self.port = options.peer_port
        context = 2048 * options.running
        self.process = subprocess.Popen([options.peer, "-m", options.peer_model, "--port", str(self.port), "-t", str(options.threads), "-c", str(context), "-np", str(options.running),
                                         "--no-webui", *options.peer_options.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=1).status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("llama-server does not answer")

    def stop(self, _):
        self.process.terminate()
        self.process.wait(30)


def servers(options):
    ours = ["--model", options.model, "--threads", str(options.threads), "--running", str(options.running), "--waiting", "4096", "--context", "2048", "--quiet"]
    yield "diecast", lambda: Served(options.engine, *ours, *options.engine_options.split(), "--cache-tokens", str(2048 * options.running))
    if options.peer:
        yield "llama-server", lambda: Peer(options)


async def ask(port, prompt, tokens):
    """One streamed completion: (TTFT, whole time, tokens), seconds."""
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
    whole = time.perf_counter() - began
    return first or whole, whole, usage["completion_tokens"]


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def summary(times):
    return {"ttft_p50": statistics.median(times), "ttft_p99": quantile(times, 0.99), "requests": len(times)}


class Prompts:
    """Slices of a text: every request has its own end; a shared beginning where one is asked for."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.words = (root / "bench/text.txt").read_text().split()

    def slice(self, words):
        at = self.random.randrange(len(self.words))
        return " ".join(self.words[(at + i) % len(self.words)] for i in range(words))

    def fresh(self, words):
        return f"{self.random.randrange(10**9)} {self.slice(words)}"


async def closed(port, clients, options):
    prompts, tokens, times = Prompts(clients), 0, []
    end = time.perf_counter() + options.seconds

    async def client():
        nonlocal tokens
        while time.perf_counter() < end:
            first, _, count = await ask(port, prompts.fresh(24), 64)
            times.append(first)
            tokens += count

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return {**summary(times), "tokens_per_second": tokens / (time.perf_counter() - began)}


async def opened(port, rate, options):
    prompts, tasks = Prompts(int(rate * 1000)), []
    beginnings = [prompts.slice(150) for _ in range(4)]
    began = time.perf_counter()
    at = 0.0
    while at < options.seconds:
        await asyncio.sleep(max(0, began + at - time.perf_counter()))
        own = max(4, min(200, int(prompts.random.lognormvariate(3, 0.8))))
        shared = prompts.random.choice(beginnings) + " " if prompts.random.random() < 0.7 else ""
        tasks.append(asyncio.create_task(ask(port, shared + prompts.fresh(own), 64)))
        at += prompts.random.expovariate(rate)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    good = [a for a in answers if not isinstance(a, BaseException)]
    took = time.perf_counter() - began
    within = sum(first <= options.limit for first, _, _ in good)
    return {**summary([first for first, _, _ in good]), "refused": len(answers) - len(good), "tokens_per_second": sum(count for _, _, count in good) / took, "goodput": within / took}


async def prefix(port, options):
    prompts, cold, warm = Prompts(7), [], []
    for _ in range(options.repeat):
        begin = prompts.fresh(750)
        cold.append((await ask(port, begin + " One.", 4))[0])
        warm.append((await ask(port, begin + " Two.", 4))[0])
    return {"cold": statistics.median(cold), "warm": statistics.median(warm), "ratio": statistics.median(cold) / statistics.median(warm)}


def plot(result, path):
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for who, works in result["contestants"].items():
        rates = sorted((float(name.split()[1]), one) for name, one in works.items() if name.startswith("open "))
        left.plot([r for r, _ in rates], [1e3 * one["ttft_p99"] for _, one in rates], marker="o", label=f"{who}, p99")
        left.plot([r for r, _ in rates], [1e3 * one["ttft_p50"] for _, one in rates], marker=".", linestyle=":", label=f"{who}, p50")
        right.plot([r for r, _ in rates], [one["goodput"] for _, one in rates], marker="o", label=who)
    left.set(xlabel="requests a second", ylabel="time to the first token, ms", yscale="log")
    right.set(xlabel="requests a second", ylabel=f"answers a second that began within {1e3 * result['limit']:.0f} ms")
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", required=True, help="what the engine loads: its packed file, or a GGUF")
    parser.add_argument("--engine-options", default="", help="more options of the engine, in one argument")
    parser.add_argument("--peer", help="llama-server")
    parser.add_argument("--peer-model", help="the same model as GGUF")
    parser.add_argument("--peer-options", default="")
    parser.add_argument("--peer-port", type=int, default=8181)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--running", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20, help="of each work")
    parser.add_argument("--clients", default="1,4,16")
    parser.add_argument("--rates", default="0.5,1,2,3,4", help="of the open work, requests a second")
    parser.add_argument("--limit", type=float, default=0.5, help="goodput counts answers whose first token came within so many seconds")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()

    works = [(f"closed {c}", lambda port, c=c: closed(port, c, options)) for c in map(int, options.clients.split(",") if options.clients else ())]
    works += [(f"open {r}", lambda port, r=r: opened(port, r, options)) for r in map(float, options.rates.split(",") if options.rates else ())]
    works += [("prefix", lambda port: prefix(port, options))] if options.repeat else []
    result = {"limit": options.limit, "threads": options.threads, "seconds": options.seconds, "contestants": {}}
    for name, work in works:
        for who, start in servers(options):
            server = start()
            asyncio.run(ask(server.port, "Warm.", 4))
            one = asyncio.run(work(server.port))
            server.stop(signal.SIGTERM)
            result["contestants"].setdefault(who, {})[name] = one
            print(f"{name:10} {who:14}", "  ".join(f"{key} {value:.4g}" for key, value in one.items()), flush=True)
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
        plot(result, options.output.with_suffix(".png"))


if __name__ == "__main__":
    main()
