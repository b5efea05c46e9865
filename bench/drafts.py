#!/usr/bin/env python3
"""What drafting from the text itself buys: the same greedy answers with and without it, one engine, one interleaved run.

  bench/drafts.py ENGINE [--rounds 5] [--drafts 4,8] [--output bench/results/DATE-CPU-drafts.json]

Three tasks repeat what stands in their prompt, one does not. Each round asks every task with every setting, in the opposite order every other round. A sample
is the time of a token after the first, of one process; it is taken again where others had more than 3 % of the machine meanwhile. Answers must be equal.
"""
import argparse
import datetime
import json
import statistics
import sys
from pathlib import Path

from machine import processor
from run import CPUS, least_disturbed

BENCH = Path(__file__).resolve().parent
PASSAGE = " ".join((BENCH / "text.txt").read_text(encoding="utf-8").split()[:130])
CODE = """def moving_average(values, width):
    total = sum(values[:width])
    averages = [total / width]
    for i in range(width, len(values)):
        total += values[i] - values[i - width]
        averages.append(total / width)
    return averages
"""
TASKS = {  # name: prompt, whether it goes as it is, past the chat template
    "a passage that came before": (f"{PASSAGE}\n\n***\n\n{PASSAGE}\n\n***\n\n{' '.join(PASSAGE.split()[:8])}", True),
    "a function again, in chat": (f"Write this function again with a comment above each line:\n```python\n{CODE}```", False),
    "a list again, in chat": ("Sort this list by colour: red apple, green pear, red cherry, green lime, red plum, green grape, red beet, green leek. "
                              "Write each of the eight on a line of its own, then write the sorted list again.", False),
    "a story, nothing to copy": ("Tell me a story about a lighthouse.", False),
}


def answer(engine, task, draft, tokens):
    """The answer's ids and seconds for each token after the first, of the least disturbed of some tries."""
    prompt, raw = TASKS[task]
    best = least_disturbed([engine, "run", "--greedy", "--json", "--max-tokens", tokens, "--draft", draft, *(["--raw"] if raw else []), prompt])
    if best is None:
        sys.exit(f"{engine} failed at \"{task}\" with --draft {draft}")
    report = json.loads(best["output"])
    return report["ids"], report["timing_ms"]["decode_per_token"] / 1e3, not best["disturbed"]


def spread(samples):
    values = [value for value, undisturbed in samples if undisturbed] or [value for value, _ in samples]
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "undisturbed": any(undisturbed for _, undisturbed in samples)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--drafts", default="4,8")
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()

    settings = [0, *map(int, options.drafts.split(","))]
    samples, ids = {}, {}
    for n in range(options.rounds):
        for task in TASKS:
            for draft in settings if n % 2 == 0 else reversed(settings):
                said, seconds, undisturbed = answer(options.engine, task, draft, options.tokens)
                if ids.setdefault(task, said) != said:
                    sys.exit(f"\"{task}\": --draft {draft} gives another answer")
                samples.setdefault(task, {}).setdefault(draft, []).append((seconds, undisturbed))
        print(f"round {n + 1} of {options.rounds}", file=sys.stderr)

    result = {"date": str(datetime.date.today()), "cpu": processor(), "cpus": CPUS, "engine": Path(options.engine).name, "rounds": options.rounds,
              "drafts": {task: {"tokens": len(ids[task]), **{f"--draft {draft}": spread(one) for draft, one in of.items()}} for task, of in samples.items()}}
    text = json.dumps(result, indent=1) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
