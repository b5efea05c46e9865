#!/usr/bin/env python3
"""Tests and measures the backend cuda with what bench/device.sh has built, within a number of seconds, and writes the result as JSON and as a plot (SVG).

Each step has a time that it may take; one that no longer fits is left out, and the result says so. A result holds what was seen and nothing else: a
step that did not run has no numbers. The exit status is 1 if a test failed.
"""
import argparse
import datetime
import html
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SANITIZED = "*norm, gate*,*norm, Q/K/V*"  # small cases: the sanitizer is a hundred times slower
MEASURED = {"decode": ["--prompt", "0", "--generate", "256"], "prefill 512": ["--prompt", "512", "--generate", "0"],
            "batch 8": ["--prompt", "0", "--generate", "64", "--batch", "8"], "batch 64": ["--prompt", "0", "--generate", "32", "--batch", "64"]}


class Run:
    """Steps under a deadline; what each of them said."""

    def __init__(self, seconds, call=subprocess.run):
        self.end, self.call, self.steps = time.monotonic() + seconds, call, []

    def step(self, name, command, most):
        """Runs a command that may take `most` seconds; its standard output, or nothing where it was left out or failed."""
        left = self.end - time.monotonic()
        if not Path(command[0]).exists() and shutil.which(command[0]) is None:
            self.steps.append({"step": name, "outcome": "left out", "why": f"{Path(command[0]).name} is not here"})
            return None
        if left < most / 4:
            self.steps.append({"step": name, "outcome": "left out", "why": "no time was left"})
            return None
        began = time.monotonic()
        try:
            done = self.call(command, capture_output=True, text=True, timeout=min(most, left))
        except subprocess.TimeoutExpired:
            self.steps.append({"step": name, "outcome": "left out", "why": f"it took longer than {min(most, left):.0f} s"})
            return None
        passed = done.returncode == 0
        self.steps.append({"step": name, "outcome": "passed" if passed else "failed", "seconds": round(time.monotonic() - began, 1)})
        if not passed:
            self.steps[-1]["why"] = (done.stderr or done.stdout)[-2000:]
        print(f"{name}: {self.steps[-1]['outcome']}", file=sys.stderr)
        return done.stdout if passed else None

    def json(self, name, command, most):
        text = self.step(name, command, most)
        return None if text is None else json.loads(text)


def examine(run, build, models):
    """All steps, the most telling ones first."""
    engines = {name: str(build / "engines" / f"{name}-cuda") for name, _ in models}
    tests = str(build / "tests" / "test_on_device")
    result = {"models": {}}
    run.step("tests of the kernels", [tests], 120)
    result["gpu"] = run.json("what the GPU can do", [str(build / "bench" / "bench_device")], 60)
    for name, file in models:
        verified = run.json(f"verify {name}", [engines[name], "verify", "--model", file, "--backend", "cuda", "--json"], 90)
        one = result["models"][name] = {"works": {}}
        if verified:
            one["verify"] = {"passed": verified["passed"], "table": [line for line in verified["table"] if line["operation"].startswith("cuda: ")]}
        for kernels in ("whole", "single"):
            for work, options in MEASURED.items():
                if kernels == "single" and work != "decode":
                    continue
                measured = run.json(f"{work}, {name}, {kernels}", [engines[name], "bench", "--model", file, "--backend", "cuda", "--kernels", kernels, "--json", *options], 40)
                if measured:
                    one["works"][work if kernels == "whole" else f"{work}, {kernels} kernels"] = measured
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    for tool in ("memcheck", "racecheck"):
        run.step(f"compute-sanitizer {tool}", [sanitizer, "--tool", tool, "--error-exitcode", "9", tests, SANITIZED], 60)
    result["steps"] = run.steps
    with_shares(result)
    return result


def with_shares(result):
    """What a decode reads in a second, and the share of what the GPU reads at best, where both were measured."""
    best = (result.get("gpu") or {}).get("read_bytes_s")
    for model in result["models"].values():
        for work in model["works"].values():
            if "decode_tok_s" in work and "bytes_per_token" in work:
                work["read_bytes_s"] = work["decode_tok_s"] * work["bytes_per_token"]
                if best:
                    work["bandwidth_share"] = work["read_bytes_s"] / best


def plot(result):
    """A bar for each decode: how much of the best read it reads."""
    bars = [(f"{name}: {work}", one["read_bytes_s"], one["bandwidth_share"]) for name, model in result["models"].items() for work, one in model["works"].items() if "bandwidth_share" in one]
    height = 60 + 26 * max(len(bars), 1)
    gpu = result.get("gpu") or {}
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="10" y="20">{html.escape(gpu.get("gpu", "no GPU"))}: share of the best read, {gpu.get("read_bytes_s", 0) / 1e9:.0f} GB/s</text>']
    for i, (label, read, share) in enumerate(bars):
        y = 36 + 26 * i
        lines.append(f'<text x="10" y="{y + 14}">{html.escape(label)}</text>')
        lines.append(f'<rect x="320" y="{y}" width="{320 * min(share, 1.0):.1f}" height="18" fill="#4477aa"/>')
        lines.append(f'<text x="{326 + 320 * min(share, 1.0):.1f}" y="{y + 14}">{share:.2f} ({read / 1e9:.0f} GB/s)</text>')
    if not bars:
        lines.append('<text x="10" y="50">nothing was measured</text>')
    return "\n".join([*lines, f'<line x1="640" y1="30" x2="640" y2="{height - 10}" stroke="black"/>', "</svg>", ""])


def write(result, folder, date):
    folder.mkdir(parents=True, exist_ok=True)
    gpu = re.sub(r"[^a-z0-9]+", "-", ((result.get("gpu") or {}).get("gpu") or "no-gpu").lower()).strip("-")
    base = folder / f"{date}-{gpu}"
    base.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    base.with_suffix(".svg").write_text(plot(result))
    return base.with_suffix(".json")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--seconds", required=True, type=int)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("models", nargs="*", metavar="NAME=FILE")
    options = parser.parse_args()
    run = Run(options.seconds)
    result = examine(run, options.build, [model.split("=", 1) for model in options.models])
    date = datetime.date.today().isoformat()
    result["date"] = date
    print(write(result, options.results, date))
    return 1 if any(step["outcome"] == "failed" for step in run.steps) else 0


if __name__ == "__main__":
    sys.exit(main())
