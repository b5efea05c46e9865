#!/usr/bin/env bash
# usage: tools/write_configs.sh MODEL-TOOL [FOLDER]: writes the configs of configs/ anew, into FOLDER where one is given. Known models come from the
# cache, and one that is not there is passed over; gpt2 and qwen2.5-0.5b come from their config.json alone. The model tool is what ./cast --inspect
# compiles: build/cast/engines/diecast_tool.
set -euo pipefail

program=write_configs
root=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${root%/*/*}
# shellcheck source=tools/say.sh
source "$root/tools/say.sh"
# shellcheck source=tools/models.sh
source "$root/tools/models.sh"
if (($# < 1)); then mend "usage: tools/write_configs.sh MODEL-TOOL [FOLDER]"; fi
tool=$1
folder=${2:-$root/configs}
set_cache

write() { "$tool" config --name "$1" --output "$folder/${1//[^a-z0-9_]/_}.hpp" -- "$2"; }  # NAME MODEL

for name in $(known_names); do
  known "$name"
  if [[ -e $model_file ]]; then write "$name" "$model_file"; else say "$name is passed over: $model_file is not there (./check fetches it)"; fi
done
for name in gpt2 qwen2.5-0.5b; do write "$name" "$root/tests/data/models/$name/config.json"; done
