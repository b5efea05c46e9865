#!/usr/bin/env bash
# One command on a machine with a GPU, at most eight minutes: builds what runs on it, tests it, looks for races and wrong accesses with compute-sanitizer, verifies
# real models, measures, and writes bench/results/DATE-GPU.json with a plot beside it. Without a GPU it says so, and nothing is measured.
set -euo pipefail

program=bench/device.sh
root=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${root%/bench/*}
# shellcheck source=tools/say.sh
source "$root/tools/say.sh"
# shellcheck source=tools/packages.sh
source "$root/tools/packages.sh"
# shellcheck source=tools/models.sh
source "$root/tools/models.sh"
# shellcheck source=tools/build.sh
source "$root/tools/build.sh"

usage() {
  cat <<'END'
usage: bench/device.sh [NAME=FILE...]   build, test and measure the backend cuda on this machine's GPU
       bench/device.sh --help

NAME is a known model (./cast --list), FILE where it lies; those that are not given are taken from the cache, or fetched. The build lies in build/device.
END
}

began=$SECONDS
limit=480  # seconds in all; what no longer fits is left out, and the result says so
case ${1-} in --help | -h) usage; exit 0 ;; esac

find_nvcc
if [[ -z $nvcc ]]; then mend "nvcc is not here, which compiles device code: install NVIDIA's CUDA Toolkit (13 or later), or set CUDACXX to its nvcc; nothing was measured"; fi
if ! gpus=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || [[ ! $gpus =~ ^[0-9]+\.[0-9] ]]; then
  mend "there is no GPU on this machine that nvidia-smi lists; nothing was measured"
fi
architecture=${gpus%%$'\n'*}
architecture=${architecture//./}
if ((architecture < 80)); then mend "the kernels need a GPU of sm_80 and up, the first one here is sm_$architecture; nothing was measured"; fi

set_cache
find_pip
need_packages "${cast_packages[@]}" "${test_packages[@]}" "${pip_packages[@]}"
models=()
targets=(bench_device test_on_device)
for name in $(known_names); do
  given=
  for argument; do if [[ $argument == "$name="* ]]; then given=${argument#*=}; fi; done
  if [[ -n $given ]]; then
    [[ -e $given ]] || mend "there is no model file $given"
    models+=("$name=$given")
  else
    known "$name"
    if ! (get_model); then say "$name is not here and could not be fetched: left out"; continue; fi
    models+=("$name=$model_file")
  fi
  targets+=("cuda_${name//[^a-z0-9_]/_}")
done

build=$root/build/device
mkdir -p -- "$build"
log=$build/build.log
waiting "preparing the build" no_detail "$log" cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release '-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG' \
  -DDIECAST_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc" "-DCMAKE_CUDA_ARCHITECTURES=$architecture" -DDIECAST_FUZZ=OFF -DDIECAST_SANITIZED=OFF ||
  fail "CMake could not configure the project (all of it in $log)"
NINJA_STATUS='[%f/%t] ' waiting "compiling" ninja_counter "$log" ninja -C "$build" -j "$(jobs_that_fit)" -k 0 "${targets[@]}" || say "not all of it compiled (see $log); the rest is measured"

exec python3 "$root/bench/device.py" --build "$build" --seconds $((limit - SECONDS + began)) "${models[@]}"
