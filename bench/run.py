#!/usr/bin/env python3
"""Diecast beside its peers on this machine, one model file, one interleaved run.

  bench/run.py MODEL.gguf [--gemma GEMMA.gguf] [--venv FOLDER] [--rounds 5]

Casts the model, makes an environment for the peers (bench/.venv: llama-cpp-python and ik-llama-cpp-python, compiled for this machine, and openvino-genai),
finds each peer's best settings for each work, then measures all in turn, round after round. A sample is one process; it is discarded and taken
again where other processes took more than 3 % of the machine meanwhile. Writes bench/results/DATE-CPU.json and plots beside it.
"""
import argparse
import datetime
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from machine import processor

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
CPUS = os.cpu_count()
PROMPT = "The capital of France is"  # 5 tokens of SmolLM2
MOST_OTHER = 0.03  # of the machine's time, taken by others
TRIES = 4

WORKS = {
    "decode": {"what": "decode", "generate": 64},
    "decode at 500": {"what": "decode", "generate": 32, "depth": 500},
    "decode at 2000": {"what": "decode", "generate": 32, "depth": 2000},
    "decode at 7000": {"what": "decode", "generate": 32, "depth": 7000, "repeat": 2},
    "prefill 512": {"what": "prefill", "prompt": 512},
    "prefill 16": {"what": "prefill", "prompt": 16, "repeat": 9},
    "batch 2": {"what": "decode", "generate": 32, "batch": 2},
    "batch 4": {"what": "decode", "generate": 32, "batch": 4},
    "batch 8": {"what": "decode", "generate": 32, "batch": 8},
    "batch 16": {"what": "decode", "generate": 16, "batch": 16},
    "batch 32": {"what": "decode", "generate": 16, "batch": 32},
    "cold": {"what": "cold"},
}
SWEEP = ("decode at 500", "decode at 2000", "batch 2", "batch 4", "batch 16")  # for the plots: fewer rounds


def environment(folder):
    """A Python with the peers, installed where it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        for packages in (["numpy", "matplotlib", "openvino-genai"], ["llama-cpp-python"], ["ik-llama-cpp-python"]):  # the last two are compiled: for this machine
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True,
                           env={**os.environ, "CMAKE_ARGS": "-DGGML_NATIVE=ON -DCMAKE_BUILD_TYPE=Release"})
    return python


def python_with(pythons, package):
    """The first that has it."""
    for python in pythons:
        if subprocess.run([python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{package}') is None)"], check=False).returncode == 0:
            return python
    sys.exit(f"no environment has {package}")


def engine_of(model):
    done = subprocess.run([ROOT / "cast", model], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"^engine: (.*)$", done.stderr, re.MULTILINE)
    if done.returncode or not found:
        sys.exit(f"cast failed:\n{done.stderr}")
    return found[1]


# Contestants: a name, the settings to choose from, and the command of a work with one of them.

def options_of(work, settings=()):
    return [word for name, value in [*work.items(), *settings] if name != "what" for word in (f"--{name}", str(value))]


class Ours:
    def __init__(self, engine, precision, head="screened"):
        self.name = f"diecast {precision}" + (", whole head" if head == "whole" else "")
        self.engine, self.precision, self.head = engine, precision, head
        self.settings = [{"threads": CPUS}]

    def command(self, work, settings):
        common = ["--precision", self.precision, "--head", self.head, "--threads", str(settings["threads"])]
        if work["what"] == "cold":
            return [self.engine, "run", "--raw", "--greedy", "--max-tokens", "1", PROMPT, *common]
        one = {"prompt": 0, "generate": 0, **work}
        return [self.engine, "bench", "--json", *options_of(one), *common]


class Llama:
    def __init__(self, python, model, package):
        self.name = {"llama_cpp": "llama.cpp", "ik_llama_cpp": "ik_llama.cpp"}[package]
        self.start = [python, BENCH / "peer_llama.py", package, model]
        self.settings = [{"threads": t, "flash": f, "repack": r} for t, f, r in itertools.product(range(CPUS, 0, -1), [0, 1], [1, 0])]

    def command(self, work, settings):
        return [*self.start, work["what"], *options_of(work, settings.items())]


class OpenVino:
    def __init__(self, python, model):
        self.name, self.start = "OpenVINO GenAI", [python, BENCH / "peer_openvino.py", model]
        self.settings = [{"threads": t} for t in range(1, CPUS + 1)]

    def command(self, work, settings):
        return [*self.start, work["what"], *options_of(work, settings.items())]


# Samples.

def busy_seconds():
    """CPU time that all processes have had, and what other guests took of this machine."""
    fields = [int(word) for word in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]]
    user, nice, system, _, _, irq, softirq, steal = fields[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def run_once(command):
    """The process's output, its time to the first byte, and the share of the machine that others had meanwhile; None where it failed."""
    busy, began = busy_seconds(), time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, close_fds=False)
    first = process.stdout.read(1)
    first_s = time.perf_counter() - began
    output = first + process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    other = busy_seconds() - busy - usage.ru_utime - usage.ru_stime
    if process.returncode:
        return None
    return {"output": output.decode(errors="replace"), "first_s": first_s, "other": max(0.0, other / wall / CPUS)}


