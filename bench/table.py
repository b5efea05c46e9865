#!/usr/bin/env python3
"""The tables of a result of bench/run.py (or of bench/accuracy.py, bench/serve.py, bench/drafts.py, or bench_extents) as Markdown: bench/table.py RESULT.json."""
import json
import sys
from pathlib import Path


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def speed(one, unit):
    if one is None:
        return ""
    if unit == "ms":
        return f"{one['median'] * 1000:.0f} ({one['least'] * 1000:.0f}–{one['most'] * 1000:.0f})"
    text = f"{one['median']:.0f} ({one['least']:.0f}–{one['most']:.0f})"
    return text if one["undisturbed"] else text + " *"


def ratio(work, ours, theirs, unit):
    if ours not in work or not theirs:
        return ""
    best = (min if unit == "ms" else max)(work[t]["median"] for t in theirs)
    return f"{best / work[ours]['median']:.2f}" if unit == "ms" else f"{work[ours]['median'] / best:.2f}"


def speeds(result):
    works = result["works"]
    names = list(dict.fromkeys(name for work in works.values() for name in work))
    ours, peers = [n for n in names if n.startswith("diecast")], [n for n in names if not n.startswith("diecast")]
    lines = [f"{result['date']}, {result['cpu']}, {result['cpus']} cores, {result['model']} ({result['model_bytes'] / 1e6:.1f} MB); "
             + ", ".join(f"{k} {v}" for k, v in result.get("versions", {}).items()), "",
             row("work, tok/s: median (least–most)", *names), row("---", *["---:"] * len(names))]
    for name, work in works.items():
        unit = "ms" if name == "cold" else ""
        lines.append(row("cold start, ms" if unit else name, *(speed(work.get(n), unit) for n in names)))
    lines.append(row("peak resident, MB", *(memory(works.get("decode", {}).get(n)) for n in names)))
    lines += ["", "`*`: other programs took part in every sample.", ""]
    if peers and ours:
        lines += [row("times as fast as", *(f"{o[8:]}: {p}" for o in ours for p in ("llama.cpp", "the best peer"))), row("---", *["---:"] * 2 * len(ours))]
        for name, work in works.items():
            unit = "ms" if name == "cold" else ""
            cells = [ratio(work, o, [p for p in peers if p in work and (all_of or p == "llama.cpp")], unit) for o in ours for all_of in (False, True)]
            lines.append(row(name, *cells))
        lines.append("")
    if "ceilings" in result:
        most = result["ceilings"]
        lines += [f"Best read {most['read_bytes_s'] / 1e9:.1f} GB/s, int8 peak {most['int8_products_s'] / 1e9:.0f} G multiply-adds/s, a meeting of the threads {most['meeting_s'] * 1e9:.0f} ns.", "",
                  row("share of", *ours), row("---", *["---:"] * len(ours))]
        for label, name, key in (("the best read, decode", "decode", "bandwidth_share"), ("the best read, decode at 7000", "decode at 7000", "bandwidth_share"),
                                 ("the int8 peak, prefill 512", "prefill 512", "int8_share")):
            lines.append(row(label, *(share(works.get(name, {}).get(o), key) for o in ours)))
        lines.append("")
    valid = result.get("validity", {})
    if valid:
        lines.append(f"Greedy ids of the reference's {valid['tokens']}, {valid['sure']} of them with a margin above 0.5: "
                     + "; ".join(f"{p} {v['all']}, {v['sure']}" for p, v in valid.items() if isinstance(v, dict)) + " are the same.")
    return lines


def memory(one):
    sizes = [s["peak_rss_bytes"] for s in one["samples"] if "peak_rss_bytes" in s] if one else []
    return f"{max(sizes) / 1e6:.0f}" if sizes else ""


def share(one, key):
    values = sorted(s[key] for s in one["samples"] if key in s) if one else []
    return f"{values[len(values) // 2]:.2f}" if values else ""


def accuracies(result):
    return [f"{result['date']}, {result['model']}, {result['positions']} positions of {result['text']}; mean KL to the float reference, in nats", "",
            row("", "mean KL", "greatest KL", "top-1 agreement", "perplexity / reference's"), row("---", *["---:"] * 4),
            *(row(name, f"{one['mean_kl']:.2e}", f"{one['most_kl']:.2e}", f"{100 * one['top1']:.2f} %", f"{one['perplexity_ratio']:.5f}") for name, one in result["engines"].items())]


