#!/usr/bin/env python3
"""bench/device.sh and bench/device.py without a GPU: the script stops with a sentence, and what the report makes of made-up outputs is right. The numbers here are
invented for this test and are nobody's result."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

root = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "bench"))
import device  # noqa: E402

GPU = {"gpu": "Made-up GPU", "architecture": 90, "processors": 10, "read_bytes_s": 1e12, "meeting_s": 1e-6}
DECODE = {"decode_tok_s": 1000.0, "bytes_per_token": 5e8}
VERIFY = {"passed": True, "table": [{"operation": "norm"}, {"operation": "cuda: head", "error": 0.1}]}


class Done:
    def __init__(self, stdout="", returncode=0, stderr=""):
        self.stdout, self.returncode, self.stderr = stdout, returncode, stderr


def made_up(command, **_):
    if command[0].endswith("bench_device"):
        return Done(json.dumps(GPU))
    if command[0].endswith("test_on_device"):
        return Done("passed")
    if "verify" in command:
        return Done(json.dumps(VERIFY))
    if "--tool" in command:
        return Done(returncode=9, stderr="a hazard")
    if "single" in command:
        raise subprocess.TimeoutExpired(command, 1)
    return Done(json.dumps(DECODE if command[command.index("--generate") + 1] != "0" else {"prefill_tok_s": 5.0}))


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(self, "enterContext") else Path(tempfile.mkdtemp())
        for name in ("engines/m-cuda", "tests/test_on_device", "bench/bench_device"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def examine(self, seconds):
        run = device.Run(seconds, call=made_up)
        return device.examine(run, self.folder, [("m", "m.gguf")])

    def test_what_was_seen_is_in_the_result_and_nothing_else(self):
        result = self.examine(480)
        model = result["models"]["m"]
        self.assertEqual(model["verify"], {"passed": True, "table": [{"operation": "cuda: head", "error": 0.1}]})
        self.assertEqual(set(model["works"]), {"decode", "prefill 512", "batch 8", "batch 64"})  # single kernels took too long
        self.assertEqual(model["works"]["decode"]["read_bytes_s"], 5e11)
        self.assertEqual(model["works"]["decode"]["bandwidth_share"], 0.5)
        self.assertNotIn("bandwidth_share", model["works"]["prefill 512"])
        outcomes = {step["step"]: step for step in result["steps"]}
        self.assertEqual(outcomes["tests of the kernels"]["outcome"], "passed")
        self.assertIn("longer than", outcomes["decode, m, single"]["why"])
        self.assertNotEqual(outcomes["compute-sanitizer racecheck"]["outcome"], "passed")

        path = device.write(result, self.folder / "results", "2000-01-02")
        self.assertEqual(path.name, "2000-01-02-made-up-gpu.json")
        self.assertEqual(json.loads(path.read_text())["models"], result["models"])
        picture = path.with_suffix(".svg").read_text()
        xml.dom.minidom.parseString(picture)
        self.assertIn("0.50 (500 GB/s)", picture)

    def test_without_time_nothing_is_measured(self):
        result = self.examine(0)
        self.assertEqual([step["outcome"] for step in result["steps"]], ["left out"] * len(result["steps"]))
        self.assertIsNone(result["gpu"])
        self.assertEqual(result["models"]["m"]["works"], {})
        self.assertIn("nothing was measured", device.plot(result))


class Script(unittest.TestCase):
    def stops(self, words, **environment):
        done = subprocess.run([root / "bench/device.sh"], capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn(words, done.stderr)
        self.assertTrue(done.stderr.endswith("nothing was measured\n"))

    def stand_ins(self, **programs):
        folder = Path(tempfile.mkdtemp())
        for name, text in programs.items():
            path = folder / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        return folder

    def test_without_nvcc(self):
        path = ":".join(place for place in os.environ["PATH"].split(":") if not (Path(place) / "nvcc").exists())
        self.stops("nvcc is not here", PATH=path, CUDACXX="/none", CUDA_PATH="/none")

    def test_without_a_gpu(self):
        bin = self.stand_ins(nvcc="", nvidia_smi="echo 'no devices were found'; exit 6")
        self.stops("no GPU on this machine", PATH=f"{bin}:{os.environ['PATH']}", CUDACXX=str(bin / "nvcc"))

    def test_with_an_old_gpu(self):
        bin = self.stand_ins(nvcc="", nvidia_smi="echo 7.5")
        self.stops("need a GPU of sm_80 and up, the first one here is sm_75", PATH=f"{bin}:{os.environ['PATH']}", CUDACXX=str(bin / "nvcc"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
