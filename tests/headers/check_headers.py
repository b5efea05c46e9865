#!/usr/bin/env python3
"""Public headers must be good guests. For one compiler, this proves that every header under include/
  - compiles alone, warnings as errors (B3);
  - compiles after somebody defined min, max, small, I and B0 as macros, as windows.h, complex.h and termios.h do;
  - leaves no macro behind.
With --together, the headers are compiled in one unit only: what one of them fails to include is a matter of the standard library, which
g++ and clang++ share, so one compiler tries each alone and the other one adds its own opinion of the code in a fraction of the time.
With --nvcc it compiles the given .cu files and the headers that are for nvcc only (B4, B5).

Only syntax is checked: linking has its own test. Alone means: nothing stands before a header that it does not include itself. So one unit tries a
chain of headers, each of which includes the one before it, and what they all reach of Hana, Eigen, nlohmann-json or of our own that many need is
precompiled: neither hides anything, since it would be included anyway. A header of nothing but includes has nothing to try.
Exit status 77: skipped, because the compiler is not there.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
HEAVY = ["diecast/diecast.hpp", "diecast/spec/hana.hpp", "Eigen/", "nlohmann/", "sentencepiece", "diecast/serve/beast.hpp",  # worth precompiling
         "diecast/chat/interpreter.hpp", "diecast/chat/value.hpp", "diecast/files/model.hpp", "diecast/spec/spec.hpp", "diecast/tokens/scan.hpp"]
HOSTILE = ["min(a, b) (((a) < (b)) ? (a) : (b))", "max(a, b) (((a) > (b)) ? (a) : (b))", "small char", "I _Complex_I", "B0 0000000"]
PAIRED = {f"diecast/{name}_{end}.hpp" for name in ("isa", "kernels/device") for end in ("begin", "end")}  # included in pairs by headers, not by users
INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)


def including(names):
    return "".join(f"#include <{name}>\n" for name in names)


class Headers:
    def __init__(self, root):
        self.root = root
        self.text, self.reached = {}, {}
        for folder, _, files in os.walk(root, followlinks=True):  # kernels/ is a link
            for file in sorted(files):
                if file.endswith(".hpp"):
                    path = os.path.join(folder, file)
                    with open(path, encoding="utf-8") as source:
                        self.text[os.path.relpath(path, root)] = source.read()
        if not self.text:
            sys.exit(f"no headers under {root}")

    def for_nvcc(self, name):
        return "#ifndef __CUDACC__" in self.text[name]

    def host(self):
        return [name for name in sorted(self.text) if not self.for_nvcc(name) and name not in PAIRED]

    def only_includes(self, name):
        return not re.sub(r"//.*|^\s*#\s*(include|pragma).*", "", self.text[name], flags=re.MULTILINE).strip()

    def includes(self, name):
        """Every header that `name` reaches: ours, and the direct includes of others."""
        if name not in self.reached:
            seen, todo = set(), [name]
            while todo:
                for found in INCLUDE.findall(self.text.get(todo.pop(), "")):
                    if found not in seen:
                        seen.add(found)
                        todo.append(found)
            self.reached[name] = seen
        return self.reached[name]

    def heavy(self, name):
        """What is worth precompiling of `name` and all that it includes, without what the rest of it includes anyway."""
        found = {i for i in self.includes(name) | {name} if any(i.startswith(h) for h in HEAVY)}
        return tuple(sorted(i for i in found if not any(i in self.includes(other) for other in found - {i})))

    def chains(self, names):
        """These headers in as few chains as there can be: each includes all those before it. (A greatest matching of each with one that it includes.)"""
        names, follower = set(names), {}

        def find(name, tried):
            for other in sorted(self.includes(name) & names - {name} - tried):
                tried.add(other)
                if other not in follower or find(follower[other], tried):
                    follower[other] = name
                    return True
            return False

        for name in sorted(names):
            find(name, set())
        chains = []
        for name in sorted(names - set(follower.values())):
            chains.append([name])
            while chains[-1][-1] in follower:
                chains[-1].append(follower[chains[-1][-1]])
        return chains


class Compiler:
    def __init__(self, program, flags, folder):
        self.program, self.flags, self.folder = program, flags, folder
        self.clang = "clang" in os.path.basename(program)
        self.precompiled = {}

    def run(self, arguments, source=None):
        result = subprocess.run([self.program, *self.flags, *arguments], input=source, text=True, capture_output=True)
        return result.returncode, result.stdout, result.stderr

    def precompile(self, includes):
        """Options that stand for these includes."""
        if not includes:
            return []
        if includes not in self.precompiled:
            header = os.path.join(self.folder, f"pre{len(self.precompiled)}.hpp")
            with open(header, "w") as out:
                out.writelines(f"#include <{i}>\n" for i in includes)
            binary = header + (".pch" if self.clang else ".gch")
            status, _, errors = self.run(["-x", "c++-header", header, "-o", binary])
            if status != 0:
                sys.exit(f"precompiling {', '.join(includes)}:\n{errors}")
            self.precompiled[includes] = ["-include-pch", binary] if self.clang else ["-include", header]
        return self.precompiled[includes]

    def syntax(self, source, options=()):
        status, _, errors = self.run([*options, "-fsyntax-only", "-x", "c++", "-"], source)
        return errors or f"{self.program} failed without a word" if status != 0 else ""


def check_alone(headers, compiler):
    by_heavy = {}
    for name in headers.host():
        if not headers.only_includes(name):
            by_heavy.setdefault(headers.heavy(name), []).append(name)
    failures = []
    for heavy, names in by_heavy.items():
        chains = headers.chains(names)
        options = compiler.precompile(heavy) if len(chains) > 1 else []
        for chain in chains:
            errors = compiler.syntax(including(chain), options)
            if errors:
                failures.append(f"one of {', '.join(chain)} does not compile alone:\n{errors}")
    return failures


def others_here(headers, compiler):
    """Headers of others that ours include on this machine: those for another processor are none of them."""
    source = including(headers.host())
    _, output, _ = compiler.run(["-E", "-dI", "-x", "c++", "-"], source)  # what this says is found when the headers are compiled
    reached = set(INCLUDE.findall(output))
    return {i for name in headers.host() for i in INCLUDE.findall(headers.text[name]) if i in reached and not i.startswith(("diecast/", "boost/hana/"))}


def check_hostile(headers, compiler):
    """The macros come after the standard library and after libraries that do not withstand them (Eigen, nlohmann-json, Boost.Asio)."""
    host = headers.host()
    others = others_here(headers, compiler)
    source = including(sorted(others))
    source += "".join(f"#undef {m.split('(')[0].split()[0]}\n#define {m}\n" for m in HOSTILE)
    source += including(host)
    errors = compiler.syntax(source)
    return [f"not proof against the macros min, max, small, I, B0:\n{errors}"] if errors else []


def check_macros(headers, compiler):
    """Preprocessed with -dD, each #define stands under the file that wrote it."""
    source = including(headers.host())
    status, output, errors = compiler.run(["-E", "-dD", "-x", "c++", "-"], source)
    if status != 0:
        return [f"preprocessing all headers:\n{errors}"]
    left, file, root = {}, "", os.path.realpath(headers.root)
    kernels = os.path.realpath(os.path.join(headers.root, "diecast", "kernels"))
    for line in output.splitlines():
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            file = os.path.realpath(marker[1])
        elif define := re.match(r"#define (\w+)", line):
            if file.startswith((root + os.sep, kernels + os.sep)):
                left[define[1]] = file
        elif undef := re.match(r"#undef (\w+)", line):
            left.pop(undef[1], None)
    return [f"the macro {macro} is left behind by {file}" for macro, file in sorted(left.items())]


