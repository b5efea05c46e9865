#!/usr/bin/env python3
"""Writes the right values of the pre-tokenizers into tests/data/tokens (pip install tokenizers regex). Run by hand:

    python3 tests/oracle/make_pieces_goldens.py

chains.json: each pre-tokenizer as a tokenizer.json has it, written by the `tokenizers` package.
more_pieces.json: texts and the lengths in bytes of their pieces, by the `tokenizers` package; where the steps are regular expressions and
single digits, Python's `regex` must agree.
"""
import json
import pathlib

import regex
import tokenizers
from tokenizers import Tokenizer, models

from pre_tokenizer_chains import CHAINS, oracle

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/data/tokens"
SPACE = r"\p{White_Space}"
OWN = [
    "HelloWorld", "iPhone XMLParser HTTPSConnection ABC", "DON'T don't I'VE it'ſ X'S", "中文ABC中a", "ʰAʰBʰc ǅab ǅAB", "\u0301AB \u0301ab a\u0301\u0301B", "AB\u0301CD AB\u0301cd",
    "a//b/c.\n/x /\r\n/", "!\u0301a !!\u0301a", "cafe\u0301 café Éa ÉCOLE", "1234567 12½3456 ½6789 ²³1", "٣٤٥ ５６７８ Ⅷ①", "м мир x²y û1", "price: 12,345.67 $100+5<=9^~|`a`",
    "!abcé .def #Ünï ~z", "\x00a \x00\x01b \x001", "a \u3000b\u3000 ！\u3000 「中」。　", "ひらがなカタカナ漢字abcかな", "한국어 中文한a", "ⅷ ℂ \u2126\u212A ა ա 𝐀a", "a ,  b (c|d) e… f。g، h", " (x  y ) z!",
    "\r\n\r\na\n b \n\n", "tab\t\tx  \t", "   \n  x   ", "नमस्ते दुनिया पানি", "👩\u200d👩\ufe0f🇫🇷 ok", "\u2e5b\u166d\u2014x", "....!!??,,  --", "don't stop at 3.14159265!", "\ufffd\u200bx \ue000y", "'S 's 'Re're'LL",
]


def with_regex(text, steps):
    if not steps or steps[0] == ("bytes", False):
        return [text]
    kind, how = steps[0]
    if kind == "digits":
        pattern = r"\p{N}"
    else:
        pattern = how.replace(r"[^\s\p", "[^" + SPACE + r"\p").replace(r"(?!\S)", "(?![^" + SPACE + "])").replace("[^(\\s|[.,!?…。，、।۔،])]", "[^(" + SPACE + "|.,!?…。，、।۔،)]")
        pattern = pattern.replace(r"\s", SPACE)
    pieces, at = [], 0
    for match in regex.finditer(pattern, text):
        pieces += [text[at:match.start()], match.group()]
        at = match.end()
    return [piece for part in [*pieces, text[at:]] if part for piece in with_regex(part, steps[1:])]


def write(name, how, cases):
    lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in cases)
    (DATA / name).write_text('{"how": ' + json.dumps(how) + ',\n"cases": [\n' + lines + "\n]}\n")


def main():
    chains = []
    for name in CHAINS:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = oracle(name)
        chains.append({"name": name, "pre_tokenizer": json.loads(tokenizer.to_str())["pre_tokenizer"]})
    write("chains.json", f"tokenizers {tokenizers.__version__}", chains)

    texts = OWN + [case["text"] for case in json.loads((DATA / "pieces.json").read_text())["cases"] if 20 < len(case["text"]) < 200][:30]
    cases = []
    for text in texts:
        case = {"text": text}
        for name, steps in CHAINS.items():
            case[name] = [len(piece) for piece, _ in oracle(name).pre_tokenize_str(text)]
            if ("bytes", True) not in steps:
                assert case[name] == [len(piece.encode()) for piece in with_regex(text, steps)], (name, text)
        cases.append(case)
    write("more_pieces.json", f"tokenizers {tokenizers.__version__}, regex {regex.__version__}", cases)


if __name__ == "__main__":
    main()
