#!/usr/bin/env bash
# Runs one fuzzer on a copy of its corpus: run.sh PROGRAM CORPUS WORK [SECONDS [LIBFUZZER-OPTION...]]
# What it finds lies in WORK/found-*. An input that was kept: run PROGRAM with it as the only argument.
set -euo pipefail
program=$1 corpus=$2 work=$3 seconds=${4-20}
shift "$(($# < 4 ? $# : 4))"

if [[ ! -x $program ]]; then
  echo "skipped: $program was not built; it needs clang++ with libFuzzer's runtime (Debian: clang libclang-rt-14-dev)"
  exit 5  # not 77: a fuzzer that finds something ends with that
fi
name=${program##*fuzz_}
rm -rf -- "$work"
mkdir -p -- "$work"
cp -r -- "$corpus" "$work/corpus"
declare -A longest=([gguf]=16384 [safetensors]=8192 [hf]=16384 [template]=2048 [tokens]=2048 [engine_file]=20480)
options=(-seed=1 "-max_total_time=$seconds" "-max_len=${longest[$name]-4096}" -malloc_limit_mb=64 -rss_limit_mb=1024 -timeout=10
  -print_final_stats=1 -print_funcs=0 "-artifact_prefix=$work/found-")
words=${BASH_SOURCE[0]%/*}/words/$name.txt
if [[ -f $words ]]; then options+=("-dict=$words"); fi
export ASAN_OPTIONS=quarantine_size_mb=64:${ASAN_OPTIONS-}  # freed memory that is kept does not count as used
exec "$program" "${options[@]}" "$@" "$work/corpus"
