# shellcheck shell=bash disable=SC2154  # sourced after models.sh: `cache`, `python`
# The Python packages that tests of `./check` use and nothing else does: OpenAI's own client, the Unicode version of the tables, and where nvcc is,
# nvdisasm, which shows the machine code of compiled kernels. They lie in the cache, apart from the system's. A machine that cannot have them
# loses the tests that need them, which say that they skip.

check_modules=(openai==3.57.0 unicodedata2==16.0.0)

get_check_modules() {
  local wanted folder log=$cache/modules.log
  find_pip  # its packages are installed by now
  folder=$cache/modules
  if command -v nvcc >/dev/null || compgen -G '/usr/local/cuda*/bin/nvcc' >/dev/null; then check_modules+=(nvidia-cuda-nvdisasm==13.5.37); fi
  wanted="$("$python" -c 'import sys; print(*sys.version_info[:2], sep=".")') ${check_modules[*]}"
  make_cache
  lock 7 "$cache/modules.lock" "waiting for another check"
  if [[ ! -f $folder/wanted || $(<"$folder/wanted") != "$wanted" ]]; then
    rm -rf -- "$folder" "$folder.partial"
    if waiting "getting the tests' Python packages" no_detail "$log" "$python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --target "$folder.partial" "${check_modules[@]}"; then
      printf '%s\n' "$wanted" >"$folder.partial/wanted"
      mv -- "$folder.partial" "$folder"
    else
      say "the Python packages ${check_modules[*]} are not here; the tests that need them are skipped"
    fi
  fi
  unlock 7
  export PYTHONPATH=$folder${PYTHONPATH:+:$PYTHONPATH}
}
