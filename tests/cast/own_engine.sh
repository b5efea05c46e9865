#!/usr/bin/env bash
# An engine that cast made for one file: it answers, refuses another file by name, and carries its model wherever it goes.
set -euo pipefail
root=$(cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd)
tool=$1 engine=$2 model=$3 any=$4
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"
failures=0
problem() { printf 'FAILED at line %s: %s\n' "${BASH_LINENO[0]}" "$*"; failures=$((failures + 1)); }

expected=$("$engine" logits --model "$model" --ids 1,2,3 --json) || problem "no answer"
if [[ $expected != *'"top":[{"id":'* ]]; then problem "$expected"; fi
status=0; "$engine" logits --model "$root/models/tiny-shakespeare" --ids 1 2>err || status=$?
if [[ $status != 2 || $(<err) != *"not the model that this engine was compiled for (never-seen): hidden: compiled "*", file 160"* ]]; then problem "$status $(<err)"; fi

# The same file with one weight changed loads; verify says which digest differs.
cp "$model" changed.gguf
printf '\x01' | dd of=changed.gguf bs=1 seek=$(($(stat -c %s "$model") - 64)) conv=notrunc status=none
status=0; "$engine" verify --model changed.gguf >/dev/null 2>err || status=$?
if [[ $status != 2 || $(<err) != *"weights digest: compiled "*", file "* ]]; then problem "$status $(<err)"; fi

# Packed, it says the same, is the same to every digest, and the reference runs it, too.
"$engine" pack --model "$model" -- packed
if [[ $("$engine" logits --model packed --ids 1,2,3 --json) != "$expected" ]]; then problem "packed, it says something else"; fi
if [[ $("$engine" logits --model packed --backend reference --ids 1,2,3 --json) != "$("$engine" logits --model "$model" --backend reference --ids 1,2,3 --json)" ]]; then
  problem "packed, the reference says something else"
fi
if ! "$engine" verify --model packed >out 2>err; then problem "$(<out) $(<err)"; fi
status=0; "$engine" pack --model packed -- again 2>err || status=$?
if [[ $status != 2 || $(<err) != *"packed is packed already"* || -e again ]]; then problem "$status $(<err)"; fi
status=0; "$any" logits --model "$root/models/tiny-shakespeare" --ids 1 >/dev/null 2>err || status=$?
if [[ $status != 0 ]]; then problem "$(<err)"; fi

# Embedded and moved: no --model, no file beside it.
"$tool" embed -- "$engine" packed whole
mkdir elsewhere; mv whole elsewhere/moved
if [[ $(cd / && env -i "$folder/elsewhere/moved" logits --ids 1,2,3 --json) != "$expected" ]]; then problem "embedded, it says something else"; fi
if ! "$tool" embed -- elsewhere/moved packed twice 2>err; then :; else problem "embedded twice"; fi
if [[ $(<err) != *"carries a model already"* ]]; then problem "$(<err)"; fi
status=0; "$tool" embed -- "$engine" "$model" raw 2>err || status=$?
if [[ $status != 2 || $(<err) != *"does not begin as an engine file does"* ]]; then problem "$status $(<err)"; fi
# A folder is packed, too.
cp -r "$root/models/tiny-shakespeare" shakespeare
said=$("$any" run --model shakespeare --raw --max-tokens 8 --greedy "ROMEO:" 2>err) || problem "no answer: $(<err)"
"$any" pack --model shakespeare -- folder.packed
"$tool" embed -- "$any" folder.packed play
mv shakespeare away; rm folder.packed
if [[ -z $said || $(cd / && env -i "$folder/play" run --raw --max-tokens 8 --greedy "ROMEO:" 2>"$folder/err") != "$said" ]]; then problem "embedded, the folder says something else: $(<err)"; fi
if [[ $(./play info --json) != *'"model_file":"the model inside this program"'* ]]; then problem "$(./play info --json)"; fi
# --model goes before what is inside.
status=0; elsewhere/moved info --model /nowhere 2>err || status=$?
if [[ $status != 2 || $(<err) != *"/nowhere"* ]]; then problem "$status $(<err)"; fi
# A damaged footer is a sentence.
head -c -16 elsewhere/moved >damaged; printf '\377\377\377\377\377\377\377\177\1\0\0\0\0\0\0\0' >>damaged; chmod +x damaged
status=0; ./damaged logits --ids 1 2>err || status=$?
if [[ $status != 2 || $(<err) != *"the model inside this program is damaged"* ]]; then problem "$status $(<err)"; fi

# What cast would refuse.
status=0; "$tool" config --name x -- "$root/README.md" 2>err || status=$?
if [[ $status != 2 || $(wc -l <err) != 1 ]]; then problem "$status $(<err)"; fi
if "$tool" config --name 'a b' -- "$model" 2>err; then problem "an odd name"; fi
if ((failures > 0)); then exit 1; fi
echo "all as expected"
