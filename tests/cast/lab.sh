# shellcheck shell=bash disable=SC2034
# A place to try cast without a network and without compiling: a copy of cast and its tools in a project whose "engines" are small shell scripts,
# and stand-ins for pip, apt-get and their like in front of PATH. The folder's name has a space and a quote on purpose.
set -euo pipefail

project_root=$(cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd)
lab="$(mktemp -d)/it's a lab"
trap '[[ -n ${KEEP-} ]] || rm -rf -- "${lab%/*}"' EXIT
project="$lab/project"
bin="$lab/bin"
mkdir -p "$project/tools" "$project/models/tiny" "$bin" "$lab/home"
cp "$project_root/cast" "$project_root/check" "$project_root/CMakePresets.json" "$project/"
cp "$project_root"/tools/*.sh "$project_root/tools/unpack.py" "$project/tools/"
echo '{}' >"$project/models/tiny/config.json"

real_python=$(command -v python3)
export HOME="$lab/home" PATH="$bin:$PATH" LAB=$lab REAL_PYTHON=$real_python
unset XDG_CACHE_HOME DIECAST_CACHE
cache="$HOME/.cache/diecast"
cd "$lab"

# Three models: `toy` from one package, `parts` from three, `tiny` from a folder of the project.
mkdir "$lab/wheels"
mkfifo "$lab/fifo"
printf 'GGUF the toy model' >"$lab/toy.gguf"
wheel() {  # NAME MEMBER FILE
  "$real_python" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z: z.write(sys.argv[3], sys.argv[2]); z.writestr("other.txt", "x")' "$lab/wheels/$1.whl" "$2" "$3"
}
wheel toy toy/data/toy.gguf "$lab/toy.gguf"
for i in 0 1 2; do printf 'GGUF part %s\n' "$i" >"$lab/part$i"; wheel "parts$i" "p/model.part0$i" "$lab/part$i"; done
cat "$lab"/part? >"$lab/parts.gguf"
sha() { sha256sum <"$1" | cut -d ' ' -f 1; }
cat >"$project/tools/known_models" <<END
# a comment
toy $(sha "$lab/toy.gguf") $(stat -c %s "$lab/toy.gguf") toy==1.0:*/toy.gguf Toy Terms
parts $(sha "$lab/parts.gguf") $(stat -c %s "$lab/parts.gguf") parts0==1.0:*/model.part00,parts1==1.0:*/model.part01,parts2==1.0:*/model.part02 Parts Terms
tiny - - models/tiny Free
END

# Engines (and a model tool) that write what they were given, one argument a line, and end with the status in the file `status`.
cat >"$project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(lab LANGUAGES NONE)
file(GLOB configs CONFIGURE_DEPENDS "${CMAKE_BINARY_DIR}/configs/*.hpp")
list(TRANSFORM configs REPLACE ".*/(.*)\\.hpp$" "engine_\\1")
foreach(target engine_any engine_toy engine_parts engine_tiny emulated_tiny diecast_tool ${configs})
  string(REPLACE "engine_" "" name ${target})
  string(REGEX REPLACE "^emulated_(.*)" "\\1-emulated" name ${name})
  set(file "${CMAKE_BINARY_DIR}/engines/${name}")
  add_custom_command(OUTPUT "${file}" DEPENDS source.txt VERBATIM COMMAND sh "${CMAKE_SOURCE_DIR}/compile" "${file}")
  add_custom_target(${target} DEPENDS "${file}")
endforeach()
END
echo 1 >"$project/source.txt"
cat >"$project/compile" <<'END'
echo $$ >>"$LAB/compilations"
if [ -f "$LAB/slow" ]; then sleep "$(cat "$LAB/slow")"; fi
if [ -f "$LAB/broken" ]; then echo "error: $(cat "$LAB/broken")"; exit 1; fi
mkdir -p "${1%/*}"
cat >"$1" <<'ENGINE'
#!/bin/sh
for word; do printf '<%s>\n' "$word"; done
if [ "$1" = config ]; then
  echo . >>"$LAB/configs"
  if [ -f "$LAB/refuse" ]; then echo first; cat "$LAB/refuse"; exit 2; fi
  for word; do printf '<%s>\n' "$word"; done >"$7"
fi
if [ "$1" = embed ]; then cp "$3" "$5"; fi
if [ "$1" = pack ]; then echo . >>"$LAB/packed"; if [ -d "$3" ]; then cp "$3/config.json" "$5"; else cp "$3" "$5"; fi; fi
if [ -f "$LAB/status" ]; then exit "$(cat "$LAB/status")"; fi
ENGINE
chmod +x "$1"
END

