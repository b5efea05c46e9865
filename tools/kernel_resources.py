#!/usr/bin/env python3
"""Compiles the kernels of every config, and of the units in tests/kernels, with nvcc, warnings as errors, and assembles them for several architectures; the table
tests/kernels/resources.txt says what each kernel takes and what its machine code is made of. With --check the result is compared with the table, and what a
kernel must not have is refused. Where nvcc or nvdisasm is missing it says so and exits with 77."""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import kernel_rules
import machine_code

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNITS = ROOT / "tests" / "kernels"
TABLE = UNITS / "resources.txt"
# The kernels ask for nothing that sm_80 lacks, so they become PTX once, for it, and that is assembled for each: a third of the compiler's time.
PTX_ARCHITECTURE = "compute_80"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
CONFIG_UNIT = """#include <diecast/configs/{name}.hpp>
#include <diecast/cuda/shape_of.hpp>

#include "every_kernel.cuh"

using Config = configs::{name};
inline constexpr diecast::kernels::ModelShape shape =
    diecast::cuda::shape_of(Config::spec, Config::formats, diecast::cuda::gpu_team);
DIECAST_KERNELS(diecast::kernels::Launched<shape, diecast::kernels::Half>)
"""


def find_program(name, *places):
    for place in (*places, shutil.which(name), f"/usr/local/cuda/bin/{name}", *sorted(map(str, pathlib.Path("/usr/local").glob(f"cuda-*/bin/{name}")))):
        if place and pathlib.Path(place).exists():
            return place
    return None


def find_nvdisasm():
    """Beside nvcc, or from the Python package nvidia-cuda-nvdisasm."""
    packaged = [str(p) for folder in sys.path for p in pathlib.Path(folder or ".").glob("nvidia/cu*/bin/nvdisasm")]
    return find_program("nvdisasm", os.environ.get("DIECAST_NVDISASM"), *packaged)


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0 or "warning" in done.stderr:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout + done.stderr


def unit_names():
    return sorted([p.stem for p in (ROOT / "configs").glob("*.hpp")] + [p.stem for p in UNITS.glob("*.cu")])


def unit_text(name):
    own = UNITS / f"{name}.cu"
    return own.read_text() if own.exists() else CONFIG_UNIT.format(name=name)


def inputs_digest(name, release):
    """Of everything that a unit's kernels are compiled from."""
    digest = hashlib.sha256(repr((release, unit_text(name), PTX_ARCHITECTURE, ARCHITECTURES)).encode())
    include = ROOT / "include" / "diecast"
    for path in [*sorted((ROOT / "kernels").glob("*.hpp")), *sorted(UNITS.glob("every_*.*h*")), *sorted((include / "spec").glob("*.hpp")),
                 *sorted((include / "files").glob("f*.hpp")), include / "cuda" / "pack.hpp", include / "cuda" / "shape_of.hpp",
                 *([config] if (config := ROOT / "configs" / f"{name}.hpp").exists() else [])]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def readable(unit, symbols):
    """{symbol: name in the table}: the operation, and what tells two of one model apart."""
    names = {}
    for symbol, text in zip(symbols, run(["c++filt", *symbols]).splitlines()):
        operation = re.search(r"entry<(?:\w+::)*(\w+)", text)
        name = operation.group(1) if operation else symbol
        extents = re.search(r"Extents\{(\d+), (\d+)\}", text)
        forms = re.search(r"FormSet\{(\d+)u?\}", text)
        team = re.search(r"Team\{\d+, (\d+)\}", text)
        heads = re.search(r"HeadShape\{(\d+), (\d+), (\d+)\}", text)
        if extents:
            name += f" {extents.group(1)}x{extents.group(2)}"
        if name == "Attention":
            name += f" {heads.group(1)}/{heads.group(2)} of {heads.group(3)}"
        if unit == "every_form":
            name += f" {kernel_rules.form_names(int(forms.group(1)))}, tokens {team.group(1)}"
        names[symbol] = name
    return names


def code_bytes(cubin):
    """{symbol: bytes of machine code}, from the sections .text.SYMBOL of an ELF file."""
    data = cubin.read_bytes()
    begin, = struct.unpack_from("<Q", data, 40)
    size, count, names_at = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, begin + i * size) for i in range(count)]
    names = sections[names_at][4]
    found = {}
    for name, _, _, _, _, length in sections:
        text = data[names + name:data.index(b"\0", names + name)].decode()
        if text.startswith(".text."):
            found[text[6:]] = length
    return found


