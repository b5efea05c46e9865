# shellcheck shell=bash disable=SC2154,SC2034  # sourced: its variables meet those of cast and check
# How cast and check compile: one CMake folder, one target, ninja's own counter. Sourced after say.sh and packages.sh; `root` is the project's folder.

build=$root/build/cast

# built TARGET OUTPUT LABEL: compiles TARGET into OUTPUT, or returns at once when nothing that it is made of has changed.
built() {
  local target=$1 output=$2 label=$3 state stamp=$build/stamps/$1 log=$build/$1.log
  state=$(source_state)
  if is_current; then return 0; fi
  need_packages "${cast_packages[@]}"
  mkdir -p -- "$build/stamps" 2>/dev/null || mend "the folder $build cannot be made"
  lock 9 "$build/lock" "waiting for another run that compiles"
  state=$(source_state)  # an installation changes it, and the other run may have compiled
  if ! is_current; then
    rm -f -- "$stamp"
    configured
    compile || compile_failed
    if [[ ! -x $output ]]; then fail "compiling $label did not make $output"; fi
    if ! { printf '%s\n' "$state" >"$stamp.$$" && mv -f -- "$stamp.$$" "$stamp"; }; then mend "$stamp cannot be written"; fi
  fi
  unlock 9
}
is_current() { [[ -x $output && -f $stamp && $(<"$stamp") == "$state" ]]; }

# One line for everything that the programs are made of: names, sizes and times of the sources, of the compiler, and of Debian's list of packages; the CPU;
# and the config that cast wrote.
source_state() {
  {
    find "$root" -mindepth 1 \( -name .git -o -path "$root/build" -o -path "$root/tests" -o -path "$root/docs" -o -path "$root/models" \) -prune \
      -o \( -type f -o -type l \) -printf '%P %s %T@\n' | LC_ALL=C sort
    if [[ -n ${config-} && $target != diecast_tool ]]; then sha256sum <"$config"; fi
    if [[ $target == cuda_* ]]; then find_nvcc; fi
    stat -L -c '%n %s %Y' -- "$(command -v c++)" ${nvcc:+"$nvcc"} /var/lib/dpkg/status 2>/dev/null || true
    grep -m 1 '^flags' /proc/cpuinfo || true  # kernels are compiled for the CPU
  } | sha256sum
}

# Sets `nvcc` to the compiler of device code: $CUDACXX, the one in PATH, or the CUDA Toolkit's own place; empty where there is none.
find_nvcc() {
  nvcc=
  local place
  for place in "${CUDACXX-}" "$(command -v nvcc || true)" "${CUDA_PATH:-/usr/local/cuda}/bin/nvcc"; do
    if [[ -n $place && -x $place ]]; then
      nvcc=$place
      return 0
    fi
  done
}
need_nvcc() {
  find_nvcc
  if [[ -z $nvcc ]]; then mend "nvcc is not here, which compiles the backend cuda: install NVIDIA's CUDA Toolkit (13 or later), or set CUDACXX to its nvcc"; fi
}

configured() {
  local before=yes
  if [[ ! -f $build/build.ninja ]]; then before=; fi
  # An engine with device code is a target only where what it needs was here when the folder was configured.
  if [[ $target == emulated_* || $target == cuda_* ]] && ! grep -q "^build $target:" "$build/build.ninja" 2>/dev/null; then before=; fi
  if [[ -n $before ]] && grep -q -x -F "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt" 2>/dev/null; then return 0; fi
  if ! configure; then  # a killed run may have left half a cache
    rm -rf -- "$build/CMakeCache.txt" "$build/CMakeFiles"
    configure || fail "CMake could not configure the project: $(grep -m 1 -A 1 'CMake Error' "$log" | tail -n 1 | sed 's/^ *//') (all of it in $log)"
  fi
}
configure() {
  if [[ -f $build/CMakeCache.txt ]] && ! grep -q -x -F "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf -- "$build/CMakeCache.txt" "$build/CMakeFiles"  # the project has moved
  fi
  local options=(-DCMAKE_BUILD_TYPE=Release '-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG' -DDIECAST_TESTS=OFF)
  if [[ $target == cuda_* ]]; then options+=(-DDIECAST_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc"); fi
  waiting "preparing the build" no_detail "$log" cmake -S "$root" -B "$build" -G Ninja "${options[@]}"
}

compile() {  # not by cmake --build, which would leave ninja behind when it is killed
  NINJA_STATUS='[%f/%t] ' waiting "compiling $label" ninja_counter "$log" ninja -C "$build" -j "$(jobs_that_fit)" "$target"
}
compile_failed() {
  if grep -q 'No space left on device' "$log"; then mend "the disk of $build is full"; fi
  if grep -q -e 'Killed signal' -e 'out of memory' "$log"; then mend "the compiler ran out of memory while compiling $label (see $log)"; fi
  if grep -q "unknown target '$target'" "$log"; then fail "the project has no program $target, which would be $label"; fi
  fail "compiling $label failed; the compiler's words are in $log"
}
# Ninja counts its own preparations, too ("[0/2] Re-checking globbed directories..."): those say nothing about the target.
ninja_counter() { LC_ALL=C sed -n '/\] Re-/d; s|^\[\([0-9]*\)/\([0-9]*\)\].*|\1 of \2|p' "$log" | tail -n 1; }

# As many compilers as there are cores, and as fit into the free memory, or a container's own limit of it, at 1.5 GB each.
memory_limit=/sys/fs/cgroup/memory.max
jobs_that_fit() {
  local cores kilobytes limit='' fit
  cores=$(nproc)
  kilobytes=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null || true)
  kilobytes=${kilobytes:-1500000}
  read -r limit 2>/dev/null <"$memory_limit" || true  # bytes, or `max`
  if [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1024 < kilobytes)); then kilobytes=$((limit / 1024)); fi
  fit=$((kilobytes / 1500000))
  if ((fit < 1)); then fit=1; fi
  echo $((fit < cores ? fit : cores))
}
