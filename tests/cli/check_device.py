#!/usr/bin/env python3
"""A backend on a device from outside, emulated or cuda: an engine that has it answers with the reference's ids, verify passes every stage, an engine without it
says how to get one, and without a GPU cuda refuses in a sentence. 77 says that the model, or the GPU, is not there."""
import argparse
import json
import subprocess
import sys
import unittest
from pathlib import Path

root = Path(__file__).resolve().parents[2]
options = None


def call(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, timeout=600)


def answer(*arguments):
    done = call(options.engine, "run", "--model", options.model, "--greedy", "--json", *arguments)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def gpu_is_there():
    """What the engine itself says: it refuses by this sentence where there is none."""
    done = call(options.engine, "run", "--model", options.model, "--backend", "cuda", "--max-tokens", "1", "a")
    return b"there is no device" not in done.stderr


class Device(unittest.TestCase):
    def test_a_prompt_gets_the_reference_s_ids(self):
        # The prompt is long enough for tensor cores, which round to 16 bits, so its next ids are ones that the reference is sure of (SmolLM2's by 2.1 and
        # 3.9 nats); the answer is decoded by the kernel that runs whole tokens, then by single ones.
        prompt = json.loads((root / "tests/data/oracle/tiny-shakespeare.json").read_text())["cases"][0]["text"] * 2 if options.tiny else "One, two, three, four, five, six, seven, eight, nine, ten, eleven,"
        count = "24" if options.tiny else "2"  # a token of SmolLM2 takes the host executor seconds
        raw = [] if options.tiny else ["--raw"]
        want = answer("--backend", "reference", "--max-tokens", count, *raw, prompt)
        for kernels in ("whole", "single") if options.tiny else ("whole",):
            got = answer("--backend", options.backend, "--kernels", kernels, "--max-tokens", count, *raw, prompt)
            self.assertEqual(got["ids"], want["ids"])
            self.assertEqual(got["prompt_ids"], want["prompt_ids"])

    def test_verify_finds_every_stage_within_its_bound(self):
        done = call(options.engine, "verify", "--model", options.model, "--backend", options.backend, "--json")
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
        table = {line["operation"]: line for line in json.loads(done.stdout)["table"]}
        stages = {"embedding", "q, k, v", "attention", "output", "gate, up", "down", "head", "model, relative"}
        self.assertLessEqual({f"{options.backend}: {stage}" for stage in stages}, set(table))
        for name, line in table.items():
            self.assertTrue(line["passed"], line)
            if name.startswith(f"{options.backend}: "):
                self.assertGreater(line["error"], 0 if name != f"{options.backend}: embedding" else -1)  # it was compared at all

    def test_wrong_words(self):
        done = call(options.engine, "run", "--model", options.model, "--backend", options.backend, "--kernels", "some", "a")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(done.stderr, b"there is no way 'some' to run a token: kernels are whole or single\n")
        done = call(options.engine, "run", "--model", options.model, "--backend", options.backend, "--cache-type", "f16", "a")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--cache-type does nothing with the backend", done.stderr)


class WithoutGpu(unittest.TestCase):
    def test_cuda_refuses_in_a_sentence(self):
        done = call(options.engine, "run", "--model", options.model, "--backend", "cuda", "a")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertTrue(done.stderr.startswith(b"there is no device for the backend cuda: "), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)


class WithoutDeviceCode(unittest.TestCase):
    def test_an_engine_without_the_backend_says_how_to_get_it(self):
        for backend in ("emulated", "cuda"):
            done = call(options.plain, "run", "--model", options.model, "--backend", backend, "a")
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertEqual(done.stderr.decode(), f"this engine was built without its device code, which the backend {backend} runs: "
                                                   f"./cast --{backend} SOURCE builds one that has it\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    parser.add_argument("--plain", help="an engine without device code")
    parser.add_argument("--model", required=True)
    parser.add_argument("--backend", required=True, choices=("emulated", "cuda"))
    options = parser.parse_args()
    options.tiny = options.model.rstrip("/").endswith("tiny-shakespeare")
    if not Path(options.model).exists():
        print(f"skipped: {options.model} is not there (./check fetches it)")
        sys.exit(77)
    if not Path(options.engine).exists():
        print(f"skipped: {options.engine} was not built: what compiles its device code is not here")
        sys.exit(77)
    cases = [WithoutDeviceCode] if options.plain else []
    cases.append(WithoutGpu if options.backend == "cuda" and not gpu_is_there() else Device)
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in cases)
    sys.exit(0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1)
