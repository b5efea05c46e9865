#!/usr/bin/env bash
# The files in configs/ are what cast writes, byte for byte. Models that are not in the cache are passed over, and say so.
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/../.."
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
tools/write_configs.sh "$1" "$folder"
status=0
for written in "$folder"/*.hpp; do
  diff -u "configs/${written##*/}" "$written" || status=1
done
if ((status != 0)); then echo "configs/ is not what cast writes: tools/write_configs.sh MODEL-TOOL writes it anew"; fi
for config in configs/*.hpp; do
  if [[ ! -e $folder/${config##*/} ]]; then echo "$config was not compared"; fi
done
exit $status