def least_disturbed(command, tries=TRIES):
    """The least disturbed of some tries, the first undisturbed one at best; None where the command fails."""
    best = None
    for attempt in range(tries):
        done = run_once(command)
        if done is None:
            return None
        if best is None or done["other"] < best["other"]:
            best = done
        best["discarded"] = attempt
        if done["other"] <= MOST_OTHER:
            break
    best["disturbed"] = best["other"] > MOST_OTHER
    return best


def sample(contestant, work, settings, tries=TRIES):
    """None where the contestant refuses the work."""
    best = least_disturbed(contestant.command(work, settings), tries)
    if best is None:
        return None
    report = json.loads(best["output"]) if best["output"].startswith("{") else {}
    if work["what"] == "cold":
        value = report.get("cold_s", best["first_s"])
    elif isinstance(contestant, Ours):
        value = report[f"{work['what']}_tok_s"]
    else:
        value = statistics.median(report["tok_s"])
    keep = ("bytes_per_token", "head_rows_computed", "bandwidth_share", "int8_share", "ceilings", "peak_rss_bytes")
    return {"value": value, "other": best["other"], "disturbed": best["disturbed"], "discarded": best["discarded"], **{k: report[k] for k in keep if k in report}}


def say(text):
    print(text, file=sys.stderr, flush=True)


def best_settings(contestant, work):
    """What the contestant is fastest with at this work, by a sample each."""
    if len(contestant.settings) == 1:
        return contestant.settings[0]
    tried = [(s, sample(contestant, {**work, "repeat": 1} if work["what"] != "cold" else work, s, tries=2)) for s in contestant.settings]
    tried = [(s, done["value"]) for s, done in tried if done]
    if not tried:
        return None
    return (min if work["what"] == "cold" else max)(tried, key=lambda pair: pair[1])[0]


def measure(contestants, works, rounds):
    results = {}
    for name, work in works.items():
        chosen = [(c, best_settings(c, work)) for c in contestants]
        results[name] = {c.name: {"settings": s, "samples": []} for c, s in chosen if s}
        racing = [(c, s) for c, s in chosen if s]
        for number in range(min(2, rounds) if name in SWEEP else rounds):
            for contestant, settings in racing if number % 2 == 0 else racing[::-1]:
                done = sample(contestant, work, settings)
                if done:
                    results[name][contestant.name]["samples"].append(done)
        for who in list(results[name]):
            one = results[name][who]
            values = [s["value"] for s in one["samples"] if not s["disturbed"]] or [s["value"] for s in one["samples"]]
            if not values:
                del results[name][who]
                continue
            one.update(median=statistics.median(values), least=min(values), most=max(values),
                       undisturbed=sum(not s["disturbed"] for s in one["samples"]))
            say(f"{name:16} {who:20} {one['median']:10.4g}  {one['least']:.4g}..{one['most']:.4g}  {one['settings']}, {one['undisturbed']} of {len(one['samples'])} undisturbed")
    return results


# Whether what was measured is right, and where the time goes.

