#!/usr/bin/env python3
"""Code that must not compile. Every .cpp file beside this script is a case, alone in its compilation, so that no error can
stand in for another's:
  // expect: SENTENCE    the compiler refuses it, and its words contain SENTENCE (several lines: all of them)
  // compiles            a control: the same kind of code, right; it must compile
The <diecast/...> headers that a case includes are precompiled once for all cases with the same ones; a case then takes
a fraction of a second. Exit status 77: skipped, because the compiler is not there.
"""
import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "headers"))
from check_headers import INCLUDE, WARNINGS, Compiler  # noqa: E402


def words(text):
    return " ".join(text.split())


def check(case, compiler):
    source = case.read_text(encoding="utf-8")
    expected = re.findall(r"^// expect: (.+)$", source, re.MULTILINE)
    control = re.search(r"^// compiles$", source, re.MULTILINE)
    name = case.relative_to(HERE)
    if bool(expected) == bool(control):
        return f"{name}: says neither or both of `// expect: SENTENCE` and `// compiles`"
    precompiled = compiler.precompile(tuple(i for i in INCLUDE.findall(source) if i.startswith("diecast/")))
    status, _, errors = compiler.run([*precompiled, "-fsyntax-only", str(case)])
    if control:
        return f"{name}: must compile:\n{errors}" if status != 0 else ""
    if status == 0:
        return f"{name}: compiles, but must be refused with: {expected[0]}"
    missing = [sentence for sentence in expected if words(sentence) not in words(errors)]
    return f"{name}: refused, but not with: {missing[0]}\n{errors}" if missing else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True, help="the folder of the public headers")
    parser.add_argument("--compiler", required=True)
    options = parser.parse_args()
    if not shutil.which(options.compiler):
        print(f"skipped: {options.compiler} is not installed")
        return 77
    cases = sorted(HERE.rglob("*.cpp"))
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options.compiler, ["-std=c++20", "-I", options.include, *WARNINGS], folder)
        failures = [failure for failure in (check(case, compiler) for case in cases) if failure]
    print("\n".join(failures) if failures else f"{options.compiler}: all {len(cases)} cases behave")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
