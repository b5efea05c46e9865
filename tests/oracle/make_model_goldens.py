"""Makes tests/data/models/tiny-*: random weights and the answers that HF transformers computes from them.

The answers are those of float64: torch's float32 names are bound to float64 while HF's code runs, because it casts norms,
softmax and RoPE to float32 by name; a dispatch mode proves that no float32 is left. Plain float32 must agree.
Run:  python tests/oracle/make_model_goldens.py [NAME ...]
"""
import contextlib
import datetime
import json
import math
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoConfig, AutoModelForCausalLM

from as_gguf import CHECKED_BY_HF, llama3_factors, write_gguf
from tiny_models import MODELS
from toy_tokenizers import PRE_TOKENIZERS, SAMPLE, tokenizer_config_json, tokenizer_json

REAL_FLOAT32 = torch.float32
DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "models"
PROMPT, GREEDY, MIN_MARGIN = 24, 12, 0.05
ROWS = (5, 11, 8)  # lengths of the batch's prompts


class NoFloat32(TorchDispatchMode):
    """Refuses every operation that makes a float32 tensor: what runs under it is double throughout."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in torch.utils._pytree.tree_leaves(out):
            if isinstance(t, torch.Tensor) and t.dtype in (REAL_FLOAT32, torch.float16, torch.bfloat16):
                raise AssertionError(f"{func} made {t.dtype}")
        return out


@contextlib.contextmanager
def float64_everywhere():
    old = torch.float32, torch.float, torch.Tensor.float, torch.get_default_dtype()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = old[:3]
        torch.set_default_dtype(old[3])


def hf_config(words):
    words = json.loads(json.dumps(words))  # HF changes nested dictionaries in place
    return AutoConfig.for_model(words.pop("model_type"), **{k: v for k, v in words.items() if k != "architectures"})


def build(words, weights, dtype):
    model = AutoModelForCausalLM.from_config(hf_config(words), dtype=dtype, attn_implementation="eager")
    missing, unexpected = model.load_state_dict({k: v.to(dtype) for k, v in weights.items()}, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"} and (not missing or words["tie_word_embeddings"]), (missing, unexpected)
    return model.eval()


def random_weights(words, generator):
    """Lively weights: scores and logits spread over several units; norms and biases are neither 1 nor 0."""
    model = AutoModelForCausalLM.from_config(hf_config(words), dtype=torch.float32)
    tied, gemma, conv1d = words["tie_word_embeddings"], "gemma" in words["model_type"], words["model_type"] == "gpt2"
    weights = {}
    for name, p in model.named_parameters():
        normal = lambda std, mean=0.0: torch.randn(p.shape, generator=generator) * std + mean
        hidden = words.get("hidden_size") or words["n_embd"]
        if name == "lm_head.weight" and tied:
            continue
        if "norm" in name or ".ln_" in name:
            if name.endswith("bias"):
                w = normal(0.3)
            else:  # multiples of 2^-10, so that Gemma's 1 + w is exact in every format
                mean = (1.5 if name == "model.norm.weight" else 0.2) if gemma else 1.0
                w = torch.round(normal(0.3, mean) * 1024) / 1024
        elif name.endswith("bias"):
            w = normal(0.4)
        elif name == "lm_head.weight" or (tied and ("embed_tokens" in name or "wte" in name)):
            w = normal((1.0 if gemma else 2.5) / math.sqrt(hidden))  # Gemma scales it up: a tied head would repeat its input
        elif any(n in name for n in ("embed_tokens", "embed_in", "wte", "wpe")):
            w = normal(0.5 / words.get("embedding_multiplier", 1.0))
        else:
            w = normal(1.4 / math.sqrt(p.shape[0] if conv1d else p.shape[1]))
        weights[name] = w
    return weights


def positions_of(mask):
    return (mask.cumsum(-1) - 1).clamp(min=0)


@torch.no_grad()
def forward(model, rows, mask=None):
    ids = torch.tensor(rows)
    if mask is None:
        return model(input_ids=ids, use_cache=False).logits
    m = torch.tensor(mask)
    return model(input_ids=ids, attention_mask=m, position_ids=positions_of(m), use_cache=False).logits


def greedy(model, prompt):
    ids, answer, margins = list(prompt), [], []
    for _ in range(GREEDY):
        top = forward(model, [ids])[0, -1].topk(2)
        answer.append(int(top.indices[0]))
        margins.append(float(top.values[0] - top.values[1]))
        ids.append(answer[-1])
    return answer, margins


def padded(rows, side, pad):
    width = max(map(len, rows))
    fill = lambda r, x, full: [x] * (width - len(r)) + full if side == "left" else full + [x] * (width - len(r))
    return [fill(r, pad, list(r)) for r in rows], [fill(r, 0, [1] * len(r)) for r in rows]


def rounded(x):
    return [rounded(v) for v in x] if isinstance(x, list) else float(f"{x:.9g}")


def attempt(name, entry, seed):
    words = entry["config"]
    generator = torch.Generator().manual_seed(seed)
    stored = {k: w.to(getattr(torch, entry["dtype"])) for k, w in random_weights(words, generator).items()}
    exact = {k: w.double() for k, w in stored.items()}
    draw = lambda n: torch.randint(0, words["vocab_size"], (n,), generator=generator).tolist()
    prompt, rows = draw(PROMPT), [draw(n) for n in ROWS]
    rows[2][:3] = rows[1][:3]  # a shared prefix
    with float64_everywhere(), NoFloat32():
        model = build(words, exact, torch.float64)
        single = forward(model, [prompt])[0]
        lasts = [forward(model, [r])[0, -1] for r in rows]
        answer, margins = greedy(model, prompt)
        assert single.dtype == torch.float64
    if min(margins) < entry.get("min_margin", MIN_MARGIN) or len(set(answer)) < 5:
        return None
    return dict(words=words, stored=stored, exact=exact, prompt=prompt, rows=rows, single=single, lasts=lasts, answer=answer,
                margins=margins, seed=seed)


def check(name, entry, run):
    """HF's own float32, padded and cached ways agree; every feature listed in `acts` changes the logits."""
    model = build(run["words"], run["exact"], torch.float32)
    worst = (forward(model, [run["prompt"]])[0] - run["single"]).abs().max().item()
    assert worst < 1e-3, worst
    pads = []
    for side in ("left", "right"):
        ids, mask = padded(run["rows"], side, 0)
        out = forward(model, ids, mask)
        for r, row in enumerate(run["rows"]):
            pads.append((out[r, -1 if side == "left" else len(row) - 1] - run["lasts"][r]).abs().max().item())
    assert max(pads) < 1e-3, pads
    made = model.generate(torch.tensor([run["prompt"]]), attention_mask=torch.ones(1, PROMPT, dtype=torch.long), do_sample=False,
                          max_new_tokens=GREEDY, eos_token_id=None, pad_token_id=0)[0, PROMPT:].tolist()
    assert made == run["answer"], (made, run["answer"])
    effects = []
    for change in entry["acts"]:
        change = dict(change)
        same = change.pop("same", False)
        other = build({**run["words"], **change}, run["exact"], torch.float32)
        effect = (forward(other, [run["prompt"]])[0] - run["single"]).abs().max().item()
        assert effect < 1e-3 if same else effect > 0.02, (change, effect)
        effects.append(round(effect, 3))
    for part in ("bias", "norm", "ln_"):  # forgetting a bias or a norm's weight must show
        silent = {k: (torch.zeros_like(w) if part == "bias" or "gemma" in run["words"]["model_type"] else torch.ones_like(w))
                  if part in k and (part == "bias") == k.endswith("bias") else w for k, w in run["exact"].items()}
        if any(part in k for k in silent):
            effect = (forward(build(run["words"], silent, torch.float32), [run["prompt"]])[0] - run["single"]).abs().max().item()
            assert effect > 0.1, (part, effect)
    spread = run["single"].std().item()
    print(f"{name}: seed {run['seed']}, logits std {spread:.2f}, float32 differs by {worst:.1e}, padded by {max(pads):.1e}, "
          f"margin >= {min(run['margins']):.2f}, effects {effects}", flush=True)
    return worst, max(pads)