def extents(result):
    return [f"{result['isa']}, medians of {result['rounds']} rounds, one thread", "", row("kernel", "extents known, us", "at run time, us", "ratio"), row("---", *["---:"] * 3),
            *(row(k["kernel"], f"{k['static_ns'] / 1000:.2f}", f"{k['run_time_ns'] / 1000:.2f}", f"{k['run_time_over_static']:.2f}") for k in result["kernels"])]


def serving(result):
    """Of bench/serve.py: a table of each work, and what the best of ours is in relation to the peer."""
    works = result["serve"]
    names = list(dict.fromkeys(name for work in works.values() for name in work))
    ours, peers = [n for n in names if n.startswith("diecast")], [n for n in names if not n.startswith("diecast")]
    lines = [f"{result['date']}, {result['cpu']}, {result['cpus']} cores, {result['model']}" + (f"; llama-server, {result['peer']}" if "peer" in result else ""), "",
             row("work", *names, *(f"{o[8:]} / {p}" for o in ours for p in peers)), row("---", *["---:"] * (len(names) + len(ours) * len(peers)))]

    def add(label, work, value, text):
        values = {n: value(work[n]) for n in names if n in work}
        lines.append(row(label, *(text(work[n]) if n in work else "" for n in names),
                         *(f"{values[o] / values[p]:.2f}" if o in values and values.get(p) else "" for o in ours for p in peers)))

    def rate(key):
        return (lambda one: one[key]["median"]), (lambda one: f"{one[key]['median']:.3g} ({one[key]['least']:.3g}–{one[key]['most']:.3g})")

    def time(key, part):
        return (lambda one: one[key][part]), (lambda one: f"{1e3 * one[key][part]:.0f}")

    for name, work in works.items():
        kind, _, number = name.partition(" ")
        label = f"clients {number}" if kind == "closed" else f"{number} requests/s"
        if kind == "prefix":
            for key in ("cold", "warm"):
                add(f"1,000 tokens, {key}: TTFT, ms", work, *time(key, "p50"))
            ratios = {n: work[n]["cold"]["p50"] / work[n]["warm"]["p50"] for n in work}
            lines.append(row("cold / warm", *(f"{ratios[n]:.1f}" if n in ratios else "" for n in names), *[""] * (len(ours) * len(peers))))
            continue
        add(f"{label}: tok/s", work, *rate("tokens_per_second"))
        add(f"{label}: TTFT p50, ms", work, *time("ttft", "p50"))
        add(f"{label}: TTFT p99, ms", work, *time("ttft", "p99"))
        if kind == "open":
            add(f"{label}: in time/s", work, *rate("goodput"))
    return lines


def drafts(result):
    """Of bench/drafts.py: the time of a token, and how many times as fast each setting is as the first, without drafts."""
    settings = [key for key in next(iter(result["drafts"].values())) if key != "tokens"]
    lines = [f"{result['date']}, {result['cpu']}, {result['cpus']} cores, {result['engine']}, {result['rounds']} rounds; ms for each token after the first: median (least–most)", "",
             row("the answer repeats", "tokens", *settings, *(f"{s}: times as fast" for s in settings[1:])), row("---", *["---:"] * (2 * len(settings)))]
    for task, one in result["drafts"].items():
        lines.append(row(task, one["tokens"], *(f"{1e3 * one[s]['median']:.2f} ({1e3 * one[s]['least']:.2f}–{1e3 * one[s]['most']:.2f})" + ("" if one[s]["undisturbed"] else " *") for s in settings),
                         *(f"{one[settings[0]]['median'] / one[s]['median']:.2f}" for s in settings[1:])))
    return lines


def tables(result):
    for key, table in {"serve": serving, "kernels": extents, "engines": accuracies, "drafts": drafts}.items():
        if key in result:
            return table(result)
    return speeds(result)


def main():
    result = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print("\n".join(tables(result)))


if __name__ == "__main__":
    main()
