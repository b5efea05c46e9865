#!/usr/bin/env python3
"""Plots of a result of bench/run.py or bench/serve.py: bench/plot.py RESULT.json writes PNG files beside it. Needs matplotlib: run.py's environment has it."""
import json
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def save(figure, source, name):
    path = source.with_name(f"{source.stem}-{name}.png")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(path)


def series(works, first, pattern):
    """By contestant: (number, tok/s) of the works that the pattern names, the first one's number being given."""
    lines = {}
    for name, work in works.items():
        found = re.fullmatch(pattern, name)
        number = first if name == "decode" else int(found[1]) if found else None
        if number is not None:
            for who, one in work.items():
                lines.setdefault(who, []).append((number, one["median"], one["least"], one["most"]))
    return lines


def lines_plot(result, source, first, pattern, label, name):
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for who, points in series(result["works"], first, pattern).items():
        points.sort()
        x, y, least, most = zip(*points)
        axes.errorbar(x, y, yerr=[[v - l for v, l in zip(y, least)], [m - v for v, m in zip(y, most)]], marker="o", capsize=3, label=who,
                      linestyle="-" if who.startswith("diecast") else "--")
    axes.set(xlabel=label, ylabel="tokens a second", title=f"{result['model']} on {result['cpu']}, {result['cpus']} cores", ylim=(0, None))
    if name == "batch":
        axes.set_xscale("log", base=2)
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, source, name)


def bandwidth_plot(result, source):
    """Each contestant's decode as a share of the best read; all are taken to read what our smallest step reads."""
    decode, most = result["works"].get("decode"), result.get("ceilings")
    sizes = [s["bytes_per_token"] for one in (decode or {}).values() for s in one["samples"] if "bytes_per_token" in s]
    if not sizes or not most:
        return
    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    axes.barh(list(decode), [one["median"] * min(sizes) / most["read_bytes_s"] for one in decode.values()])
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xlabel=f"share of the best read, {most['read_bytes_s'] / 1e9:.1f} GB/s", title="decoding, empty context")
    axes.invert_yaxis()
    save(figure, source, "bandwidth")


def phases_plot(result, source):
    phases = {who: parts for who, parts in result.get("phases_us", {}).items() if parts}
    if not phases:
        return
    figure, axes = pyplot.subplots(figsize=(7, 3))
    left = dict.fromkeys(phases, 0.0)
    for part in dict.fromkeys(name for parts in phases.values() for name in parts):
        values = [parts.get(part, 0) for parts in phases.values()]
        axes.barh(list(phases), values, left=list(left.values()), label=part)
        left = {who: left[who] + value for who, value in zip(phases, values)}
    axes.set(xlabel="microseconds of a token", title="where a token's time goes")
    axes.invert_yaxis()
    axes.legend()
    save(figure, source, "phases")


def serving_plot(result, source):
    """Of bench/serve.py: the time to the first token and the answers in time, by the rate at which requests come."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    lines = {}
    for name, work in result["serve"].items():
        if name.startswith("open "):
            for who, one in work.items():
                lines.setdefault(who, []).append((float(name.split()[1]), one))
    for (who, points), color in zip(lines.items(), ("C0", "C1", "C2", "C3")):
        points.sort(key=lambda point: point[0])
        rates = [rate for rate, _ in points]
        left.plot(rates, [1e3 * one["ttft"]["p99"] for _, one in points], color=color, marker="o", label=f"{who}, p99")
        left.plot(rates, [1e3 * one["ttft"]["p50"] for _, one in points], color=color, marker=".", linestyle=":", label=f"{who}, p50")
        right.plot(rates, [one["goodput"]["median"] for _, one in points], color=color, marker="o", label=who)
    left.set(xlabel="requests a second", ylabel="time to the first token, ms", yscale="log")
    right.set(xlabel="requests a second", ylabel=f"answers a second that began within {1e3 * result['commands'][-1]['limit']:.0f} ms", ylim=(0, None))
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    save(figure, source, "open")
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    lines = {}
    for name, work in result["serve"].items():
        if name.startswith("closed "):
            for who, one in work.items():
                speed = one["tokens_per_second"]
                lines.setdefault(who, []).append((int(name.split()[1]), speed["median"], speed["median"] - speed["least"], speed["most"] - speed["median"]))
    for who, points in lines.items():
        x, y, less, more = zip(*sorted(points))
        axes.errorbar(x, y, yerr=[less, more], marker="o", capsize=3, label=who)
    axes.set(xlabel="clients", ylabel="tokens a second", ylim=(0, None))
    axes.legend()
    axes.grid(alpha=0.3)
    save(figure, source, "closed")


def main():
    source = Path(sys.argv[1])
    result = json.loads(source.read_text(encoding="utf-8"))
    if "serve" in result:
        return serving_plot(result, source)
    lines_plot(result, source, 0, r"decode at (\d+)", "tokens of context", "context")
    lines_plot(result, source, 1, r"batch (\d+)", "sequences together", "batch")
    bandwidth_plot(result, source)
    phases_plot(result, source)


if __name__ == "__main__":
    main()
