"""The table of what kernels take: its columns, how many blocks an SM holds, what models share, and what no kernel may have."""
import re

# Per SM: registers, warps, blocks, bytes of shared memory. Source: NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Registers
# are given to a warp in units of 256, warps start in fours, and a block of shared memory takes 1 KiB more than it asks for, in units of 128
# bytes: the same guide, and the occupancy calculator (cuda_occupancy.h) of the toolkit.
SM_LIMITS = {"sm_80": (65536, 64, 32, 164 * 1024), "sm_90": (65536, 64, 32, 228 * 1024), "sm_100": (65536, 64, 32, 228 * 1024)}
FORMS = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k")  # all_forms of kernels/weight_form.hpp
MOST_PER_512_BYTES = 111  # warp instructions: above that an H100 would issue instructions for longer than its memory takes
WEIGHT_KERNELS = ("QkvAppend", "ProjectQkv", "GateUp", "LinearResidual", "Head", "WholeToken")

COLUMNS = ("unit", "architecture", "kernel", "symbol", "threads", "registers", "shared", "stack", "spills", "blocks", "warps", "bytes", "loads",
           "copies", "ahead", "per_512", "tensor", "local")
LOOKED_AT = ("loads", "copies", "ahead", "per_512", "tensor", "local")  # by nvdisasm
INTRODUCTION = """What nvcc {release} makes of every kernel, from one PTX (compute_80) for each architecture. Written by tools/kernel_resources.py, compared by ./check.
symbol     of the instantiation: the same in two units, the same code
shared, stack, spills, bytes   bytes of shared memory (more than 48 KiB are asked for at the launch), local memory, spill stores and loads, machine code
blocks, warps   that an SM holds at once by registers, threads and shared memory
loads      128-bit loads of weights in the machine code
copies     128-bit asynchronous copies into shared memory
ahead      rows of weights that a warp has on their way by such copies while it multiplies one: what its waits leave (an operation each of the whole token)
per_512    warp instructions for each 512 bytes of weights, on the longest way through the loop that loads or copies them (`row`: the loop is one over rows; what
           is counted is all work of a row, its sum over the lanes and its ending included)
tensor     tensor-core instructions
local      loads and stores of local memory
"""


def form_names(mask):
    return "+".join(name for i, name in enumerate(FORMS) if mask >> i & 1)


