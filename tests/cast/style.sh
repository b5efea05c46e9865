#!/usr/bin/env bash
# The scripts pass shellcheck; skipped where that is not installed.
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/../.."
if ! command -v shellcheck >/dev/null; then echo "skipped: shellcheck is not installed"; exit 77; fi
shellcheck -x cast check .ci/run tools/*.sh
shellcheck -x -e SC2154,SC2034,SC1091,SC2030,SC2031,SC2016 tests/cast/*.sh
for script in cast check .ci/run tests/cast/*.sh; do
  if [[ $script != */lab.sh && ! -x $script ]]; then echo "$script is not executable"; exit 1; fi
done
echo "nothing to say"
