#!/usr/bin/env python3
"""Writes single_include/diecast/: the core as one header, and one header for each further part.

Each umbrella header in include/diecast/ becomes a header of the same name in which every <diecast/...> include is replaced, once,
by that file's text. A further part begins with #include <diecast/diecast.hpp> and holds only what the core does not. Includes
of other libraries stay where they first stand (spec/hana.hpp puts macros aside around its own). A header of the pair that opens and
closes an inline namespace stands wherever it is included. The result depends on the sources alone. --check compares it with what lies there and writes nothing. --forward FOLDER writes a small header for each that was taken
in, which includes the generated one in its place: what includes <diecast/spec/spec.hpp> can be compiled with the generated headers alone.
"""
import argparse
import re
import sys
from pathlib import Path

CORE = "diecast/diecast.hpp"
# Each further part and the library that only it may bring.
PARTS = {
    "diecast/cpu.hpp": ("immintrin.h", "cpuid.h"),
    "diecast/hf.hpp": ("nlohmann/",),
    "diecast/identity.hpp": ("openssl/",),
    "diecast/reference.hpp": ("Eigen/",),
    "diecast/sentencepiece.hpp": ("sentencepiece",),
    "diecast/serve.hpp": ("boost/asio", "boost/beast", "nlohmann/"),
}
REPEATED = ("diecast/isa_begin.hpp", "diecast/isa_end.hpp")
OUR_INCLUDE = re.compile(r"\s*#\s*include\s*<(diecast/[^>]+)>")
OTHER_INCLUDE = re.compile(r"\s*#\s*include\s*<([^>]+)>")
QUOTED_INCLUDE = re.compile(r'\s*#\s*include\s*"')
CONDITION = re.compile(r"\s*#\s*(if|endif)")  # #ifdef and #ifndef begin with `if`, too


def is_code(line):
    return bool(line.strip()) and not line.startswith("//") and not OTHER_INCLUDE.match(line)


class Amalgamation:
    """One generated header: the files that it takes in, each once, in the order in which they are first included."""

    def __init__(self, root, part, libraries=(), core=None):
        self.root, self.part, self.libraries, self.core = root, part, libraries, core
        self.files, self.others, self.lines = [], set(core.others if core else ()), []
        self.take(part)

    def take(self, name):
        if name in self.files or (self.core and name in self.core.files):
            return
        path = self.root / "include" / name
        if not path.is_file():
            sys.exit(f"<{name}> is included, but include/{name} does not exist")
        self.files.append(name)
        text = path.read_text(encoding="utf-8")
        if text.count("#pragma once\n") != 1:
            sys.exit(f"include/{name} must have one #pragma once: what has none cannot be taken in once")
        depth, pending, emitted = 0, [], False  # pending: lines, and whether each stands outside of every condition

        def flush():
            nonlocal emitted
            kept = [line for line, outside in pending if self.keeps(name, line, outside)]
            pending.clear()
            if name == self.part and not any(is_code(line) for line in kept):
                return  # an umbrella header is a list of includes; nothing of it is left
            if any(line.strip() for line in kept):
                self.lines += [f"// ---- {name}{', continued' if emitted else ''}", *kept, ""]
                emitted = True

        for line in text.splitlines():
            if line == "#pragma once":
                continue
            if QUOTED_INCLUDE.match(line):
                sys.exit(f"include/{name}: {line.strip()}: write <diecast/...>")
            if condition := CONDITION.match(line):
                depth += 1 if condition[1] == "if" else -1
            if ours := OUR_INCLUDE.match(line):
                if depth != 0:
                    sys.exit(f"include/{name}: {line.strip()} stands inside a condition: includes are unconditional")
                if ours[1] in REPEATED:
                    repeated = (self.root / "include" / ours[1]).read_text(encoding="utf-8").splitlines()
                    pending += [(line, False) for line in repeated if not line.startswith("//")]
                    continue
                if any(is_code(before) for before, _ in pending):
                    flush()  # an include in the middle of a file stays in the middle
                self.take(ours[1])
            else:
                pending.append((line, depth == 0))
        flush()

    def keeps(self, name, line, outside):
        """Other libraries' includes stay where they first stand; later ones are dropped, except inside conditions."""
        other = OTHER_INCLUDE.match(line)
        if not other or not outside:
            return True
        if other[1] in self.others:
            return False
        self.others.add(other[1])
        self.refuse_foreign(name, other[1])
        return True

    def refuse_foreign(self, name, include):
        for library in sum(PARTS.values(), ()):
            if include.startswith(library) and library not in self.libraries:
                sys.exit(f"include/{name} brings <{include}> into {self.part}, which must not need that library")

    def text(self):
        head = [f"// Generated by tools/amalgamate.py from include/{self.part} and the headers that it includes. Do not edit: change those, then run it.",
                "// SPDX-License-Identifier: Apache-2.0", "#pragma once", ""]
        if self.core:
            head += [f"#include <{CORE}>", ""]
        text = "\n".join(head + self.lines)
        return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def generate(root):
    """The generated headers by their names, and the one in which each header lies."""
    core = Amalgamation(root, CORE)
    texts, owner = {CORE: core.text()}, {}
    for part, libraries in PARTS.items():
        if not (root / "include" / part).is_file():
            continue
        further = Amalgamation(root, part, libraries, core)
        for name in further.files:
            if name in owner:
                sys.exit(f"<{name}> is in {owner[name]} and in {part}: including both would define it twice; put it into {CORE}")
            owner[name] = part
        texts[part] = further.text()
    return texts, {**dict.fromkeys(core.files, CORE), **owner}


def forward(owner, texts, folder):
    for name, part in owner.items():
        if name not in texts:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#pragma once\n#include <{part}>\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare; exit status 1 if a file differs")
    parser.add_argument("--forward", type=Path, metavar="FOLDER", help="write the forwarding headers there, and nothing else")
    parser.add_argument("--output", type=Path, help="another folder than single_include/")
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    output = options.output or root / "single_include"

    texts, owner = generate(root)
    if options.forward:
        forward(owner, texts, options.forward)
        return 0
    stale = [path for path in sorted(output.rglob("*.hpp")) if str(path.relative_to(output)) not in texts]
    differs = [name for name, text in texts.items() if not (output / name).is_file() or (output / name).read_text(encoding="utf-8") != text]
    if options.check:
        for name in differs:
            print(f"single_include/{name} is not what its sources say: run tools/amalgamate.py")
        for path in stale:
            print(f"{path.name} lies in single_include/ and has no source")
        return 1 if differs or stale else 0
    for name in differs:
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_text(texts[name], encoding="utf-8")
        print(f"wrote {name}")
    for path in stale:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