def engine_json(engine, *arguments):
    return json.loads(subprocess.run([engine, *map(str, arguments), "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout)


def validity(engine, precisions):
    """Greedy ids against the reference's, on its own paths of at most 64 tokens each, wherever its best two differ by more than 0.5."""
    result = {"tokens": 0, "sure": 0, **{p: {"all": 0, "sure": 0} for p in precisions}}
    for prompt in (PROMPT, "Once upon a time", "The three most important things to know about the sea are"):
        said = engine_json(engine, "run", "--raw", "--greedy", "--max-tokens", 64, "--logprobs", 2, "--backend", "reference", prompt)
        first = len(said["prompt_ids"]) - 1
        sure = [token["top"][0]["logprob"] - token["top"][1]["logprob"] > 0.5 for token in said["logprobs"]]
        ids = ",".join(map(str, said["prompt_ids"] + said["ids"][:-1]))
        result["tokens"] += len(sure)
        result["sure"] += sum(sure)
        for precision in precisions:
            positions = engine_json(engine, "logits", "--all", "--ids", ids, "--precision", precision)["positions"]
            same = [positions[first + i]["id"] == token for i, token in enumerate(said["ids"])]
            result[precision]["all"] += sum(same)
            result[precision]["sure"] += sum(a and b for a, b in zip(same, sure))
    return result


def phases(engine, precision, folder):
    """Microseconds of a token in each inner span, from a trace of 64 tokens after 5."""
    trace = folder / "trace.json"
    subprocess.run([engine, "run", "--raw", "--greedy", "--max-tokens", "64", "--precision", precision, "--trace", trace, PROMPT], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    events = [e for e in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"] if e["ph"] == "X"]
    trace.unlink()
    tokens = [e for e in events if e["cat"] == "stage" and e["name"] == "decode"]
    if not tokens:
        return {}
    total, inside = sum(e["dur"] for e in tokens), {}
    for event in events:
        if event["cat"] == "span" and any(t["ts"] <= event["ts"] and event["ts"] + event["dur"] <= t["ts"] + t["dur"] + 0.01 for t in tokens):
            inside[event["name"]] = inside.get(event["name"], 0) + event["dur"]
    # Only the innermost spans: those that lie in one another would count twice.
    parts = {name: us / len(tokens) for name, us in inside.items() if name in ("embed", "block", "head", "sample")}
    return {**parts, "rest": total / len(tokens) - sum(parts.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--gemma", type=Path, help="a second model, of which decoding alone is measured")
    parser.add_argument("--venv", type=Path, action="append", help="an environment that has peers already, instead of bench/.venv; may be repeated")
    parser.add_argument("--engine", help="of the model, where it is cast already; --gemma-engine likewise")
    parser.add_argument("--gemma-engine")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--works", help="some works only, separated by commas: " + ", ".join(WORKS))
    parser.add_argument("--peers", default="llama_cpp,ik_llama_cpp,openvino", help="peers to measure, separated by commas; an empty list: none")
    parser.add_argument("--few-settings", action="store_true", help="try of the peers only flash attention on and off, with all cores and repacked weights")
    parser.add_argument("--precisions", default="fast,balanced,exact")
    parser.add_argument("--output", type=Path, help="the JSON file")
    options = parser.parse_args()
    precisions, peers = options.precisions.split(","), [p for p in options.peers.split(",") if p]
    pythons = [environment(folder) for folder in options.venv or [BENCH / ".venv"]] if peers else []
    of_peer = {p: python_with(pythons, "openvino_genai" if p == "openvino" else p) for p in peers}

    def contestants(engine, model):
        peers = [OpenVino(python, model) if p == "openvino" else Llama(python, model, p) for p, python in of_peer.items()]
        if options.few_settings:
            for peer in peers:
                peer.settings = [s for s in peer.settings if s["threads"] == CPUS and s.get("repack", 1) == 1]
        return [*(Ours(engine, p) for p in precisions), *peers]

    cpu = processor()
    output = options.output or BENCH / "results" / f"{datetime.date.today()}-{re.sub('[^a-z0-9]+', '-', cpu.lower()).strip('-')}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    engine = options.engine or engine_of(options.model)
    works = {name: WORKS[name] for name in (options.works.split(",") if options.works else WORKS)}
    result = {"date": str(datetime.date.today()), "cpu": cpu, "cpus": CPUS, "model": options.model.name, "model_bytes": options.model.stat().st_size,
              "validity": validity(engine, precisions), "phases_us": {p: phases(engine, p, output.parent) for p in precisions},
              "works": measure(contestants(engine, options.model), works, options.rounds)}
    if options.gemma:
        gemma = options.gemma_engine or engine_of(options.gemma)
        result["works"].update(measure([*(Ours(gemma, p, "whole") for p in precisions), *contestants(gemma, options.gemma)], {f"decode {options.gemma.stem}": WORKS["decode"]}, options.rounds))
    for python in set(of_peer.values()):
        result.setdefault("versions", {}).update(json.loads(subprocess.run(
            [python, "-c", "import json, importlib.metadata as m; print(json.dumps({d.metadata['Name']: d.version for d in m.distributions() "
             "if 'llama' in d.metadata['Name'] or d.metadata['Name'] == 'openvino-genai'}))"], check=True, capture_output=True, text=True).stdout))
    ceilings = [s["ceilings"] for work in result["works"].values() for one in work.values() for s in one["samples"] if "ceilings" in s]
    if ceilings:
        result["ceilings"] = {"read_bytes_s": max(c["read_bytes_s"] for c in ceilings), "int8_products_s": max(c["int8_products_s"] for c in ceilings),
                              "meeting_s": min(c["meeting_s"] for c in ceilings)}
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    say(f"written: {output}")
    if pythons:
        subprocess.run([python_with(pythons, "matplotlib"), BENCH / "plot.py", output], check=False)
    subprocess.run([sys.executable, BENCH / "table.py", output], check=True)


if __name__ == "__main__":
    main()
