#!/usr/bin/env python3
"""The command line of the engines and of the model tool, from outside: JSON keys, exit statuses, sentences.

Right values: design.md's list of keys; tests/data/oracle for what the models say (made by HF transformers, not by us).
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

from served import Served

root = Path(__file__).resolve().parents[2]
tiny = str(root / "models/tiny-shakespeare")
options = None


def call(program, *arguments, stdin=""):
    return subprocess.run([program, *arguments], input=stdin.encode(), capture_output=True, timeout=300)


def engine(*arguments, **more):
    return call(options.tiny_engine, *arguments, **more)


def as_json(*arguments, **more):
    done = engine(*arguments, "--json", **more)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") == 1 and done.stdout.endswith(b"\n")
    return json.loads(done.stdout)


def oracle(name):
    return json.loads((root / f"tests/data/oracle/{name}.json").read_text())["cases"]


class Files(unittest.TestCase):
    def test_a_file_that_becomes_shorter_in_use_is_a_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            packed = f"{folder}/packed.model"
            self.assertEqual(engine("pack", "--model", tiny, packed).returncode, 0)
            with Served(options.tiny_engine, "--model", packed) as server:
                os.truncate(packed, 4096)
                request = urllib.request.Request(server.url + "/v1/completions", b'{"prompt":"ROMEO:","max_tokens":4}', {"Content-Type": "application/json"})
                with self.assertRaises(OSError):
                    urllib.request.urlopen(request, timeout=60)
                self.assertEqual(server.process.wait(60), 2)
                server.reader.join(10)
                self.assertIn("became shorter", server.words[-1])


class Run(unittest.TestCase):
    def test_json_has_the_listed_keys_and_the_oracle_s_answer(self):
        case = oracle("tiny-shakespeare")[0]
        answer = as_json("run", "--model", tiny, "--max-tokens", "48", case["text"])
        self.assertEqual(set(answer), {"text", "ids", "prompt_ids", "prompt_text", "finish_reason", "usage", "timing_ms"})
        self.assertEqual(answer["prompt_ids"], case["ids"])
        self.assertEqual(answer["prompt_text"], case["text"])
        self.assertEqual(answer["ids"], case["greedy_ids"])
        self.assertEqual(answer["text"], case["greedy_text"])
        self.assertEqual(answer["finish_reason"], "length")
        self.assertEqual(answer["usage"], {"prompt_tokens": len(case["ids"]), "completion_tokens": 48, "cached_tokens": 0})
        timing = answer["timing_ms"]
        self.assertLessEqual(set(timing), {"load", "template", "tokenize", "queue", "prefill", "sample", "send", "ttft", "decode_per_token"})
        stages = [timing[stage] for stage in timing if stage not in ("ttft", "decode_per_token")]
        self.assertAlmostEqual(sum(stages), timing["ttft"], places=6)  # they touch, so they add up
        # Not streamed: the first byte comes with the last token, so that 47 tokens after the first are within `send`.
        self.assertGreaterEqual(timing["send"], 47 * timing["decode_per_token"])

    def test_the_answer_alone_is_on_standard_output_and_the_table_on_standard_error(self):
        case = oracle("tiny-shakespeare")[0]
        done = engine("run", "--model", tiny, "--max-tokens", "48", case["text"])
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.decode(), case["greedy_text"] + "\n")
        lines = done.stderr.decode().splitlines()
        numbers = {line.split("  ")[1].strip(): float(line.rsplit(None, 2)[1]) for line in lines if line.endswith(" ms")}
        total = numbers.pop("first token")
        numbers.pop("each token after")
        self.assertAlmostEqual(sum(numbers.values()), total, places=2)

    def test_the_prompt_comes_from_standard_input_when_absent(self):
        case = oracle("tiny-shakespeare")[0]  # ends with a newline: the one that is taken off is a further one
        answer = as_json("run", "--model", tiny, "--max-tokens", "4", stdin=case["text"] + "\n")
        self.assertEqual(answer["ids"], case["greedy_ids"][:4])

    def test_a_prompt_that_looks_like_an_option(self):
        done = engine("run", "--model", tiny, "--max-tokens", "1", "--json", "--", "--help")
        self.assertEqual(json.loads(done.stdout)["prompt_text"], "--help", done.stderr)

    def test_logprobs_are_the_model_s(self):
        case = oracle("tiny-shakespeare")[0]
        answer = as_json("run", "--model", tiny, "--max-tokens", "2", "--temperature", "0.5", "--top-k", "1", "--logprobs", "3", case["text"])
        first = answer["logprobs"][0]
        self.assertEqual(len(answer["logprobs"]), 2)
        self.assertEqual([one["id"] for one in first["top"]], case["top_ids"][:3])
        for one, logit in zip(first["top"], case["top_logits"]):
            self.assertTrue(abs(one["logprob"] - (logit - case["logsumexp"])) < 4e-3)

    def test_equal_seeds_draw_equal_answers(self):
        def draw(seed):
            return as_json("run", "--model", tiny, "--max-tokens", "24", "--temperature", "1", "--seed", seed, "ROMEO:")["ids"]

        self.assertEqual(draw("42"), draw("42"))
        self.assertNotEqual(draw("42"), draw("43"))

    def test_stop_text_ends_the_answer(self):
        answer = as_json("run", "--model", tiny, "--max-tokens", "48", "--stop", "thee", "--stop", "zzz", "ROMEO:\n")
        self.assertEqual(answer["text"], "O, I'll tell ")
        self.assertEqual(answer["finish_reason"], "stop")

    def test_the_trace_is_chrome_s(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            self.assertEqual(engine("run", "--model", tiny, "--max-tokens", "3", "--trace", path, "ROMEO:").returncode, 0)
            events = [event for event in json.loads(Path(path).read_text())["traceEvents"] if event["ph"] == "X"]
        names = {event["name"] for event in events}
        self.assertTrue({"load", "template", "tokenize", "prefill", "sample", "send"} <= names, names)
        self.assertTrue(any(name.startswith("block") for name in names))

    def test_the_context_is_never_exceeded(self):
        answer = as_json("run", "--model", tiny, "--context", "8", "--max-tokens", "100", "ROMEO:\n")
        self.assertEqual(answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"], 8)
        self.assertEqual(answer["finish_reason"], "length")


class Others(unittest.TestCase):
    def test_tokens(self):
        case = oracle("tiny-shakespeare")[1]
        tokens = as_json("tokens", "--model", tiny, case["text"])
        self.assertEqual(set(tokens), {"ids", "pieces"})
        self.assertEqual(tokens["ids"], case["ids"])
        self.assertEqual(len(tokens["pieces"]), len(case["ids"]))
        self.assertEqual(as_json("tokens", "--model", tiny, "")["ids"], [])

    def test_a_typed_marker_is_text(self):
        self.assertGreater(len(as_json("tokens", "--model", tiny, "<|endoftext|>")["ids"]), 1)

    def test_logits(self):
        for case in oracle("tiny-shakespeare"):
            result = as_json("logits", "--model", tiny, "--ids", ",".join(map(str, case["ids"])), "--top", "10", "--all")
            self.assertEqual([one["id"] for one in result["top"]], case["top_ids"])
            for one, logit in zip(result["top"], case["top_logits"]):
                self.assertTrue(abs(one["logit"] - logit) < 2e-3)
            self.assertTrue(abs(result["logsumexp"] - case["logsumexp"]) < 2e-3)
            self.assertEqual(len(result["positions"]), len(case["ids"]))
            self.assertEqual(result["positions"][-1]["id"], case["top_ids"][0])
            if len(case["ids"]) > 1:
                self.assertTrue(abs(result["mean_nll"] - case["mean_nll"]) < 1e-4)
            else:
                self.assertNotIn("mean_nll", result)
        self.assertEqual(set(as_json("logits", "--model", tiny, "--ids", "1, 2")), {"top", "logsumexp"})

    def test_numbers_are_decimal(self):
        self.assertEqual(len(as_json("run", "--model", tiny, "--max-tokens", "010", "ROMEO:")["ids"]), 10)

    def test_info(self):
        info = as_json("info", "--model", tiny)
        self.assertTrue({"spec", "identity", "model_file", "isa", "memory_bytes"} <= set(info))
        self.assertEqual(info["spec"]["attention"]["heads"], 5)
        self.assertEqual(len(info["identity"]), 64)
        self.assertEqual(info["model_file"], tiny)
        self.assertGreater(info["memory_bytes"], 2_200_000 * 2)  # half floats, and a cache
        self.assertGreater(as_json("info", "--model", tiny, "--backend", "reference")["memory_bytes"], 2_200_000 * 4)

    def test_bench(self):
        small = ["bench", "--model", tiny, "--prompt", "20", "--generate", "3", "--batch", "2", "--depth", "17", "--repeat", "2"]
        result = as_json(*small)
        speeds = {f"{what}{kind}_tok_s" for what in ("prefill", "decode") for kind in ("", "_best", "_all")}
        self.assertEqual(set(result), speeds | {"isa", "backend", "precision", "threads", "bytes_per_token", "bandwidth_share", "int8_share", "ceilings", "peak_rss_bytes"})
        self.assertEqual([len(result[f"{what}_all_tok_s"]) for what in ("prefill", "decode")], [2, 2])
        self.assertTrue(0 < result["decode_tok_s"] <= result["decode_best_tok_s"])
        self.assertTrue(all(value > 0 for value in result["ceilings"].values()))
        self.assertTrue(0 < result["bytes_per_token"] < result["peak_rss_bytes"])
        reference = as_json("bench", "--model", tiny, "--backend", "reference", "--prompt", "4", "--generate", "0", "--repeat", "1")  # what does not apply is absent
        self.assertEqual(set(reference), {f"prefill{kind}_tok_s" for kind in ("", "_best", "_all")} | {"isa", "backend", "threads", "peak_rss_bytes"})

    def test_verify(self):
        done = engine("verify", "--model", tiny, "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        result = json.loads(done.stdout)
        self.assertTrue(result["passed"])
        self.assertTrue(all(line["passed"] and line["error_of_bound"] < 1 and math.isfinite(line["error"]) for line in result["table"]))
        self.assertEqual(result["identity"], as_json("info", "--model", tiny)["identity"])


class Refusals(unittest.TestCase):
    def refused(self, arguments, words, status=2):
        done = engine(*arguments)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, status, message)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(message.count("\n"), 1, message)  # one sentence
        for word in words:
            self.assertIn(word, message)

    def test_wrong_options(self):
        run = ["run", "--model", tiny, "x"]
        self.refused(run + ["--temperature", "-1"], ["temperature", "-1"])
        self.refused(run + ["--temperature", "nan"], ["temperature", "nan"])
        self.refused(run + ["--top-p", "1.5"], ["top_p", "1.5"])
        self.refused(run + ["--max-tokens", "0"], ["max_tokens", "0"])
        self.refused(run + ["--context", "257"], ["257", "256"])
        self.refused(run + ["--context", "0"], ["--context 0"])
        self.refused(run + ["--backend", "gpu"], ["gpu", "reference"])
        self.refused(run + ["--cache-type", "q4"], ["q4", "f16, bf16, f32 or q8"])
        self.refused(run + ["--backend", "reference", "--cache-type", "f16"], ["f16", "f32"])
        self.refused(run + ["--precision", "best"], ["best", "exact"])
        self.refused(run + ["--head", "half"], ["half", "screened", "whole"])
        self.refused(run + ["--threads", "-1"], ["--threads -1"])
        self.refused(run + ["--system", "be brief"], ["--system"])
        self.refused(run + ["--unknown"], ["--unknown"])
        self.refused(run + ["--seed", "-1"], ["--seed", "-1"])  # not 2^64 - 1
        self.refused(run + ["--seed", "18446744073709551616"], ["--seed", "18446744073709551615"])
        self.refused(run + ["--max-tokens", ""], ["--max-tokens", "''"])
        self.refused(run + ["--max-tokens", "99999999999"], ["--max-tokens", "2147483647"])
        self.refused(run + ["--temperature", ""], ["--temperature", "''"])  # not 0
        self.refused(run + ["--seed", "1", "--seed", "2"], ["--seed"])
        self.refused(["run", "--model", tiny, "--stop", "", "x"], ["stop"])
        for command in [["info"], ["tokens", "x"], ["verify"], ["logits", "--ids", "1"]]:
            self.refused(command + ["--model", tiny, "--backend", "gpu"], ["gpu", "reference"])
            self.refused(command + ["--model", tiny, "--threads", "-7"], ["--threads -7"])
        self.refused(["nothing"], ["nothing"])
        self.refused(["chat", "--model", tiny], ["no chat template"])
        self.refused(["tokens", "--model", tiny, "--chat", "x"], ["no chat template"])
        self.refused(["logits", "--model", tiny, "--ids", "1,2048"], ["2048"])
        self.refused(["logits", "--model", tiny, "--ids", "1,x"], ["x"])
        for ids in ["", ",", "1,", ",1", "1,,2", "1 2", "1.0", "-", "99999999999"]:
            self.refused(["logits", "--model", tiny, "--ids", ids], ["--ids"])
        self.refused(["logits", "--model", tiny, "--ids", "1,2,3", "--context", "2"], ["3", "2"])
        self.refused(["logits", "--model", tiny, "--ids", "1", "--top", "0"], ["--top"])
        self.refused(["bench", "--model", tiny, "--prompt", "0", "--generate", "0"], ["nothing to measure"])
        self.refused(["bench", "--model", tiny, "--batch", "0"], ["--batch 0"])
        self.refused(["bench", "--model", tiny, "--prompt", "-1"], ["--prompt -1"])
        self.refused(["bench", "--model", tiny, "--depth", "100000"], ["100064", "holds"])
        self.refused(["bench", "--model", tiny, "--context", "16"], ["512", "16"])

    def test_a_trace_that_cannot_be_written_costs_no_answer(self):
        self.refused(["run", "--model", tiny, "--trace", "/nowhere/trace.json", "x"], ["/nowhere/trace.json"])
        self.refused(["run", "--model", tiny, "--trace", "", "x"], ["trace"])

    def test_an_error_is_one_line_whatever_was_typed(self):
        self.refused(["info", "--model", "/no\nwhere\x1b[2J"], ["/no\\x0awhere\\x1b[2J"])
        self.refused(["run", "--no\nsuch", "x"], ["--no\\x0asuch"])
        self.refused(["no\nsuch"], ["no\\x0asuch"])

    def test_a_closed_pipe_is_a_sentence_and_no_signal(self):
        for program, *arguments in [(options.tiny_engine, "tokens", "--model", tiny, "x"), (options.tiny_engine, "info", "--model", tiny),
                                    (options.tool, "inspect", tiny)]:
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([program, *arguments], stdout=write, stderr=subprocess.PIPE, timeout=300)
            os.close(write)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_weights_that_are_no_numbers_blame_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in Path(tiny).iterdir():
                Path(folder, file.name).write_bytes(file.read_bytes())
            weights = bytearray(Path(folder, "model.safetensors").read_bytes())
            size = int.from_bytes(weights[:8], "little")
            begin = 8 + size + json.loads(weights[8:8 + size])["transformer.ln_f.weight"]["data_offsets"][0]
            weights[begin:begin + 2] = b"\x00\x7e"  # NaN in float16
            Path(folder, "model.safetensors").write_bytes(weights)
            self.refused(["run", "--model", folder, "x"], ["the logits of step 0 hold NaN at id 0", "the model file are damaged"])
            self.refused(["logits", "--model", folder, "--ids", "1,2"], ["the logits of position 1 hold NaN", "the model file are damaged"])

    def test_empty_and_long_prompts(self):
        self.refused(["run", "--model", tiny, ""], ["no tokens"])
        self.refused(["run", "--model", tiny, "x " * 300], ["256"])

    def test_wrong_models(self):
        self.refused(["info", "--model", "/nowhere"], ["/nowhere"])
        self.refused(["info", "--model", str(root / "README.md")], ["README.md"])
        self.refused(["info", "--model", str(root / "tests")], ["config.json"])

    def test_f11_another_model_is_refused_with_both_values(self):
        self.refused(["info", "--model", str(root / "tests/data/models/tiny-llama/model.gguf")],
                     ["hidden: compiled 160, file 21", "position: compiled Absolute, file Rope", "tiny-shakespeare"])

    def test_help_describes_every_command(self):
        done = engine("--help")
        self.assertEqual(done.returncode, 0)
        for command in ["run", "chat", "tokens", "logits", "info", "pack", "bench", "verify", "serve"]:
            self.assertIn(command, done.stdout.decode())
            self.assertEqual(engine(command, "--help").returncode, 0)

    def test_help_offers_only_what_does_something(self):
        for command in ["chat", "serve", "pack"]:  # they give no result that could be JSON
            self.assertNotIn("--json", engine(command, "--help").stdout.decode())
            done = engine(command, "--model", tiny, "--json", *(["/nowhere"] if command == "pack" else []))
            self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertNotIn("--backend", engine("pack", "--help").stdout.decode())  # it packs for every backend
        self.assertNotIn("--kernels", engine("run", "--help").stdout.decode())  # this engine has no device code
        self.assertIn("default: the model inside this program", engine("run", "--help").stdout.decode())


class AnyModel(unittest.TestCase):
    def test_a_file_without_a_config_runs_on_the_reference(self):
        golden = json.loads((root / "tests/data/models/tiny-llama/golden.json").read_text())
        ids = golden["prompt"]["ids"]
        done = call(options.any_engine, "logits", "--model", str(root / "tests/data/models/tiny-llama/model.gguf"), "--ids", ",".join(map(str, ids)), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        last = golden["prompt"]["logits"][-1]
        best = json.loads(done.stdout)["top"][0]
        self.assertEqual(best["id"], max(range(len(last)), key=last.__getitem__))
        self.assertTrue(abs(best["logit"] - max(last)) < 1e-3)

    def test_backends_agree(self):
        arguments = ["logits", "--model", tiny, "--ids", "5,6,7", "--json"]
        one = json.loads(call(options.any_engine, *arguments).stdout)["top"][0]
        two = json.loads(call(options.any_engine, *arguments, "--backend", "reference-double").stdout)["top"][0]
        self.assertEqual(one["id"], two["id"])
        self.assertTrue(abs(one["logit"] - two["logit"]) < 1e-3)


class Chat(unittest.TestCase):
    """A conversation with random weights: what it says is noise, what the program says about it is not."""

    def chat(self, typed, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            for file in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]:
                Path(folder, file).write_bytes((root / "tests/data/models/tiny-llama" / file).read_bytes())
            Path(folder, "chat_template.jinja").write_text("{% for m in messages %}<{{ m.content }}>{% endfor %}{% if add_generation_prompt %}!{% endif %}")
            done = subprocess.run([options.any_engine, "chat", "--model", folder, *arguments], input=typed, capture_output=True, timeout=60)
        return done.returncode, done.stdout, done.stderr.decode()

    def test_each_line_is_answered_and_the_end_of_input_ends_it(self):
        for typed in [b"hello\n", b"hello", b"\n \nhello\n", b"/new\nhello\n/exit\nhello\n", b"hello\n/exit \n"]:
            status, said, errors = self.chat(typed, "--max-tokens", "1")
            self.assertEqual((status, errors), (0, ""))
            self.assertEqual(said, self.chat(b"hello\n", "--max-tokens", "1")[1])
        self.assertEqual(self.chat(b""), (0, b"", ""))

    def test_new_starts_the_same_conversation_again(self):
        once = self.chat(b"hello\n", "--max-tokens", "4")[1]
        self.assertEqual(self.chat(b"hello\n/new\nhello\n/new \nhello\n", "--max-tokens", "4")[1], 3 * once)

    def test_a_full_context_is_said_and_what_helps(self):
        status, said, errors = self.chat(b"hello\nhello\n/new\nhello\n", "--max-tokens", "9", "--context", "12")
        self.assertEqual(status, 0)
        self.assertIn("the context of 12 tokens is full: /new starts afresh\nthe conversation has", errors)
        self.assertEqual(errors.count("/new"), 3)
        status, said, errors = self.chat(b"far too long for so few\n", "--context", "12")
        self.assertEqual((status, said), (0, b""))
        self.assertEqual(errors, "the message has 25 tokens, the context holds 12: a shorter one fits\n")

    def test_bytes_that_are_no_text(self):
        status, said, errors = self.chat(b"\xff\xfe\0\n", "--max-tokens", "2")
        self.assertEqual((status, errors), (0, ""))


class Tool(unittest.TestCase):
    def test_tokenize(self):
        case = oracle("tiny-shakespeare")[1]
        done = call(options.tool, "tokenize", tiny, case["text"])
        self.assertEqual(json.loads(done.stdout), case["ids"], done.stderr)

    def test_inspect(self):
        text = call(options.tool, "inspect", tiny).stdout.decode()
        for word in ["hidden: 160", "attention.heads: 5", "F16", "transformer.wte.weight", "2048 x 160"]:
            self.assertIn(word, text)

    def test_render(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "t.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<go>{% endif %}")
            Path(folder, "c.json").write_text('{"messages": [{"role": "user", "content": "hä"}], "add_generation_prompt": true}')
            done = call(options.tool, "render", f"{folder}/t.jinja", f"{folder}/c.json")
            self.assertEqual(done.stdout.decode(), "<user>hä<go>", done.stderr)
            self.assertEqual(call(options.tool, "render", folder, f"{folder}/c.json").returncode, 2)
            Path(folder, "c.json").write_text('{"messages": [')
            done = call(options.tool, "render", f"{folder}/t.jinja", f"{folder}/c.json")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for program in ["tiny-engine", "any-engine", "tool"]:
        parser.add_argument(f"--{program}", required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
