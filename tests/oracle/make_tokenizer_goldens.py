#!/usr/bin/env python3
"""Writes the right values of tests/tokens into tests/data/tokens (pip install tokenizers regex unicodedata2==16.0.0). Run by hand:

    python3 tests/oracle/make_tokenizer_goldens.py SHARED

SHARED is the folder with tokenizers/*.json and tokenizers/vocab/*.inp, whose texts are taken.
pieces.json: texts and the lengths in bytes of their pieces, by the models' expressions in Python's `regex`.
tiny-shakespeare.json: texts and ids of models/tiny-shakespeare/tokenizer.json by the `tokenizers` package.
added_tokens.json: texts and ids with added tokens of every kind, by the `tokenizers` package.
normal_forms.json: random strings in NFC and NFKC by the package `unicodedata2` 16.0.0.
invalid_utf8.json: random bytes and what Python's decoder makes of them.
"""
import json
import pathlib
import random
import sys

import regex
import tokenizers
import unicodedata2
from tokenizers import AddedToken, models, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/data/tokens"
SPACE = r"\p{White_Space}"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
STAGES = {
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}|[^\p{N}]+", GPT2],
    "llama-bpe": [LLAMA3],
    "qwen2": [LLAMA3.replace("{1,3}", "")],
}


def write(name, how, cases):
    lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in cases)
    (DATA / name).write_text('{"how": ' + json.dumps(how) + ',\n"cases": [\n' + lines + "\n]}\n")


def split(text, stages):
    if not stages:
        return [text]
    pattern = stages[0].replace(r"[^\s\p", "[^" + SPACE + r"\p").replace(r"(?!\S)", "(?![^" + SPACE + "])").replace(r"\s", SPACE)
    found = regex.findall(pattern, text)
    assert "".join(found) == text
    return [piece for part in found for piece in split(part, stages[1:])]


def texts_of(shared):
    texts = [case["text"] for case in json.loads((shared / "tokenizers/smollm2-135m-instruct.json").read_text())["cases"]]
    texts += (shared / "tokenizers/vocab/ggml-vocab-gpt-2.gguf.inp").read_text().split("\n__ggml_vocab_test__\n")
    return list(dict.fromkeys(text for text in texts if text))


def pieces(texts):
    cases = [{"text": text, **{name: [len(piece.encode()) for piece in split(text, stages)] for name, stages in STAGES.items()}}
             for text in texts]
    write("pieces.json", f"regex {regex.__version__}", cases)


def tiny_shakespeare(texts):
    tokenizer = tokenizers.Tokenizer.from_file(str(ROOT / "models/tiny-shakespeare/tokenizer.json"))
    own = ["ROMEO:", "JULIET:\nO Romeo, Romeo! wherefore art thou Romeo?\n", "First Citizen:\nBefore we proceed any further, hear me speak.",
           "What's in a name? That which we call a rose\nBy any other name would smell as sweet;", "the the the", "thethethe", "a" * 300,
           " " * 100, "\n" * 50, "<|endoftext|>", "<|endoftext|", "The King<|endoftext|>The Queen", "'Tis better, I'll go; they've gone'd"]
    write("tiny-shakespeare.json", f"tokenizers {tokenizers.__version__}",
          [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in own + texts[:90]])


def added_tokens():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [("<s>", True, {}), ("<sep>", True, {"lstrip": True}), ("<mask>", True, {"rstrip": True, "lstrip": True}),
              ("<r>", True, {"rstrip": True}), ("<ab>", True, {}), ("<ab>c", True, {}), ("word", False, {"single_word": True}),
              ("foo", False, {"normalized": False}), ("foobar", False, {"normalized": True}), ("obar", False, {"normalized": False}),
              ("\u00e9t\u00e9", False, {"single_word": True, "normalized": False}), ("  ", False, {"normalized": False}), ("   x", False, {})]
    tokenizer = tokenizers.Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    for content, special, flags in tokens:
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)([AddedToken(content, special=special, **flags)])
    described = [json.loads(line) for line in [json.dumps(token) for token in json.loads(tokenizer.to_str())["added_tokens"]]]
    rng = random.Random(4)
    bits = [token[0] for token in tokens] * 2 + ["a", "b", " ", " ", "\n", "\t", "\u3000", "_", "9", "\u00e9", "\u0301", ".", "<", ">", "fo", "wor", "\u24b6", "\U0001f600"]
    cases = []
    for _ in range(150):
        text = "".join(rng.choice(bits) for _ in range(rng.randrange(1, 9)))
        found = tokenizer.encode(text, add_special_tokens=False)
        added = [span for span, token in zip(found.offsets, found.ids) if token >= len(alphabet)]
        if all(left[1] <= right[0] for left, right in zip(added, added[1:])):  # the package finds white space twice that an rstrip took
            cases.append({"text": text, "ids": found.ids})
    write("added_tokens.json", f"tokenizers {tokenizers.__version__}; first the alphabet by id, then the added tokens",
          [{"alphabet": alphabet, "added": described}, *cases])


def normal_forms():
    rng = random.Random(8)
    decomposing = [c for c in range(0x110000) if unicodedata2.decomposition(chr(c))]
    marks = [c for c in range(0x110000) if unicodedata2.combining(chr(c))]
    hangul = [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A7, 0x11C3)]
    starters = [0x9BE, 0x9C7, 0xB47, 0xB56, 0xDCF, 0xDD9, 0x1025, 0x102E, 0x16121, 0x1611E, 0x16129, 0x1611F, 0x16120]
    base = [ord(c) for c in "aeiouAEIOUcnsyz ;KO<>="]
    cases = []
    for _ in range(300):
        text = "".join(chr(rng.choice(rng.choice([decomposing, marks, marks, hangul, starters, base, range(0xAC00, 0xD7A4)])))
                       for _ in range(rng.randrange(1, 9)))
        cases.append([text, unicodedata2.normalize("NFC", text), unicodedata2.normalize("NFKC", text)])
    write("normal_forms.json", "unicodedata2 16.0.0: text, NFC, NFKC", cases)


def invalid_utf8():
    rng = random.Random(6)
    likely = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF]
    cases = []
    for _ in range(400):
        data = bytes(rng.choice(likely) for _ in range(rng.randrange(1, 9)))
        cases.append({"bytes": list(data), "text": data.decode("utf-8", "replace")})
    write("invalid_utf8.json", "Python's bytes.decode('utf-8', 'replace')", cases)


if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    all_texts = texts_of(pathlib.Path(sys.argv[1]))
    pieces(all_texts)
    tiny_shakespeare(all_texts)
    added_tokens()
    normal_forms()
    invalid_utf8()