def write(name, entry, run, worst, worst_padded):
    folder = DATA / name
    folder.mkdir(parents=True, exist_ok=True)
    config = {**run["words"], "dtype" if "rope_parameters" in run["words"] else "torch_dtype": entry["dtype"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    stored = run["stored"]
    if entry.get("bare"):
        stored = {k.removeprefix("transformer."): w for k, w in stored.items()}
        n = config["n_positions"]
        stored |= {f"h.{i}.attn.bias": torch.ones(n, n).tril().reshape(1, 1, n, n) for i in range(config["n_layer"])}
    if entry.get("embed_out"):
        stored = {k.replace("lm_head.", "embed_out."): w for k, w in stored.items()}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    batch = {"rows": run["rows"], "last_logits": rounded([x.tolist() for x in run["lasts"]])}
    for side in ("left", "right"):
        ids, mask = padded(run["rows"], side, 0)
        batch[side] = {"ids": ids, "mask": mask}
    golden = {
        "model": name, "how": "float64 logits of the stored weights by HF transformers, eager attention",
        "versions": {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]},
        "date": datetime.date.today().isoformat(), "seed": run["seed"], "weights": entry["dtype"],
        "hf_float32_differs_by": float(f"{worst:.2g}"), "hf_float32_padded_differs_by": float(f"{worst_padded:.2g}"),
        "prompt": {"ids": run["prompt"], "logits": rounded(run["single"].tolist())},
        "batch": batch,
        "greedy": {"ids": run["answer"], "margins": rounded(run["margins"])},
    }
    if entry.get("tokens") in PRE_TOKENIZERS:
        (folder / "tokenizer.json").write_text(tokenizer_json(entry["tokens"]))
        (folder / "tokenizer_config.json").write_text(tokenizer_config_json())
        ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(SAMPLE, add_special_tokens=False).ids
        golden["text"] = {"text": SAMPLE, "ids": ids}
    text = json.dumps(golden).replace(', "', ',\n"').replace("], [", "],\n[")
    (folder / "golden.json").write_text(text + "\n")
    read_back(folder, run)
    if "gguf" in entry:
        write_gguf(folder / "model.gguf", name, run["words"], run["stored"], entry["gguf"], entry["tokens"])
        if run["words"]["model_type"] in CHECKED_BY_HF and entry["tokens"] != "letters":
            read_back(folder, run, gguf_file="model.gguf")


def read_back(folder, run, **container):
    """HF's own loaders, of safetensors and of GGUF, give the same logits. (Its GGUF reader knows only part of the keys.)"""
    config = AutoConfig.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, config=config, dtype=torch.float32, attn_implementation="eager", **container)
    worst = (forward(model.eval(), [run["prompt"]])[0] - run["single"]).abs().max().item()
    assert worst < 1e-3, (folder, container, worst)
    if (run["words"].get("rope_scaling") or {}).get("rope_type") == "llama3" and container:  # HF passes rope_freqs.weight over
        theta, dim = run["words"]["rope_theta"], run["words"]["head_dim"]
        plain = theta ** (-torch.arange(0, dim, 2) / dim)
        factors = torch.tensor(llama3_factors(dim, theta, run["words"]["rope_scaling"]))
        assert torch.allclose(plain / factors, model.model.rotary_emb.inv_freq, rtol=1e-6)


def main(names):
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in names or MODELS:
        entry = MODELS[name]
        for seed in range(entry["seed"], entry["seed"] + 100000, 1000):  # the first seed with clear greedy choices
            run = attempt(name, entry, seed)
            if run:
                break
        else:
            sys.exit(f"{name}: no seed with clear greedy choices")
        write(name, entry, run, *check(name, entry, run))


main(sys.argv[1:])
