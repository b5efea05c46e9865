#!/usr/bin/env python3
"""What compiling costs: CPU time and peak memory of each unit, by the project's own compile commands, one compiler at a time.

  bench/compile.py [--write]     a table on stdout; --write puts it into bench/README.md

The shell (command line, reference) is compiled once for all models. The unit of a model is what a further model costs: SmolLM2, and two
synthetic models that differ in their layers alone, 12 and 48, to see that the cost does not grow with them. Last, a program of one's own:
the README's ten lines, header only and with diecast::compiled.
"""
import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import processor

ROOT = Path(__file__).resolve().parent.parent
LIMIT_SECONDS, LIMIT_MIB = 25, 1536
BEGIN, END = "<!-- written by bench/compile.py -->", "<!-- end -->"

CONFIG = """#pragma once
#include <diecast/diecast.hpp>

namespace configs {{

struct {identifier} {{
  static constexpr char name[] = "{name}";
  static constexpr diecast::Spec spec{{
      .hidden = 960, .layers = {layers}, .vocab = 49152, .context = 8192,
      .attention = {{.heads = 15, .kv_heads = 5, .head_dim = 64}},
      .position = diecast::Rope{{.theta = 100'000}},
      .norm = diecast::RmsNorm{{.epsilon = 1e-5}},
      .mlp = diecast::GatedMlp{{.width = 2560, .activation = diecast::Activation::silu}},
      .head = diecast::TiedHead{{}},
  }};
  static constexpr diecast::Format formats[] = {{diecast::Format::q4_1, diecast::Format::q8_0, diecast::Format::f32}};
}};

}}  // namespace configs
"""


def cost(command, folder):
    """CPU seconds and peak MiB of the compiler and of whatever it starts."""
    process = subprocess.Popen(command, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {shlex.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(build):
    (build / "configs").mkdir(parents=True)
    for layers in (12, 48):
        (build / "configs" / f"synthetic_{layers}.hpp").write_text(
            CONFIG.format(identifier=f"synthetic_{layers}", name=f"synthetic-{layers}", layers=layers), encoding="utf-8")
    # As ./cast configures it.
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
                    "-DDIECAST_TESTS=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True, stdout=subprocess.DEVNULL)
    commands = {entry["file"]: shlex.split(entry["command"]) for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))}

    def of(source):
        command = list(commands[str(source)])
        output = build / command[command.index("-o") + 1]
        output.parent.mkdir(parents=True, exist_ok=True)
        return cost(command, build)

    limited, rows = [], []
    models = {"smollm2_135m_instruct": "SmolLM2-135M, 30 layers", "synthetic_12": "synthetic, 12 layers", "synthetic_48": "synthetic, 48 layers"}
    for identifier, label in models.items():
        units = [of(build / "engines" / f"{identifier}{kind}.cpp") for kind in ("", "_kernels")]  # the spec, and the kernels for this machine
        limited.append((f"a model's units, spec and kernels: {label}", sum(s for s, _ in units), max(m for _, m in units)))
    shell = [of(source) for source in sorted(commands) if source.startswith(str(ROOT / "tools" / "engine"))]
    rows.append((f"the shell, once for all models ({len(shell)} units)", sum(s for s, _ in shell), max(m for _, m in shell)))
    library = [of(source) for source in sorted(commands) if source.startswith(str(ROOT / "src"))]
    rows.append((f"`diecast::compiled`, once, for those who want it ({len(library)} units)", sum(s for s, _ in library), max(m for _, m in library)))
    rows += limited

    # A unit of the engine's includes everything; so the flags of one are those of a program that uses all parts.
    flags = commands[str(build / "engines" / "smollm2_135m_instruct.cpp")]
    flags = flags[:flags.index("-o")]
    ten_lines = (ROOT / "examples" / "ten_lines.cpp").read_text(encoding="utf-8")
    ours = build / "ours.cpp"
    with_library = ten_lines.replace("diecast/diecast.hpp", "diecast/compiled.hpp").replace("diecast/reference.hpp", "diecast/compiled_reference.hpp")
    for label, text in (("header only", ten_lines), ("with `diecast::compiled`", with_library)):
        ours.write_text(text, encoding="utf-8")
        rows.append((f"the README's ten lines, {label}", *cost([*flags, "-o", "ours.o", "-c", str(ours)], build)))
    return rows, limited


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows, limited = measure(Path(folder).resolve() / "build")
    compiler = subprocess.run([os.environ.get("CXX", "c++"), "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    lines = [f"`bench/compile.py`, {datetime.date.today()}, {compiler}, -O2, one core of {processor()}", "",
             "| unit | CPU time | peak memory |", "|---|---:|---:|"]
    lines += [f"| {label} | {seconds:.1f} s | {mib:.0f} MiB |" for label, seconds, mib in rows]
    print("\n".join(lines))
    if options.write:
        readme = ROOT / "bench" / "README.md"
        before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
        readme.write_text("\n".join([before + BEGIN, "", *lines, "", END]) + rest.split(END)[1], encoding="utf-8")
    over = [label for label, seconds, mib in limited if seconds > LIMIT_SECONDS or mib > LIMIT_MIB]
    if over:
        sys.exit(f"more than {LIMIT_SECONDS} s or {LIMIT_MIB} MiB: {', '.join(over)}")


if __name__ == "__main__":
    main()
