#!/usr/bin/env python3
"""One measurement of llama.cpp or ik_llama.cpp, through their C functions: batches of ids to llama_decode, the greatest logit by numpy.

  bench/peer_llama.py llama_cpp MODEL decode --generate 64 --threads 2 --flash 1

Prints one JSON object. Only llama_decode and the wait for its logits are timed, so that nothing of Python is counted as theirs. A cold start is the
time of opening their library, loading the model, a prompt and its first token, without the interpreter and its imports; memory is the peak
less what was resident before the model was opened.
"""
import argparse
import ctypes
import importlib.util
import json
import random
import time
from pathlib import Path

from memory import status


def open_library(package):
    """Their library with all that it needs; returns the seconds it took."""
    folder = Path(importlib.util.find_spec(package).submodule_search_locations[0]) / "lib"
    began = time.perf_counter()
    ctypes.CDLL(str(folder / "libllama.so"))
    return time.perf_counter() - began


class Peer:
    """A context of theirs with room for `sequences` sequences of `tokens` tokens."""

    def __init__(self, package, options, tokens, sequences):
        if package == "ik_llama_cpp":
            from ik_llama_cpp import _ctypes_api as api
            self.library = ctypes.CDLL(str(Path(api.__file__).parent / "lib" / "libllama.so"))
        else:
            from llama_cpp import llama_cpp as api
            self.library = None
        self.api = api
        self.baseline = status("VmRSS")
        self.began = time.perf_counter()
        api.llama_backend_init()
        parameters = api.llama_model_default_params()
        parameters.use_mmap = bool(options.mmap)
        if self.library:
            parameters.repack_tensors = bool(options.repack)
            parameters.use_mmap = parameters.use_mmap and not options.repack
        else:
            parameters.use_extra_bufts = bool(options.repack)
        model = api.llama_model_load_from_file(options.model.encode(), parameters)
        if not model:
            raise SystemExit(f"{package} refuses {options.model}")
        self.vocab = api.llama_model_get_vocab(model)
        self.size = api.llama_vocab_n_tokens(self.vocab)
        parameters = api.llama_context_default_params()
        parameters.n_ctx = sequences * ((tokens + 255) // 256 * 256)
        parameters.n_seq_max = sequences
        parameters.n_batch = max(512, sequences)
        parameters.n_threads = parameters.n_threads_batch = options.threads
        if self.library:
            parameters.flash_attn = bool(options.flash)
        else:
            parameters.flash_attn_type = options.flash
        self.context = api.llama_init_from_model(model, parameters)
        if not self.context:
            raise SystemExit(f"{package} makes no context of {parameters.n_ctx} tokens")
        self.batch = api.llama_batch_init(max(512, sequences), 0, 1)
        self.seconds = 0.0

    def decode(self, rows):
        """rows of (id, position, sequence, wants logits); at most 512. Returns the numbers of the rows that have logits."""
        for i, (token, position, sequence, logits) in enumerate(rows):
            self.batch.token[i], self.batch.pos[i] = token, position
            self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, sequence
            self.batch.logits[i] = logits
        self.batch.n_tokens = len(rows)
        asked = [i for i, row in enumerate(rows) if row[3]]
        began = time.perf_counter()
        failed = self.api.llama_decode(self.context, self.batch)
        for i in asked[-1:]:
            self.api.llama_get_logits_ith(self.context, i)  # waits
        self.seconds += time.perf_counter() - began
        if failed:
            raise SystemExit(f"llama_decode failed: {failed}")
        return asked

    def logits(self, i):
        import numpy
        return numpy.ctypeslib.as_array(ctypes.cast(self.api.llama_get_logits_ith(self.context, i), ctypes.POINTER(ctypes.c_float)), (self.size,))

    def prompt(self, ids, sequence=0, logits=1):
        for first in range(0, len(ids), 512):
            part = ids[first:first + 512]
            self.decode([(token, first + i, sequence, logits and first + i + 1 == len(ids)) for i, token in enumerate(part)])

    def cut(self, sequence, length):
        """Forgets the positions from length on."""
        if self.library:
            self.library.llama_kv_cache_seq_rm(ctypes.c_void_p(self.context), ctypes.c_int32(sequence), ctypes.c_int32(length), ctypes.c_int32(-1))
        else:
            self.api.llama_memory_seq_rm(self.api.llama_get_memory(self.context), sequence, length, -1)

    def tokenize(self, text):
        ids = (ctypes.c_int32 * (len(text) + 8))()
        raw = text.encode()
        return list(ids[:self.api.llama_tokenize(self.vocab, raw, len(raw), ids, len(ids), False, False)])


def measure(peer, options):
    """Seconds of each repeat; the first finds memory cold, and does not count."""
    numbers = random.Random(1)
    some = lambda count: [numbers.randrange(peer.size) for _ in range(count)]
    seconds = []
    if options.what == "decode" and options.depth:
        for sequence in range(options.batch):
            peer.prompt(some(options.depth), sequence, 0)
    for _ in range(options.repeat + 1):
        peer.seconds = 0.0
        if options.what == "prefill":
            peer.prompt(some(options.prompt))
            peer.cut(0, 0)
        else:
            ids = some(options.batch)
            for step in range(options.generate):
                peer.decode([(token, options.depth + step, sequence, 1) for sequence, token in enumerate(ids)])
                ids = [int(peer.logits(i).argmax()) for i in range(options.batch)]
            for sequence in range(options.batch):
                peer.cut(sequence, options.depth)
        seconds.append(peer.seconds)
    return seconds[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=["llama_cpp", "ik_llama_cpp"])
    parser.add_argument("model")
    parser.add_argument("what", choices=["prefill", "decode", "cold", "logits"])
    for name, value in {"prompt": 512, "generate": 64, "batch": 1, "depth": 0, "repeat": 3, "threads": 2, "flash": 0, "repack": 1, "mmap": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--text", default="The capital of France is", help="cold: the prompt")
    parser.add_argument("--ids", help="logits: a file with a sequence of ids on each line, at most 1024")
    parser.add_argument("--output", help="logits: a file for float32 numbers, of all positions of all sequences")
    options = parser.parse_args()
    import numpy  # noqa: F401, before anything is timed
    library_seconds = open_library(options.package)

    if options.what == "cold":
        peer = Peer(options.package, options, 16, 1)
        ids = peer.tokenize(options.text)
        last = peer.decode([(token, i, 0, i + 1 == len(ids)) for i, token in enumerate(ids)])[0]
        first = int(peer.logits(last).argmax())
        result = {"cold_s": library_seconds + time.perf_counter() - peer.began, "ids": ids, "first": first, "peak_rss_bytes": status("VmHWM") - peer.baseline}
    elif options.what == "logits":
        peer = Peer(options.package, options, 1024, 1)
        with open(options.ids, encoding="utf-8") as lines, open(options.output, "wb") as output:
            for line in lines:
                ids = [int(word) for word in line.split()]
                for first in range(0, len(ids), 256):
                    for i in peer.decode([(token, first + i, 0, 1) for i, token in enumerate(ids[first:first + 256])]):
                        peer.logits(i).tofile(output)
                peer.cut(0, 0)
        result = {"output": options.output}
    else:
        tokens = options.prompt if options.what == "prefill" else options.depth + options.generate
        peer = Peer(options.package, options, tokens, options.batch if options.what == "decode" else 1)
        count = options.prompt if options.what == "prefill" else options.batch * options.generate
        result = {"tok_s": [count / seconds for seconds in measure(peer, options)], "peak_rss_bytes": status("VmHWM") - peer.baseline}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
