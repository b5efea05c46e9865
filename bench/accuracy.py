#!/usr/bin/env python3
"""How near the answers come to the float reference: ours in each precision, and llama.cpp's on the same file.

  bench/accuracy.py MODEL.gguf --engine ENGINE --program bench_accuracy [--venv FOLDER]

Two sets of positions: those of the oracle's cases, whose ids stand in tests/data/oracle, and about 2,000 of plain text (bench/text.txt). For every position
the next-token distribution is compared with the reference's: the mean of KL(reference || engine), how often the best id is the same, and the
ratio of the perplexities. Run it with the environment's Python: it needs numpy. The logits take 400 MB of --scratch for each of two engines at a time.
"""
import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent


def text_sequences(engine, model, context):
    """Ids of the text, paragraph by paragraph, none longer than the context."""
    sequences = []
    for paragraph in (BENCH / "text.txt").read_text(encoding="utf-8").split("\n\n"):
        done = subprocess.run([engine, "tokens", "--model", model, "--json", paragraph.strip()], capture_output=True, text=True, check=True)
        ids = json.loads(done.stdout)["ids"]
        sequences += [ids[i:i + context] for i in range(0, len(ids), context)]
    return sequences


def oracle_sequences(path):
    return [case["ids"] for case in json.loads(path.read_text(encoding="utf-8"))["cases"] if len(case["ids"]) <= 1024]


def log_softmax(logits):
    z = logits.astype(numpy.float64)
    z -= z.max(axis=1, keepdims=True)
    return z - numpy.log(numpy.exp(z).sum(axis=1, keepdims=True))


def compare(reference, engine, sequences, vocab):
    """Position by position, a sequence at a time; the files hold float32 [positions][vocab]."""
    kl, same, nll = [], [], [[], []]
    count = sum(map(len, sequences))
    a, b = (numpy.memmap(path, dtype=numpy.float32, mode="r", shape=(count, vocab)) for path in (reference, engine))
    at = 0
    for ids in sequences:
        for first in range(0, len(ids), 64):
            part = slice(at + first, at + min(first + 64, len(ids)))
            p, q = log_softmax(a[part]), log_softmax(b[part])
            kl += (numpy.exp(p) * (p - q)).sum(axis=1).tolist()
            same += (p.argmax(axis=1) == q.argmax(axis=1)).tolist()
            following = numpy.array(ids[first + 1:first + 65])
            for which, one in enumerate((p, q)):
                nll[which] += (-one[numpy.arange(len(following)), following]).tolist()
        at += len(ids)
    if not numpy.isfinite(kl).all():
        sys.exit(f"{engine}: not all logits are numbers")
    return {"mean_kl": float(numpy.mean(kl)), "most_kl": float(numpy.max(kl)), "top1": float(numpy.mean(same)),
            "perplexity_ratio": float(numpy.exp(numpy.mean(nll[1]) - numpy.mean(nll[0])))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--engine", required=True, help="its engine, which makes ids of the text")
    parser.add_argument("--program", required=True, help="bench_accuracy, as CMake built it")
    parser.add_argument("--venv", type=Path, default=BENCH / ".venv")
    parser.add_argument("--peers", default="llama_cpp,ik_llama_cpp")
    parser.add_argument("--oracle", type=Path, default=ROOT / "tests" / "data" / "oracle" / "smollm2-135m-instruct.json")
    parser.add_argument("--scratch", help="a folder for the logits")
    parser.add_argument("--output", type=Path, help="a folder for the two JSON files")
    options = parser.parse_args()
    for name, sequences in (("oracle", oracle_sequences(options.oracle)), ("text", text_sequences(options.engine, options.model, 1024))):
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            folder = Path(folder)
            ids, reference, other = folder / "ids", folder / "reference", folder / "other"
            ids.write_text("".join(" ".join(map(str, one)) + "\n" for one in sequences), encoding="utf-8")
            subprocess.run([options.program, options.model, ids, reference, "reference"], check=True)
            vocab = reference.stat().st_size // 4 // sum(map(len, sequences))
            engines = {}
            for precision in ("fast", "balanced", "exact"):
                subprocess.run([options.program, options.model, ids, other, precision], check=True)
                engines[f"diecast {precision}"] = compare(reference, other, sequences, vocab)
            for peer in filter(None, options.peers.split(",")):
                for flash in (0, 1):
                    for repack in (1, 0):  # not every build survives its own repacking
                        command = [options.venv / "bin" / "python", BENCH / "peer_llama.py", peer, options.model, "logits", "--ids", ids, "--output", other,
                                   "--flash", str(flash), "--repack", str(repack)]
                        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                            engines[f"{peer}{', flash attention' if flash else ''}{'' if repack else ', not repacked'}"] = compare(reference, other, sequences, vocab)
                            break
                    else:
                        print(f"{peer} fails, flash attention {flash}", file=sys.stderr)
        result = {"date": str(datetime.date.today()), "model": options.model.name, "text": "the oracle's cases" if name == "oracle" else "plain text",
                  "positions": sum(map(len, sequences)), "engines": engines}
        print(json.dumps(result, indent=1))
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            path = options.output / f"accuracy-{name}-{options.model.stem.lower()}.json"
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