def compile_unit(compiler, name, folder):
    """Into `folder`: PTX, machine code, and what the assembler says of it."""
    unit = folder / f"{name}.cu"
    unit.write_text(unit_text(name))
    run([compiler, "-std=c++20", f"-arch={PTX_ARCHITECTURE}", f"-I{ROOT / 'include'}", f"-I{UNITS}", "-Werror=all-warnings", "-ptx", unit, "-o", folder / "kernels.ptx"])
    for architecture in ARCHITECTURES:
        said = run([compiler, f"-arch={architecture}", "-Werror=all-warnings", "-Xptxas=-v", "-cubin", folder / "kernels.ptx", "-o", folder / architecture])
        (folder / f"{architecture}.txt").write_text(said)


def compiled(compiler, release, name, cache, scratch):
    """The folder with the unit's machine code: what has not changed is not compiled again."""
    kept = (cache or scratch) / f"{name}-{inputs_digest(name, release)}"
    if not kept.exists():
        for old in kept.parent.glob(f"{name}-*"):
            shutil.rmtree(old)
        partial = pathlib.Path(tempfile.mkdtemp(prefix=f".{name}-", dir=kept.parent))
        compile_unit(compiler, name, partial)
        partial.rename(kept)
    return kept


def rows_of(name, folder, disassembler):
    """Rows of the table, one a kernel and architecture."""
    ptx = (folder / "kernels.ptx").read_text()
    threads = dict(re.findall(r"\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)", ptx))
    names = readable(name, sorted(threads))
    dynamic = {symbol: int(asked.group(1)) for symbol, body in re.findall(r"\.entry (\w+)\((.*?)\n\}", ptx, re.DOTALL)
               if (asked := re.search(r"// dynamic_shared_bytes (\d+)", body))}
    rows = []
    for architecture in ARCHITECTURES:
        sizes = code_bytes(folder / architecture)
        codes = machine_code.kernels_of(disassembler, folder / architecture) if disassembler else {}
        for part in (folder / f"{architecture}.txt").read_text().split("Compiling entry function '")[1:]:
            symbol = part.split("'")[0]
            stack, stores, loads = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups()
            shared = re.search(r"(\d+) bytes smem", part)
            row = {"unit": name, "architecture": architecture, "kernel": names[symbol], "symbol": hashlib.sha256(symbol.encode()).hexdigest()[:8],
                   "threads": int(threads[symbol]), "registers": int(re.search(r"Used (\d+) registers", part).group(1)),
                   "shared": dynamic.get(symbol, int(shared.group(1)) if shared else 0), "stack": int(stack), "spills": int(stores) + int(loads), "bytes": sizes[symbol]}
            rows.append(row | (kernel_rules.describe(codes[symbol], names[symbol].split()[0] in kernel_rules.WEIGHT_KERNELS) if codes else {}))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed table")
    parser.add_argument("--cache", type=pathlib.Path, help="folder in which results are kept: what has not changed is not compiled again")
    parser.add_argument("units", nargs="*", help="configs, or units of tests/kernels; default: all")
    arguments = parser.parse_args()
    compiler, disassembler = find_program("nvcc", os.environ.get("CUDACXX")), find_nvdisasm()
    if compiler is None:
        print("nvcc is missing: the kernels were not compiled for a GPU, and the table of what they take was not compared")
        sys.exit(77)
    release = re.search(r"release (\S+),", run([compiler, "--version"])).group(1)
    names = arguments.units or unit_names()
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        rows = [row for name in names for row in rows_of(name, compiled(compiler, release, name, arguments.cache, pathlib.Path(scratch)), disassembler)]
    wrong = kernel_rules.broken_rules(rows)
    if not arguments.check:
        if disassembler is None:
            sys.exit("the table needs nvdisasm; it comes as the Python package nvidia-cuda-nvdisasm")
        others = [r for r in kernel_rules.parse(TABLE.read_text())[1] if r["unit"] not in names] if TABLE.exists() and arguments.units else []
        TABLE.write_text(kernel_rules.table(release, others + rows))
    if wrong:
        sys.exit("\n".join(wrong))
    if not arguments.check:
        return
    made_with, wanted = kernel_rules.parse(TABLE.read_text())
    if kernel_rules.table(made_with, wanted) != TABLE.read_text():
        sys.exit("tests/kernels/resources.txt is not as tools/kernel_resources.py writes it; let it write the table anew")
    if made_with != release:
        print(f"the table was made with nvcc {made_with}, here is {release}: compiled and looked at, but not compared")
        sys.exit(77)
    different = kernel_rules.differences([r for r in wanted if r["unit"] in names], rows)
    if different:
        sys.exit("tests/kernels/resources.txt says otherwise; `tools/kernel_resources.py` writes it anew:\n" + "\n".join(different))
    if disassembler is None:
        print("nvdisasm is missing, so the machine code was not looked at; what the kernels take is what the table says")
        sys.exit(77)
    print(f"{len({r['symbol'] for r in rows})} kernels, compiled for {', '.join(ARCHITECTURES)}, are as the table says")


if __name__ == "__main__":
    main()
