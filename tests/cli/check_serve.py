#!/usr/bin/env python3
"""The server from outside, with a real model: OpenAI's own Python client, clients that leave, signals, a page. Skips (77) without `openai` or the model.

  check_serve.py --engine ENGINE --model FILE
"""
import argparse
import asyncio
import json
import math
import signal
import sys
import time
import unittest
import urllib.request
from pathlib import Path

try:
    import openai
except ImportError:
    print("skipped: the Python package `openai` is not installed")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).parent))
from served import Served  # noqa: E402

options = None
question = [{"role": "user", "content": "What is the capital of France?"}]


def stages_add_up(timing):
    ns = {name: round(value * 1e6) for name, value in timing.items()}
    return sum(value for name, value in ns.items() if name not in ("ttft", "decode_per_token")) == ns["ttft"]


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Served(options.engine, "--model", options.model)
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.model = cls.client.models.list().data[0].id

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop(signal.SIGTERM) == 0

    def ask(self, **more):
        return self.client.chat.completions.create(**{"model": self.model, "messages": question, "max_tokens": 32, "temperature": 0, **more})

    def test_a_chat(self):
        answer = self.ask()
        self.assertIn("Paris", answer.choices[0].message.content)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(len(answer.system_fingerprint), 64)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        self.assertTrue(stages_add_up(answer.timing))
        self.assertEqual(self.client.models.retrieve(self.model).id, self.model)

    def test_a_stream_says_the_same(self):
        events = list(self.ask(stream=True, stream_options={"include_usage": True}))
        text = "".join(choice.delta.content or "" for event in events for choice in event.choices)
        whole = self.ask()
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(events[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(events[0].choices[0].delta.role, "assistant")
        self.assertTrue(stages_add_up(events[-1].timing))
        raw = self.client.chat.completions.with_raw_response.create(model=self.model, messages=question, max_tokens=3)
        self.assertRegex(raw.headers["server-timing"], r"^template;dur=[0-9.e-]+, tokenize;dur=[0-9.e-]+, queue;dur=[0-9.e-]+, prefill;dur=[0-9.e-]+, sample;dur=[0-9.e-]+, send;dur=")

    def test_v5_the_cache_changes_no_bit(self):
        long = [{"role": "user", "content": "Repeat after me: " + "one two three four five six seven. " * 20}]
        ask = lambda: self.ask(messages=long, logprobs=True, top_logprobs=5)  # noqa: E731
        first = ask()
        self.ask(messages=[{"role": "user", "content": "Something else. " * 30}])
        again = ask()
        self.assertLess(first.usage.prompt_tokens_details.cached_tokens, 40)  # no more than the system prompt, which other tests have asked with
        self.assertGreater(again.usage.prompt_tokens_details.cached_tokens, 100)
        self.assertLess(again.usage.prompt_tokens_details.cached_tokens, again.usage.prompt_tokens)
        self.assertEqual(first.choices[0].model_dump(), again.choices[0].model_dump())
        for token in first.choices[0].logprobs.content:
            self.assertLessEqual(token.logprob, 0)
            self.assertEqual(len(token.top_logprobs), 5)
            self.assertAlmostEqual(token.top_logprobs[0].logprob, max(one.logprob for one in token.top_logprobs))
            self.assertLessEqual(sum(math.exp(one.logprob) for one in token.top_logprobs), 1 + 1e-6)

    def test_choices_seeds_stops(self):
        ask = lambda: self.ask(n=3, seed=5, temperature=1.0, top_p=0.9, max_tokens=12)  # noqa: E731
        one, two = ask(), ask()
        self.assertEqual([c.message.content for c in one.choices], [c.message.content for c in two.choices])
        self.assertEqual([c.index for c in one.choices], [0, 1, 2])
        self.assertGreater(len({c.message.content for c in one.choices}), 1)
        stopped = self.ask(stop=["Paris"])
        self.assertEqual(stopped.choices[0].finish_reason, "stop")
        self.assertNotIn("Paris", stopped.choices[0].message.content)
        plain = self.client.completions.create(model=self.model, prompt=["The sky is", "Two and two is"], max_tokens=4, temperature=0, logprobs=2,
                                               extra_body={"top_k": 5, "min_p": 0.1, "repetition_penalty": 1.1})
        self.assertEqual(len(plain.choices), 2)
        self.assertEqual(len(plain.choices[1].logprobs.tokens), plain.usage.completion_tokens - len(plain.choices[0].logprobs.tokens))

    def test_errors_are_the_client_s_own(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask(temperature=-1)
        self.assertIn("temperature is -1", str(caught.exception))
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask(messages=[])
        self.assertEqual(caught.exception.param, "messages")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask(extra_body={"temprature": 1})
        self.assertIn("unknown fields: 'temprature'", str(caught.exception))
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("another")

    def test_many_at_once_say_what_each_says_alone(self):
        prompts = [f"Name {n} animals." for n in ("two", "three", "four", "five", "six", "seven")]
        alone = [self.ask(messages=[{"role": "user", "content": p}]).choices[0].message.content for p in prompts]

        async def everything():
            client = openai.AsyncOpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0)

            async def one(i):
                text = ""
                stream = await client.chat.completions.create(model=self.model, messages=[{"role": "user", "content": prompts[i % 6]}], max_tokens=32, temperature=0, stream=True)
                async for event in stream:
                    text += event.choices[0].delta.content or ""
                    if i % 5 == 4 and len(text) > 10:  # leaves
                        await stream.close()
                        return None
                return text

            return await asyncio.gather(*(one(i) for i in range(24)))

        for i, text in enumerate(asyncio.run(everything())):
            if text is not None:
                self.assertEqual(text, alone[i % 6])

    def test_z_idle_costs_nothing_and_the_numbers_are_there(self):
        self.ask(max_tokens=2)
        time.sleep(0.3)
        before = self.server.cpu_seconds()
        time.sleep(1)
        self.assertLessEqual(self.server.cpu_seconds() - before, 0.011)
        metrics = urllib.request.urlopen(self.server.url + "/metrics").read().decode()
        self.assertIn('diecast_stage_seconds_count{stage="prefill"}', metrics)
        self.assertIn("diecast_running 0\n", metrics)
        page = urllib.request.urlopen(self.server.url + "/").read().decode()
        self.assertIn("The path to the first token", page)
        request = urllib.request.Request(self.server.url + "/path/explain", json.dumps({"messages": question}).encode())
        path = json.load(urllib.request.urlopen(request))
        self.assertEqual(path["text"][0], {"text": "<|im_start|>", "kind": "control"})
        self.assertEqual(sum(span["name"] == "block" for span in path["spans"]) % 30, 0)
        answers = [line for line in self.server.log if line["event"] == "request" and "timing" in line]
        self.assertTrue(answers and all(stages_add_up(line["timing"]) for line in answers))


class Process(unittest.TestCase):
    def stream(self, server, key="none", tokens=200):
        client = openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)
        return client.completions.create(model="any", prompt="Once upon a time", max_tokens=tokens, temperature=1, seed=3, stream=True)

    def test_a_key_is_asked_for(self):
        with Served(options.engine, "--model", options.model, "--api-key", "secret") as server:
            with self.assertRaises(openai.AuthenticationError):
                self.stream(server, "wrong")
            self.assertTrue(list(self.stream(server, "secret", 3)))

    def test_sigterm_finishes_what_runs(self):
        with Served(options.engine, "--model", options.model) as server:
            events = iter(self.stream(server, tokens=40))
            first = next(events)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
            with self.assertRaises((openai.InternalServerError, openai.APIConnectionError)):
                self.stream(server)
            rest = list(events)
            self.assertIn(rest[-1].choices[0].finish_reason, ("length", "stop"))
            self.assertTrue(first.choices[0].text or rest)
            self.assertEqual(server.process.wait(60), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", required=True)
    options, rest = parser.parse_known_args()
    if not Path(options.model).exists():
        print(f"skipped: {options.model} is not here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
