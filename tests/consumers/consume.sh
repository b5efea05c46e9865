#!/bin/sh
# Takes the library into a small project in one of the usual ways, builds that and compares what it prints. Each way starts from an empty folder.
#   consume.sh WAY PROJECT-ROOT BUILD-OF-THE-PROJECT FOLDER CXX
set -eu
way=$1 root=$2 build=$3 folder=$4 cxx=$5
here=$root/tests/consumers
rm -rf "$folder"
mkdir -p "$folder"
export CMAKE_GENERATOR=Ninja CXX="$cxx"

# The core's two lines; the second is the sentence of its rule.
core_right='attention.kv_heads: compiled 3, file 4
impossible model: attention.heads must be a multiple of attention.kv_heads, since each KV head serves as many query heads (values: 9 and 4)'

same() {  # WHAT EXPECTED GOT
  if [ "$2" != "$3" ]; then
    printf '%s printed\n%s\nbut should print\n%s\n' "$1" "$3" "$2"
    exit 1
  fi
}
built() {  # SOURCE CMAKE-OPTION...
  source=$1
  shift
  if ! cmake -S "$source" -B "$folder/build" "$@" >"$folder/log" 2>&1 || ! cmake --build "$folder/build" -j 1 >>"$folder/log" 2>&1; then
    cat "$folder/log"
    exit 1
  fi
}
# Installs, then moves the folder: nothing in it may know where it was.
installed() {
  cmake --install "$build" --prefix "$folder/first" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
  mv "$folder/first" "$folder/installed"
  for link in kernels configs; do
    at=$folder/installed/include/diecast/$link
    if [ ! -d "$at" ] || [ -L "$at" ]; then echo "include/diecast/$link is no folder of its own"; exit 1; fi
  done
  if grep -r -l -F -e "$root" -e "$folder" "$folder/installed"; then echo "the files above name the folder that they were made in"; exit 1; fi
}

case $way in
  find_package)
    installed
    built "$here/find_package" -Ddiecast_ROOT="$folder/installed"
    same "the core's program" "$core_right" "$("$folder/build/consumer")"
    # ids and next token: HF transformers, as in tests/data/oracle/tiny-shakespeare.json
    same "the program of all parts" 'differences: 0
ids: 859 26 199
next: 47
digits of the identity: 64' "$("$folder/build/parts" "$root/models/tiny-shakespeare")"
    # A part that is not there is said by name.
    mkdir "$folder/wrong"
    printf 'cmake_minimum_required(VERSION 3.22)\nproject(wrong LANGUAGES CXX)\nfind_package(diecast REQUIRED COMPONENTS fortran)\n' >"$folder/wrong/CMakeLists.txt"
    if cmake -S "$folder/wrong" -B "$folder/wrong/build" -Ddiecast_ROOT="$folder/installed" >"$folder/log" 2>&1; then echo "find_package found the part fortran"; exit 1; fi
    grep -q 'fortran is no part of diecast' "$folder/log" || { cat "$folder/log"; exit 1; }
    ;;
  fetch_content)
    built "$here/fetch_content" -DDIECAST_FOLDER="$root"
    same "the program" "$core_right" "$("$folder/build/consumer")"
    ;;
  add_subdirectory)  # the example of a CMake project around the library
    built "$root/examples/embedding" -DDIECAST_FOLDER="$root"
    # the first tokens of the greedy text of HF transformers, as in tests/data/oracle/tiny-shakespeare.json
    same "the program" "O, I'll tell thee, and I'll not," "$("$folder/build/my_program" "$root/models/tiny-shakespeare")"
    ;;
  pkg_config)
    if ! command -v pkg-config >/dev/null; then echo "skipped: pkg-config is not installed"; exit 77; fi
    installed
    export PKG_CONFIG_PATH="$folder/installed/share/pkgconfig"
    # shellcheck disable=SC2046  # the flags are words
    "$cxx" -std=c++20 $(pkg-config --cflags diecast) "$here/core.cpp" -o "$folder/consumer" $(pkg-config --libs diecast)
    same "the program" "$core_right" "$("$folder/consumer")"
    for part in hf reference identity serve; do pkg-config --print-errors --exists "diecast-$part = $(pkg-config --modversion diecast)"; done
    ;;
  single_header)  # that file and nothing else of ours
    mkdir -p "$folder/only/diecast"
    cp "$root/single_include/diecast/diecast.hpp" "$folder/only/diecast"
    "$cxx" -std=c++20 -I"$folder/only" "$here/core.cpp" -o "$folder/consumer"
    same "the program" "$core_right" "$("$folder/consumer")"
    ;;
  compiled)  # the core's larger part from its library; what is printed: the greedy ids of HF transformers, as in examples/CMakeLists.txt
    installed
    built "$here/compiled" -Ddiecast_ROOT="$folder/installed" -DCMAKE_BUILD_TYPE=Release
    same "the program" 'ids: 68 218 216 207 50 59 3 116 77 51 147 246
rendered: <s>[user] HELLO
other unit: 12 tokens, then length' "$("$folder/build/consumer" "$root/tests/data/models/tiny-llama/model.gguf")"
    if nm -C "$folder"/build/CMakeFiles/consumer.dir/*.o | grep 'chat::Interpreter::'; then echo "a unit compiled what the library holds"; exit 1; fi
    rm "$folder"/installed/lib*/libdiecast_compiled.a
    if cmake -S "$here/compiled" -B "$folder/wrong" -Ddiecast_ROOT="$folder/installed" >"$folder/log" 2>&1; then echo "find_package found the part compiled without its archive"; exit 1; fi
    grep -q 'compiled lacks its archive' "$folder/log" || { cat "$folder/log"; exit 1; }
    ;;
  *) echo "there is no way $way"; exit 1 ;;
esac
echo "$way: as it should"