def check_nvcc(headers, compiler, units):
    host = "-Wall,-Wextra,-Wconversion,-Wshadow,-Werror"
    flags = ["-arch=sm_90", "-Werror", "all-warnings", "-Xcompiler", host, "-c", "-x", "cu"]
    failures = []
    alone = os.path.join(compiler.folder, "alone.cu")
    with open(alone, "w") as out:
        out.writelines(f"#include <{name}>\n" for name in sorted(headers.text) if headers.for_nvcc(name))
    for unit in [alone, *units]:
        status, output, errors = compiler.run([*flags, unit, "-o", os.path.join(compiler.folder, "unit.o")])
        if status != 0:
            failures.append(f"nvcc does not compile {unit}:\n{output}{errors}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True, help="the folder of the public headers")
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--system", default="", help="include folders of the libraries, separated by :")
    parser.add_argument("--together", action="store_true", help="all headers in one unit, none alone")
    parser.add_argument("--nvcc", nargs="*", metavar="UNIT", help="the compiler is nvcc: compile these .cu files")
    options = parser.parse_args()

    if not shutil.which(options.compiler):
        print(f"skipped: {options.compiler} is not installed")
        return 77
    headers = Headers(options.include)
    system = [flag for folder in sorted(set(filter(None, options.system.split(":")))) if folder != "/usr/include" for flag in ("-isystem", folder)]
    flags = ["-std=c++20", "-I", options.include, *system]
    with tempfile.TemporaryDirectory() as folder:
        if options.nvcc is not None:
            failures = check_nvcc(headers, Compiler(options.compiler, flags, folder), options.nvcc)
            done = f"{len(options.nvcc)} units and the headers for nvcc compile"
        else:
            compiler = Compiler(options.compiler, flags + WARNINGS, folder)
            failures = check_macros(headers, compiler) + check_hostile(headers, compiler)
            if not options.together:
                failures += check_alone(headers, compiler)
            done = f"{len(headers.host())} headers compile {'together' if options.together else 'alone'}, withstand hostile macros and leave none behind"
    print("\n".join(failures) if failures else f"{options.compiler}: {done}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