def blocks_at_once(row):
    registers, warps, blocks, shared = SM_LIMITS[row["architecture"]]
    of_block = -(-row["threads"] // 32)
    of_warp = -(-row["registers"] * 32 // 256) * 256
    by_registers = registers // of_warp // 4 * 4 // of_block
    by_shared = shared // (-(-(row["shared"] + 1024) // 128) * 128)
    return min(by_registers, warps // of_block, blocks, by_shared)


def is_weight_load(instruction):
    """load_once of 16 bytes: past the first-level cache."""
    return instruction.name.startswith("LDG") and ".NA" in instruction.name and ".128" in instruction.name


def is_copy(instruction):
    return instruction.name.startswith("LDGSTS") and instruction.name.endswith(".128")


def rows_ahead(instructions):
    """A wait for all but n groups of copies, and the row that is asked for after it; a ring of one row ahead waits for all, as its end does."""
    left = {int(i.arguments.split(",")[1], 16) for i in instructions if i.name.startswith("DEPBAR") and "," in i.arguments}
    return ",".join(str(n + 1) for n in sorted(left - {0})) or ("1" if left else "-")


def describe(kernel, of_weights):
    """Columns from a machine_code.Kernel. of_weights: what it copies asynchronously are weights."""
    everything = kernel.instructions(kernel.reached)

    def brings(instruction):
        return is_weight_load(instruction) or of_weights and is_copy(instruction)

    inner = [loop for loop in kernel.loops if not any(other < loop for other in kernel.loops)]
    figures = []
    for loop in inner:
        body = kernel.instructions(loop)
        multiplies = any(i.name.startswith(("IDP", "FFMA")) for i in body)  # a loop that only copies ahead is none over weights
        if any(map(is_weight_load if not multiplies else brings, body)) and not any("MMA.1" in i.name for i in body):
            figures.append((round(kernel.most_per(loop, brings)), any(i.name.startswith("SHFL") for i in body)))
    loops, short = [f for f, row in figures if not row], [f for f, row in figures if row]
    figure = str(max(loops)) if loops else "-"
    if short:
        figure = (figure + "," if loops else "") + f"{max(short)}row"
    return {"loads": sum(map(is_weight_load, everything)), "copies": sum(map(is_copy, everything)), "ahead": rows_ahead(everything) if of_weights else "-",
            "per_512": figure, "tensor": sum(i.name.startswith(("HMMA.1", "IMMA")) for i in everything),
            "local": sum(i.name.startswith(("LDL", "STL")) for i in everything)}


def broken_rules(rows):
    """A sentence for each rule that a kernel breaks."""
    wrong = []
    for row in rows:
        kernel = row["kernel"].split()[0]
        what = f"{row['kernel']} of {row['unit']} on {row['architecture']}"
        if row["spills"] or row["stack"]:
            wrong.append(f"{what} spills {row['spills']} bytes and has {row['stack']} bytes of local memory; none is allowed")
        if "loads" not in row:
            continue
        if row["local"]:
            wrong.append(f"{what} has {row['local']} loads and stores of local memory; none is allowed")
        if kernel in WEIGHT_KERNELS and row["loads"] + row["copies"] == 0:
            wrong.append(f"{what} loads no weights 128 bits at a time")
        if kernel.startswith("Prefill") and row["tensor"] == 0:
            wrong.append(f"{what} has no tensor-core instruction")
        for figure in row["per_512"].split(","):
            of_row = figure.endswith("row") and row["unit"] != "every_form"
            if kernel in WEIGHT_KERNELS and figure != "-" and not of_row and int(figure.removesuffix("row")) > MOST_PER_512_BYTES:
                wrong.append(f"{what} takes {figure} warp instructions for 512 bytes of weights; {MOST_PER_512_BYTES} are the most")
    return wrong


def cells(row):
    blocks = blocks_at_once(row)
    full = row | {"blocks": blocks, "warps": blocks * -(-row["threads"] // 32)}
    return [str(full.get(column, "-")) for column in COLUMNS]


def aligned(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() + "\n" for line in lines)


def models(rows):
    """For each config: its kernels, and what it adds to the config of the same head size that shares most with it."""
    lines = [("model", "head_size", "kernels", "bytes_sm_80", "bytes_sm_90", "bytes_sm_100", "beside", "adds_kernels", "adds_bytes_sm_90")]
    units = {}
    for row in rows:
        units.setdefault(row["unit"], {}).setdefault(row["architecture"], {})[row["symbol"]] = row
    sizes = {unit: next((re.search(r"of (\d+)$", r["kernel"]).group(1) for r in of_unit["sm_90"].values() if r["kernel"].startswith("Attention ")), None)
             for unit, of_unit in units.items()}
    for unit, of_unit in sorted(units.items()):
        if sizes[unit] is None:
            continue
        own = of_unit["sm_90"]
        others = [(sum(own[s]["bytes"] for s in own if s not in units[other]["sm_90"]), other) for other in units if other != unit and sizes[other] == sizes[unit]]
        added, beside = min(others, default=(0, "-"))
        count = sum(s not in units[beside]["sm_90"] for s in own) if others else "-"
        lines.append((unit, sizes[unit], str(len(own)), *(str(sum(r["bytes"] for r in of_unit[a].values())) for a in SM_LIMITS), beside, str(count),
                      str(added) if others else "-"))
    return lines


def table(release, rows):
    rows = sorted(rows, key=lambda r: (r["unit"], r["kernel"], int(r["architecture"][3:])))
    return INTRODUCTION.format(release=release) + "\n" + aligned([COLUMNS, *map(cells, rows)]) + "\n" + aligned(models(rows))


def parse(text):
    """The release of nvcc, and the rows."""
    release = re.search(r"nvcc (\S+)", text).group(1)
    lines = text.split("\n\n")[1].splitlines()
    rows = []
    for line in lines[1:]:
        row = dict(zip(COLUMNS, re.split(r"  +", line.strip())))
        rows.append({k: int(v) if v.isdigit() and k not in ("symbol", "ahead", "per_512", "kernel") else v for k, v in row.items()})
    return release, rows


def differences(wanted, found):
    """Lines with what the table has and what was found; columns that were not looked at are not compared."""
    def known(row):
        return {(row["unit"], row["architecture"], row["kernel"]): dict(zip(COLUMNS, cells(row)))}

    old = {k: v for row in wanted for k, v in known(row).items()}
    new = {k: v for row in found for k, v in known(row).items()}
    lines = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if a is None or b is None:
            lines.append(f"{' '.join(key)}: {'only in the table' if b is None else 'not in the table'}")
            continue
        changed = [f"{c} {a[c]}, now {b[c]}" for c in COLUMNS if a[c] != b[c] and not (c in LOOKED_AT and b[c] == "-")]
        if changed:
            lines.append(f"{' '.join(key)}: {'; '.join(changed)}")
    return lines
