"""Random blocks of every quantised format and what the `gguf` package makes of them (float32 bits).

Not needed to run the tests; their data, tests/data/files/block_goldens.txt, is what this script printed:
    python tests/oracle/make_block_goldens.py > tests/data/files/block_goldens.txt        (gguf 0.10 or later, numpy)
A line: format, the block's bytes in hex, the weights' bits in hex (a NaN is written as "nan").
"""

import struct

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize

# Where the half scales lie in a block.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
# Ordinary, negative, the smallest subnormal, the largest subnormal, the largest finite, infinite, NaN.
SCALES = [[0.01234, 0.5], [-0.75, 3.0], [2.0**-24, -(2.0**-24)], [1023 * 2.0**-24, 0.125], [65504.0, -65504.0], [np.inf, 1.0], [1.0, np.nan]]

random = np.random.default_rng(20240607)
np.seterr(all="ignore")
for name, offsets in HALVES.items():
    kind = Type[name]
    weights, size = GGML_QUANT_SIZES[kind]
    for scales in SCALES if weights == 32 else SCALES[:3] + SCALES[5:]:
        if len(offsets) == 1 and np.isnan(scales[-1]):
            scales = [np.nan]
        block = random.integers(0, 256, size, dtype=np.uint8)
        for offset, scale in zip(offsets, scales):
            block[offset : offset + 2] = np.frombuffer(struct.pack("<e", scale), dtype=np.uint8)
        floats = dequantize(block.reshape(1, size), kind).astype(np.float32).ravel()
        assert floats.size == weights
        bits = ["nan" if np.isnan(value) else f"{pattern:x}" for value, pattern in zip(floats, floats.view(np.uint32))]
        print(name, block.tobytes().hex(), *bits)

# The 65,536 half values, as one number that the tests compare: FNV-1a over the floats' bits, NaN left out.
values = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
state = 1469598103934665603
for value, pattern in zip(values, values.view(np.uint32).tolist()):
    if not np.isnan(value):
        state = ((state ^ pattern) * 1099511628211) & (2**64 - 1)
print("F16", f"{state:016x}", int(np.isnan(values).sum()))
