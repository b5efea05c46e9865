"""The toy vocabularies: byte-level BPE with four merges (261 ids) and a SentencePiece vocabulary (265 ids).

Enough for the readers to find every table that a real file has. The same pieces go into tokenizer.json and into the GGUF.
"""
import json

from gguf import TokenType

MERGES = ["h e", "i n", "\u0120 t", "\u0120t he"]
END_OF_TEXT = "<|endoftext|>"  # id 260
SAMPLE = "the tin then 2026 I'VE\n\nthe \u00e9"  # its ids, by the tokenizers package, are in golden.json

QWEN2_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                 r"|\s+(?!\S)|\s+")


def byte_level(use_regex):
    return dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=use_regex)


def sequence(*parts):
    return dict(type="Sequence", pretokenizers=list(parts))


# As the real models spell them out in tokenizer.json, by the name that GGUF gives them.
PRE_TOKENIZERS = {
    "gpt-2": byte_level(True),
    "smollm": sequence(dict(type="Digits", individual_digits=True), byte_level(True)),
    "qwen2": sequence(dict(type="Split", pattern=dict(Regex=QWEN2_PATTERN), behavior="Isolated", invert=False), byte_level(False)),
}


def byte_alphabet():
    """GPT-2's printable stand-ins for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + others.index(b)) for b in range(256)]


def byte_level_pieces():
    return byte_alphabet() + [m.replace(" ", "") for m in MERGES] + [END_OF_TEXT]


def spm_pieces():
    """(piece, score, kind): four markers, 256 bytes, five words."""
    markers = [("<pad>", TokenType.CONTROL), ("<eos>", TokenType.CONTROL), ("<bos>", TokenType.CONTROL), ("<unk>", TokenType.UNKNOWN)]
    pieces = [(p, 0.0, k) for p, k in markers] + [(f"<0x{b:02X}>", 0.0, TokenType.BYTE) for b in range(256)]
    return pieces + [(p, -float(i + 1), TokenType.NORMAL) for i, p in enumerate(("\u2581the", "\u2581t", "he", "\u2581", "h"))]


def tokenizer_json(pre_tokenizer):
    added = dict(id=260, content=END_OF_TEXT, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return json.dumps(dict(
        version="1.0", truncation=None, padding=None, added_tokens=[added],
        normalizer=dict(type="NFC") if pre_tokenizer == "qwen2" else None, pre_tokenizer=PRE_TOKENIZERS[pre_tokenizer],
        post_processor=None, decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
                   fuse_unk=False, byte_fallback=False, ignore_merges=False,
                   vocab={p: i for i, p in enumerate(byte_level_pieces())}, merges=[m.split(" ") for m in MERGES])),
        ensure_ascii=False, indent=1) + "\n"


def tokenizer_config_json():
    return json.dumps(dict(bos_token=END_OF_TEXT, eos_token=END_OF_TEXT, tokenizer_class="PreTrainedTokenizerFast",
                           clean_up_tokenization_spaces=False), indent=2) + "\n"
