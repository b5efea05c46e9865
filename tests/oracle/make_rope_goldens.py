"""Makes tests/data/rope/rope.json: frequencies and rotated vectors in double precision, from the papers' formulas alone.

RoPE (Su et al. 2021): pair i of d/2 turns by p * theta^(-2i/d). Linear scaling (Chen et al. 2023): every frequency over the
factor. llama3 (Llama 3.1's reference): long waves over the factor, short ones kept, those between blended, linear in
original context / wavelength. YaRN (Peng et al. 2023): the same kind of blend, linear in the pair's number between the pairs that
turn beta_fast and beta_slow times, and what turns is stretched by 0.1 ln(factor) + 1. Half-split pairs are (i, i + d/2), interleaved ones (2i, 2i + 1).
"""
import json
import math
import pathlib

import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[1] / "data" / "rope" / "rope.json"
POSITIONS = [0, 1, 7, 100, 8191]

YARN = dict(type="yarn", factor=4.0, original_context=32768, beta_fast=32.0, beta_slow=1.0)
LLAMA3 = dict(type="llama3", low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)
CASES = [
    dict(name="R1 the smallest", head_dim=4, theta=1e4, vector=[1.0, 2.0, 3.0, 4.0]),
    dict(name="an odd number of pairs", head_dim=10, theta=5e5),
    dict(name="partial: 20 of 80 values turn", head_dim=80, rotary_dim=20, theta=1e4),
    dict(name="partial: 6 of 16, linear", head_dim=16, rotary_dim=6, theta=1e4, scaling=dict(type="linear", factor=4.0)),
    dict(name="linear", head_dim=64, theta=1e6, scaling=dict(type="linear", factor=8.0)),
    dict(name="R2 llama3, 64", head_dim=64, theta=5e5, scaling=dict(LLAMA3, factor=32.0)),
    dict(name="R2 llama3, 128", head_dim=128, theta=5e5, scaling=dict(LLAMA3, factor=8.0)),
    dict(name="yarn, 128", head_dim=128, theta=1e6, scaling=YARN),
    dict(name="yarn, partial, other bands", head_dim=80, rotary_dim=36, theta=1e4,
         scaling=dict(YARN, factor=8.0, original_context=2048, beta_fast=16.0, beta_slow=2.0)),
]


def frequencies(dim, theta, scaling):
    plain = [theta ** (-2 * i / dim) for i in range(dim // 2)]
    if scaling is None:
        return plain
    if scaling["type"] == "linear":
        return [f / scaling["factor"] for f in plain]
    if scaling["type"] == "yarn":
        return yarn_frequencies(plain, dim, theta, scaling)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    out = []
    for f in plain:
        waves = scaling["original_context"] * f / (2 * math.pi)  # how often it turns within the original context
        if waves > high:
            out.append(f)
        elif waves < low:
            out.append(f / scaling["factor"])
        else:
            keep = (waves - low) / (high - low)
            out.append((1 - keep) * f / scaling["factor"] + keep * f)
    return out


def yarn_frequencies(plain, dim, theta, scaling):
    def pair(turns):  # the pair, as a real number, that turns so often within the original context: solved for i
        wavelength = scaling["original_context"] / turns
        return dim / 2 * math.log(wavelength / (2 * math.pi), theta)

    first, last = math.floor(pair(scaling["beta_fast"])), math.ceil(pair(scaling["beta_slow"]))
    assert 0 <= first < last < dim // 2
    out = []
    for i, f in enumerate(plain):
        divided = 0.0 if i <= first else 1.0 if i >= last else (i - first) / (last - first)
        out.append((1 - divided) * f + divided * f / scaling["factor"])
    return out


def stretch(scaling):
    return 0.1 * math.log(scaling["factor"]) + 1 if scaling and scaling["type"] == "yarn" else 1.0


def rotate(vector, freqs, position, pairs):
    x = np.array(vector)
    half = len(freqs)
    for i, f in enumerate(freqs):
        a, b = (i, i + half) if pairs == "half_split" else (2 * i, 2 * i + 1)
        angle = position * f
        x[a], x[b] = (vector[a] * math.cos(angle) - vector[b] * math.sin(angle),
                      vector[a] * math.sin(angle) + vector[b] * math.cos(angle))
    return x


def rounded(values):
    return [float(f"{v:.12g}") for v in values]


def example(dim, step):
    """Multiples of 1/16 within about +-3: exact in every float format from half on."""
    return [((i * step + 11) % 101 - 50) / 16 for i in range(dim)]


def main():
    cases = []
    for c in CASES:
        dim = c.get("rotary_dim", c["head_dim"])
        freqs = frequencies(dim, c["theta"], c.get("scaling"))
        vectors = dict(q=c.get("vector") or example(c["head_dim"], 37), k=c.get("vector") or example(c["head_dim"], 59))
        case = dict(name=c["name"], head_dim=c["head_dim"], rotary_dim=dim, theta=c["theta"], scaling=c.get("scaling"),
                    inv_freq=rounded(freqs), **vectors, rotated=[])
        for p in POSITIONS:
            by = np.array([stretch(c.get("scaling")) if i < dim else 1.0 for i in range(c["head_dim"])])
            turned = {which: rounded(by * rotate(v, freqs, p, "half_split")) for which, v in vectors.items()}
            case["rotated"].append(dict(position=p, **turned))
        case["interleaved_q"] = dict(position=1, q=rounded(rotate(vectors["q"], freqs, 1, "interleaved")))
        cases.append(case)
    by_hand(cases)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(dict(how="double precision from the papers' formulas; pairs are half-split (i, i + rotary_dim / 2) unless "
                               "interleaved is said", cases=cases))
    OUT.write_text(text.replace(', "', ',\n"').replace("}, {", "},\n{") + "\n")


def by_hand(cases):
    """Values that were worked out elsewhere, before this script existed."""
    near = lambda a, b, digits: abs(a - b) <= abs(b) * 10.0 ** -digits
    r1 = cases[0]
    assert all(near(a, b, 6.5) for a, b in zip(r1["rotated"][1]["q"], [-1.9841106, 1.9599007, 2.4623779, 4.0197997]))
    assert all(near(a, b, 6.5) for a, b in zip(r1["interleaved_q"]["q"], [-1.1426397, 1.9220756, 2.9598507, 4.0297995]))
    r2 = cases[5]["inv_freq"]
    for i, v in {14: 3.211445995e-3, 15: 1.290547928e-3, 16: 4.295567966e-4, 17: 9.708287803e-5, 31: 9.418306725e-8}.items():
        assert near(r2[i], v, 8), (i, r2[i], v)
    wide, plain = cases[6]["inv_freq"], rounded(frequencies(128, 5e5, None))
    ratio = [p / f for p, f in zip(plain, wide)]
    assert all(near(r, 1, 9) for r in ratio[:29]) and all(near(r, 8, 9) for r in ratio[35:]), ratio
    assert all(1.0001 < r < 7.9999 for r in ratio[29:35]), ratio


main()
