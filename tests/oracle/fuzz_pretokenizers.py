#!/usr/bin/env python3
"""Differential test of the pre-tokenizers against the `tokenizers` package (pip install tokenizers). Run by hand:

    g++ -std=c++20 -O2 -Iinclude tests/oracle/print_pieces.cpp -o build/print_pieces
    python3 tests/oracle/fuzz_pretokenizers.py build/print_pieces [COUNT [SEED [NAME...]]]

COUNT random strings (100,000) for each pre-tokenizer: all planes of Unicode, runs of a few kinds of characters, long runs, control
characters. Prints one line each; the last run lies in tests/oracle/results/pretokenizers.txt. Strings with one of the 13 digits that
Unicode 17 added are counted apart: the package's Digits step follows the Unicode version of Rust's standard library, its regular
expressions another one, ours is 16.
"""
import datetime
import random
import subprocess
import sys

import tokenizers

from pre_tokenizer_chains import CHAINS, oracle

NEW_DIGITS = set(chr(c) for c in [*range(0x11DE0, 0x11DEA), 0x16FF4, 0x16FF5, 0x16FF6])

POOLS = [
    "abcXYZ", "0123456789", " ", " \t", "\r\n", " \r\n\t\v\f", "'sStTmMdDrReEvVlL\u017f", "'", ".,!?-_()[]{}#\"/\\", "½²³٣५〇Ⅷ①",
    "éàßñøЖяλΩ", "中文字漢", "かなカナ", "한국어", "aBcDeFG", "ǅǈᾈʰˢªº中ا", "AÀ\u0301中aʰ", "。，、।۔،…|()", "！（：～‘‟\u3000。", "ℂΩK\u10d0ա\u1c90𝐀𝒶", "²³¹¼½¾мґû",
    "\u0301\u0327\u093e\u0e31", "😀👩\u200d👩\ufe0f🇫🇷", "\u00a0\u1680\u2003\u2028\u2029\u3000\u0085",
    "".join(map(chr, range(0x00, 0x20))) + "\x7f", "".join(map(chr, range(0x80, 0xA0))), "\ufeff\u200b\u180e\u001c\u001d\u001e\u001f", "\ufffd\uffff\U0010ffff\ue000",
]


def any_character(rng):
    while True:
        if rng.random() < 0.5:
            plane = rng.choice([0, 0, 0, 1, 1, 2, 3, 14, 15, 16, *range(4, 14)])
            point = plane * 0x10000 + rng.randrange(0x10000)
        else:
            point = rng.randrange(0x3400)
        if not 0xD800 <= point < 0xE000:
            return chr(point)


def any_string(rng):
    kind = rng.random()
    if kind < 0.2:
        return "".join(any_character(rng) for _ in range(rng.randrange(1, 40)))
    if kind < 0.21:  # long runs
        return "".join(rng.choice(rng.choice(POOLS)) * rng.randrange(1, 2000) for _ in range(rng.randrange(1, 4)))
    parts = []
    for _ in range(rng.randrange(1, 16)):
        if rng.random() < 0.15:
            parts.append(any_character(rng))
        else:
            pool = rng.choice(POOLS)
            parts.append("".join(rng.choice(pool) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4, 7]))))
    return "".join(parts)


def main():
    program, count, seed = sys.argv[1], int((sys.argv[2:] or [100000])[0]), int((sys.argv[3:] or [1])[0])
    names = sys.argv[4:] or list(CHAINS)
    print(f"{datetime.date.today()}, tokenizers {tokenizers.__version__}, {count} strings for each pre-tokenizer, seed {seed}")
    failed = False
    for name in names:
        pre_tokenizer = oracle(name)
        rng = random.Random(f"{seed} {name}")
        texts = [any_string(rng) for _ in range(count)]
        done = subprocess.run([program, name], input="\n".join(text.encode().hex() for text in texts) + "\n", capture_output=True, text=True, check=True)
        ours = done.stdout.split("\n")[:-1]
        assert len(ours) == count
        mismatches, explained, pieces = [], 0, 0
        for text, line in zip(texts, ours):
            expected = [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]  # one stand-in for each byte
            pieces += len(expected)
            if expected != [int(length) for length in line.split()]:
                if NEW_DIGITS & set(text):
                    explained += 1
                else:
                    mismatches.append((text, expected, line))
        characters = sum(map(len, texts))
        print(f"{name}: {characters} characters, {pieces} pieces, longest string {max(map(len, texts))}, mismatches {len(mismatches)}, "
              f"digits of Unicode 17 {explained}", flush=True)
        for text, expected, line in mismatches[:5]:
            print(f"  {ascii(text)[:300]}: expected {expected[:40]}, ours {line[:160]}")
        failed = failed or bool(mismatches)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
