#!/usr/bin/env python3
"""One measurement of OpenVINO GenAI on a GGUF file, through LLMPipeline on ids; prints one JSON object.

  bench/peer_openvino.py MODEL prefill --prompt 512 --threads 2

Its own figures are used: the time to the first token of a prompt, and the time for each further token, so that nothing of Python is counted. It converts
the file at every start, which is part of its cold start.
"""
import argparse
import json
import random
import time

from memory import status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("what", choices=["prefill", "decode", "cold"])
    for name, value in {"prompt": 512, "generate": 64, "batch": 1, "depth": 0, "repeat": 3, "threads": 2, "vocab": 49152}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    import numpy
    import openvino
    import openvino_genai
    baseline = status("VmRSS")
    began = time.perf_counter()
    pipeline = openvino_genai.LLMPipeline(options.model, "CPU", INFERENCE_NUM_THREADS=options.threads)
    numbers = random.Random(1)

    def generate(length, count):
        config = openvino_genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = count, True, False
        ids = numpy.array([[numbers.randrange(options.vocab) for _ in range(length)] for _ in range(options.batch)], dtype=numpy.int64)
        inputs = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
        return pipeline.generate(inputs, config).perf_metrics

    if options.what == "cold":
        generate(5, 1)
        result = {"cold_s": time.perf_counter() - began}
    elif options.what == "prefill":
        seconds = [generate(options.prompt, 1).get_ttft().mean / 1000 for _ in range(options.repeat + 1)][1:]
        result = {"tok_s": [options.prompt / one for one in seconds]}
    else:
        # Its own time for each further token counts the tokens of all sequences: taken from the whole, less the first.
        runs = [generate(max(options.depth, 1), options.generate + 1) for _ in range(options.repeat + 1)][1:]
        result = {"tok_s": [1000 * options.batch * options.generate / (one.get_generate_duration().mean - one.get_ttft().mean) for one in runs]}
    result["peak_rss_bytes"] = status("VmHWM") - baseline
    print(json.dumps(result))


if __name__ == "__main__":
    main()