# pip: copies a wheel, installs an empty folder; the file `pip` says what goes wrong (offline, full, slow, damaged). Any other use of Python is the real one.
cat >"$bin/python3" <<'END'
#!/bin/bash
if [[ "${1-} ${2-} ${3-}" == "-m pip install" ]]; then
  while [[ $1 != --target ]]; do shift; done
  echo "${@:3}" >>"$LAB/installations"
  [[ $(cat "$LAB/pip" 2>/dev/null) != offline ]] && mkdir "$2"
  exit
fi
if [[ "${1-} ${2-} ${3-}" != "-m pip download" ]]; then exec "$REAL_PYTHON" "$@"; fi
name=${!#}
name=${name%%==*}
while [[ $1 != --dest ]]; do shift; done
echo "$name" >>"$LAB/downloads"
mode=$(cat "$LAB/pip" 2>/dev/null)
case $mode in
  offline) echo "ERROR: No matching distribution found for $name" >&2; exit 1 ;;
  full) echo "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device" >&2; exit 1 ;;
  slow*) head -c 5 "$LAB/wheels/$name.whl" >"$2/$name.whl"; echo $$ >"$LAB/started"; read -r -t "${mode#slow }" _ <>"$LAB/fifo" ;;  # a sleep in this process
  damaged) head -c 60 "$LAB/wheels/$name.whl" >"$2/$name.whl"; exit 0 ;;
  other) name=parts0; "$REAL_PYTHON" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z: z.writestr("x/toy.gguf", "GGUF something else")' "$2/toy.whl"; exit 0 ;;
esac
cp "$LAB/wheels/$name.whl" "$2/"
END
chmod +x "$bin/python3"

# Every package is here, until a test says otherwise.
cat >"$bin/dpkg-query" <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do if [[ $1 == -f ]]; then shift; fi; shift; done
for name; do if [[ ! -f $LAB/absent || ! -f $LAB/absent/$name ]] && ! grep -q -s -x -F "$name" "$LAB/absent"; then echo "$name installed"; fi; done
END
chmod +x "$bin/dpkg-query"

failures=0
problem() { printf 'FAILED at line %s: %s\n' "${BASH_LINENO[1]}" "$*"; failures=$((failures + 1)); }

# cast ARGUMENTS..., check ARGUMENTS...: runs it; sets out, err, status.
cast() { script cast "$@"; }
check() { script check "$@"; }
script() {
  status=0
  "$project/$1" "${@:2}" >"$lab/out" 2>"$lab/err" </dev/null || status=$?
  out=$(<"$lab/out")
  err=$(<"$lab/err")
}
without() {  # PROGRAM: PATH less the folders that have it
  local place places path=
  IFS=: read -r -a places <<<"$PATH"
  for place in "${places[@]}"; do if [[ ! -x $place/$1 ]]; then path+=:$place; fi; done
  printf '%s' "${path#:}"
}
expect_status() { if [[ $status != "$1" ]]; then problem "status $status, not $1; stderr: $err"; fi; }
expect_out() { if [[ $out != "$1" ]]; then problem "stdout: $out"; fi; }
expect_err() { if [[ $err != *"$1"* ]]; then problem "stderr has no \"$1\": $err"; fi; }
expect_sentence() {  # STATUS WORDS: one line on stderr, nothing on stdout
  expect_status "$1"
  expect_err "$2"
  if [[ $(tail -n +1 "$lab/err" | wc -l) != 1 || -s $lab/out ]]; then problem "not one sentence: $err $out"; fi
}
expect_last() { if [[ $(tail -n 1 "$lab/err") != "$1" ]]; then problem "stderr ends otherwise: $err"; fi; }
runs() { [[ -r /proc/$1/stat && $(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null) != [ZX] ]]; }  # PID; not one that nobody has buried yet
count() { if [[ -f $1 ]]; then wc -l <"$1"; else echo 0; fi; }
expect_count() { if [[ $(count "$lab/$1") != "$2" ]]; then problem "$(count "$lab/$1") $1, not $2"; fi; }
expect_clean_cache() {  # nothing but the files at their places, locks and logs
  local stray
  stray=$(find "$cache/partial" -mindepth 1 ! -name '*.lock' ! -name '*.log')
  if [[ -n $stray ]]; then problem "left behind: $stray"; fi
}
finish() {
  if ((failures > 0)); then echo "$failures failed"; exit 1; fi
  echo "all as expected"
}
