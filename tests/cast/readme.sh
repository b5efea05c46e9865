#!/usr/bin/env bash
# The README says what is true: its example is the compiled one, its links lead somewhere, its packages and models are the scripts' own.
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/../.."
root=$PWD
source tools/packages.sh
source tools/models.sh
failures=0
problem() { echo "FAILED: $*"; failures=$((failures + 1)); }

# The block of code below the mark is examples/ten_lines.cpp.
if ! sed -n '/^<!-- ten lines/,/^```$/p' README.md | sed '1,2d;$d' | diff -u examples/ten_lines.cpp -; then problem "the ten lines differ from examples/ten_lines.cpp"; fi
lines=$(grep -c -v -e '^$' examples/ten_lines.cpp)
if ((lines > 10)); then problem "the ten lines are $lines"; fi

for page in README.md docs/*.md; do
  while read -r link; do
    if [[ $link != *://* && $link != \#* && ! -e $(dirname "$page")/$link ]]; then problem "$page links to $link, which is not there"; fi
  done < <(sed '/^ *```/,/^ *```/d' "$page" | grep -o '](\([^)]*\))' | sed 's/^](//; s/)$//; s/#.*//')
done

for package in "${cast_packages[@]%%:*}" "${emulated_packages[@]}" catch2 python3-pip; do
  if ! grep -q -w -F -e "$package" README.md; then problem "README.md does not name the package $package"; fi
done
for name in $(known_names); do
  if ! grep -q -w -F -e "$name" README.md; then problem "README.md does not name the known model $name"; fi
done
while read -r folder; do
  if [[ ! -d include/diecast/$folder ]]; then problem "README.md names include/diecast/$folder, which is not there"; fi
done < <(sed -n 's/^| [1-7] .*| `\([a-z]*\)` |$/\1/p' README.md)
if ((failures > 0)); then exit 1; fi
echo "all as it says"
