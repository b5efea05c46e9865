#!/usr/bin/env bash
# What check does and what its exit status says: with models and without, when a build fails, when a test fails.
source "${BASH_SOURCE[0]%/*}/lab.sh"

# "Test programs" that say yes while the file `no` is absent; the sanitized one is made only when its turn has come.
mkdir -p "$project/cmake" "$project/tests"
cp "$project_root/cmake/sanitized.cmake" "$project/cmake/"
cat >"$project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(lab LANGUAGES NONE)
enable_testing()
add_subdirectory(tests)
END
cat >"$project/tests/CMakeLists.txt" <<'END'
add_custom_target(test_files ALL VERBATIM COMMAND sh "${CMAKE_SOURCE_DIR}/compile" "${CMAKE_CURRENT_BINARY_DIR}/test_files")
add_test(NAME files COMMAND "${CMAKE_CURRENT_BINARY_DIR}/test_files")
set_tests_properties(files PROPERTIES LABELS slow)
add_test(NAME quick COMMAND sh "${CMAKE_SOURCE_DIR}/quick")
add_test(NAME surroundings COMMAND sh -c [[test -x "$1" && test -n "$DIECAST_CACHE"]] sh "${CMAKE_CURRENT_BINARY_DIR}/test_files")
include(${CMAKE_SOURCE_DIR}/cmake/sanitized.cmake)
END
echo 'test ! -f "$LAB/no"' >"$project/quick"
expect_summary() { if [[ $out != *"$1"* || $(tail -n 14 <<<"$out") != *"tests passed"*"Total Test time"* ]]; then problem "no summary with \"$1\": $out"; fi; }

check --help; expect_status 0; if [[ $out != usage:* ]]; then problem "$out"; fi
check --wrong; expect_sentence 2 "--wrong is not an option"
check --quick --asan; expect_sentence 2 "one option at most"

# Everything: the sanitized program is a test of its own, and the summary comes last.
check; expect_status 0; expect_summary "100% tests passed, 0 tests failed out of 4"
if [[ $out != *"asan: files"* ]]; then problem "no sanitized test: $out"; fi
expect_count downloads 4; expect_count installations 1
# Quick: nothing slow, nothing sanitized.
rm compilations; check --quick; expect_status 0; expect_count installations 1; expect_summary "0 tests failed out of 2"; expect_count compilations 1
# One sanitizer alone, in its own folder.
check --asan; expect_status 0; expect_summary "0 tests failed out of 3"

# A failing test, and a test program that does not build: status 1.
touch no; check --quick; expect_status 1; expect_summary "50% tests passed, 1 tests failed out of 2"; rm no
echo "oh no" >broken; check --quick; expect_status 1; expect_err "error: oh no"; expect_err "building the tests failed after"; rm broken
cat >>"$project/compile" <<'END'
case $1 in */asan/*) if [ -f "$LAB/asan-broken" ]; then rm -f "$1"; exit 1; fi ;; esac
END
touch asan-broken; check; expect_status 1; expect_summary "asan: files"; expect_summary "1 tests failed out of 4"; rm asan-broken

# Without a network: says so, tests what it can.
rm -rf "$cache"; echo offline >pip
check --quick; expect_status 0; expect_err "toy is not here; the tests that need it are skipped"; expect_err "are not here; the tests that need them are skipped"
expect_summary "0 tests failed out of 2"
finish
