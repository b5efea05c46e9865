#!/usr/bin/env bash
# A model that the project has never seen is one new file in configs/ and no other edit: a copy of the tree gets one, CMake finds its engine by
# itself, and its unit compiles. The same for a config in the build folder, where ./cast writes them.
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/../.."
tool=$1 model=$2
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
cp -a CMakeLists.txt bench cmake configs include kernels src tools "$tree/"
"$tool" config --name brand-new --output "$tree/configs/brand_new.hpp" -- "$model"
cmake -S "$tree" -B "$tree/build" -G Ninja -DDIECAST_TESTS=OFF -DCMAKE_BUILD_TYPE=Release >"$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
mkdir -p "$tree/build/configs"
"$tool" config --name dropped.model --output "$tree/build/configs/dropped_model.hpp" -- "$model"
for engine in brand_new dropped_model; do
  unit=CMakeFiles/engine_$engine.dir/engines/engine_$engine.cpp.o
  ninja -C "$tree/build" -j 1 "$unit" >"$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
done
ninja -C "$tree/build" -t targets all >"$tree/log"
if ! grep -q '^engines/dropped.model:' "$tree/log"; then echo "the engine does not bear its name"; cat "$tree/log"; exit 1; fi
echo "both compiled"
