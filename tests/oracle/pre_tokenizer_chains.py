"""The pre-tokenizers by their GGUF names, each as the steps that the model's own tokenizer.json spells out.

("split", regex): Split by it, Isolated; ("digits", individual); ("punctuation",): Contiguous; ("bytes", use_regex): ByteLevel without a
space before the text. The models: gpt2, SmolLM2 (StarCoder2, EXAONE 3.5), Llama 3, Qwen2 and Qwen3, Qwen3.5, GPT-4o and Llama 4,
Mistral Nemo, DeepSeek-Coder-V2 and deepseek-llm, deepseek-coder, DeepSeek-V3, falcon-7b, bloomz.
"""
from tokenizers import Regex, pre_tokenizers as pre

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]+", r"[^\s\p{L}\p{M}\p{N}]+")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED = (r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+%s|" + r"[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*%s|"
         r"\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT4O = CASED % (CONTRACTION + "?", CONTRACTION + "?", "{1,3}")
TEKKEN = CASED % ("", "", "")
LETTERS = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1F7Dᾀ-ᾴᾶ-ᾼ\u1FBE"
    "ῂ-ῄῆ-ῌῐ-\u1FD3ῖ-\u1FDBῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212A-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"
    "𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
IDEOGRAPHS = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"
DEEPSEEK3 = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
             "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
BYTES = ("bytes", False)

CHAINS = {
    "gpt-2": [("bytes", True)],
    "smollm": [("digits", True), ("bytes", True)],
    "llama-bpe": [("split", LLAMA3), BYTES],
    "qwen2": [("split", QWEN2), BYTES],
    "qwen35": [("split", QWEN35), BYTES],
    "gpt-4o": [("split", GPT4O), BYTES],
    "tekken": [("split", TEKKEN), BYTES],
    "deepseek-llm": [("split", "[\r\n]"), ("split", r"\s?[" + LETTERS + "]+"), ("split", "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), ("split", r"\s+$"),
                     ("split", IDEOGRAPHS), ("digits", True), BYTES],
    "deepseek-coder": [("split", "[\r\n]"), ("split", r"\s?\p{L}+"), ("split", r"\s?\p{P}+"), ("split", IDEOGRAPHS), ("digits", True), BYTES],
    "deepseek-v3": [("split", r"\p{N}{1,3}"), ("split", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+"), ("split", DEEPSEEK3), BYTES],
    "falcon": [("punctuation",), ("bytes", True), ("digits", False), ("split", "[0-9][0-9][0-9]")],
    "bloom": [("split", r" ?[^(\s|[.,!?…。，、।۔،])]+"), BYTES],
}


def step(kind, *how):
    if kind == "split":
        return pre.Split(Regex(how[0]), "isolated")
    if kind == "digits":
        return pre.Digits(individual_digits=how[0])
    if kind == "punctuation":
        return pre.Punctuation("contiguous")
    return pre.ByteLevel(add_prefix_space=False, use_regex=how[0])


def oracle(name):
    return pre.Sequence([step(*how) for how in CHAINS[name]])
