#!/usr/bin/env python3
"""Compiles the kernels of every config with nvcc for several architectures, warnings as errors, and writes what ptxas says of each kernel: registers, shared
memory, stack, spills. With --check the result is compared with the committed table; where nvcc is missing it says so and exits with 77."""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "kernels" / "resources.txt"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
UNIT = """#include <diecast/kernels/cuda_context.hpp>
#include <diecast/kernels/whole_token.hpp>
#include <diecast/cuda/shape_of.hpp>
#include <diecast/configs/{name}.hpp>

namespace diecast::kernels {{

using Config = configs::{name};
inline constexpr ModelShape shape = cuda::shape_of(Config::spec, Config::formats, Team{{256, 2}});
using Operations = ModelOperations<shape, Half>;

template <class... Op>
void list(void (**out)()) {{  // taking a kernel's address is what instantiates it
  ((*out++ = reinterpret_cast<void (*)()>(&entry<Op>)), ...);
}}
void list_all(void (**out)());
void list_all(void (**out)()) {{
  if constexpr (Operations::fused_qkv)
    list<Operations::QkvAppend>(out);
  else
    list<Operations::ProjectQkv, Operations::NormRopeAppend>(out);
  list<Operations::Embed, Operations::Attention, Operations::Output, Operations::GateUp, Operations::Down, Operations::Head, WholeToken<shape, Half>>(out);
}}

}}  // namespace diecast::kernels
"""


def nvcc():
    for place in (os.environ.get("CUDACXX"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", *sorted(map(str, pathlib.Path("/usr/local").glob("cuda-*/bin/nvcc")))):
        if place and pathlib.Path(place).exists():
            return place
    return None


def compile_config(compiler, name, folder):
    unit = folder / f"{name}.cu"
    unit.write_text(UNIT.format(name=name))
    codes = [f"-gencode=arch=compute_{a[3:]},code={a}" for a in ARCHITECTURES]
    command = [compiler, "-std=c++20", *codes, f"-I{ROOT / 'include'}", "-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Werror",
               "-Xptxas=-v", "-c", str(unit), "-o", str(folder / f"{name}.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the kernels of {name} do not compile:\n{done.stderr[-4000:]}")
    return done.stderr


def inputs_digest(name, release):
    """Of everything that a config's kernels are compiled from."""
    digest = hashlib.sha256((release + UNIT + str(ARCHITECTURES)).encode())
    include = ROOT / "include" / "diecast"
    for path in [*sorted((ROOT / "kernels").glob("*.hpp")), *sorted((include / "spec").glob("*.hpp")), *sorted((include / "files").glob("f*.hpp")),
                 include / "cuda" / "pack.hpp", include / "cuda" / "shape_of.hpp", ROOT / "configs" / f"{name}.hpp"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def rows_of(name, text):
    """Lines of the table from what ptxas says."""
    rows, kernel, spills = [], None, None
    seen = {}
    for line in text.splitlines():
        entry = re.search(r"Compiling entry function '\w*?5entryI(?:NS0_)?(\d+)(\w+)' for '(sm_\d+)'", line)
        if entry:
            length = int(entry.group(1))
            kernel, architecture = entry.group(2)[:length], entry.group(3)
            if kernel == "LinearResidual":  # the output's and the MLP's: told apart by their order
                seen[architecture] = seen.get(architecture, 0) + 1
                kernel += f" {seen[architecture]}"
            continue
        stack = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        if stack and kernel:
            spills = stack.groups()
            continue
        used = re.search(r"Used (\d+) registers", line)
        if used and kernel:
            shared = re.search(r"(\d+) bytes smem", line)
            rows.append((name, architecture, kernel, used.group(1), shared.group(1) if shared else "0", *spills))
            kernel = None
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed table")
    parser.add_argument("--cache", type=pathlib.Path, help="folder in which results are kept: what has not changed is not compiled again")
    parser.add_argument("configs", nargs="*", help="names; default: all that the table has, or all configs")
    arguments = parser.parse_args()
    compiler = nvcc()
    if compiler is None:
        print("nvcc is missing: the kernels were not compiled for a GPU, and the table of their registers was not compared")
        sys.exit(77)
    names = arguments.configs or sorted({line.split()[0] for line in TABLE.read_text().splitlines()[2:]} if arguments.check else {p.stem for p in (ROOT / "configs").glob("*.hpp")})
    release = re.search(r"release (\S+),", subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout).group(1)
    rows = []
    for name in names:
        kept = arguments.cache / f"{name}-{inputs_digest(name, release)}.txt" if arguments.cache else None
        if kept and kept.exists():
            said = kept.read_text()
        else:
            with tempfile.TemporaryDirectory() as folder:
                said = compile_config(compiler, name, pathlib.Path(folder))
            if kept:
                arguments.cache.mkdir(parents=True, exist_ok=True)
                kept.write_text(said)
        rows += rows_of(name, said)
    head = ("config", "architecture", "kernel", "registers", "shared", "stack", "spill_stores", "spill_loads")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *sorted(rows)]]
    text = f"nvcc {release}\n" + "\n".join(lines) + "\n"
    if not arguments.check:
        TABLE.write_text(text)
        print(text, end="")
        return
    wanted = TABLE.read_text()
    if wanted.splitlines()[0] != text.splitlines()[0]:
        print(f"the table was made with {wanted.splitlines()[0]}, here is nvcc {release}: compiled, but not compared")
        sys.exit(77)
    if [line.split() for line in wanted.splitlines()[2:] if line.split()[0] in names] != [line.split() for line in text.splitlines()[2:]]:
        sys.exit("the kernels take other registers or memory than tests/kernels/resources.txt says; `tools/kernel_resources.py` writes it anew:\n" + text)
    print(f"{len(rows)} kernels compile for {', '.join(ARCHITECTURES)} and take what the table says")


if __name__ == "__main__":
    main()
