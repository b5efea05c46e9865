#!/usr/bin/env python3
"""A whole model against HF transformers in float32 over the same (dequantised) file: prompt ids, logits, likelihood, greedy answers.

The right values lie in tests/data/oracle and were made by HF transformers, none by our code. A greedy id counts as long as the oracle's
margin between the two best logits, and every one before it, is over 0.02; the fast backend's, over 0.5.
"""
import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
failures = []


def expect(holds, case, what):
    if not holds:
        failures.append(f"{case['text'][:50]!r}: {what}")


def near(ours, theirs, tolerance):
    return abs(ours - theirs) <= tolerance  # NaN fails


def call(arguments, stdin=None):
    done = subprocess.run(arguments, input=stdin, capture_output=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)[:200]}: exit status {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def check_logits(engine, model, case):
    ids = ",".join(map(str, case["ids"]))
    ours = call([*engine[:1], "logits", *engine[1:], "--model", model, "--ids", ids, "--top", "10", "--all", "--json"])
    logits = {one["id"]: one["logit"] for one in ours["top"]}
    for token, logit in zip(case["top_ids"], case["top_logits"]):
        # Two logits closer than the tolerance may change places at the end of the list.
        expect(near(logits.get(token, min(logits.values())), logit, limits["logit"]), case, f"logit of {token}: {logits.get(token)} for {logit}")
    expect(near(ours["logsumexp"], case["logsumexp"], limits["logit"]), case, f"logsumexp {ours['logsumexp']} for {case['logsumexp']}")
    if len(case["ids"]) > 1:
        expect(near(ours["mean_nll"], case["mean_nll"], limits["nll"]), case, f"mean_nll {ours['mean_nll']} for {case['mean_nll']}")


def check_answer(engine, model, case):
    arguments = [*engine[:1], "run", *engine[1:], "--model", model, "--json", "--greedy", "--max-tokens", str(len(case["greedy_ids"]))]
    if case["kind"] == "raw":
        arguments += ["--raw", "--", case["text"]]
    else:
        messages = case["messages"]
        if [message["role"] for message in messages] not in (["user"], ["system", "user"]):
            return False  # several turns: `run` asks one question; the library's tests render them
        if len(messages) == 2:
            arguments += ["--system", messages[0]["content"]]
        arguments += ["--", messages[-1]["content"]]
    answer = call(arguments)
    expect(answer["prompt_text"] == case["text"], case, "the prompt's text differs")
    expect(answer["prompt_ids"] == case["ids"], case, f"prompt ids {answer['prompt_ids']} for {case['ids']}")
    sure = True
    for step, token in enumerate(case["greedy_ids"]):
        sure = case["greedy_margin"][step] > limits["margin"]
        if not sure or (step == len(answer["ids"]) and answer["finish_reason"] == "stop"):  # the oracle goes on behind the end
            break
        expect(step < len(answer["ids"]) and answer["ids"][step] == token, case, f"greedy id {step}: {answer['ids'][step:step + 1]} for {token}")
    if sure and case["kind"] == "chat":
        # The oracle's text shows the marker that ended the answer; ours leaves it out.
        text = case["greedy_text"].removesuffix("<|im_end|>") if answer["finish_reason"] == "stop" else case["greedy_text"]
        expect(answer["text"] == text, case, f"text {answer['text']!r} for {text!r}")
    return True


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--engine", required=True)
parser.add_argument("--name", required=True, help="of the oracle")
parser.add_argument("--model", required=True)
parser.add_argument("--backend", default="reference", choices=["reference", "cpu"])
parser.add_argument("--precision", help="of the cpu backend")
options = parser.parse_args()
if not Path(options.model).exists():
    print(f"skipped: {options.model} is not there (./check fetches it)")
    sys.exit(77)
# The reference keeps floats: its limits are their rounding. Of the fast path the design promises the ids where the margin is over 0.5, so no logit may be
# off by a quarter with 15 bits; with 8 bits only the ids are held.
limits = {"logit": 2e-3, "nll": 1e-4, "margin": 0.02}
if options.backend == "cpu":
    limits = {"logit": 0.25, "nll": 0.01, "margin": 0.5} if options.precision == "exact" else {"logit": math.inf, "nll": math.inf, "margin": 0.5}
engine = [options.engine, "--backend", options.backend] + (["--precision", options.precision] if options.precision else [])
cases = json.loads((root / f"tests/data/oracle/{options.name}.json").read_text())["cases"]
answered = 0
for one in cases:
    check_logits(engine, options.model, one)
    answered += check_answer(engine, options.model, one)
print(f"{len(cases)} cases, {answered} answered, {len(failures)} failures")
sys.exit("\n".join(failures) if failures else 0)
