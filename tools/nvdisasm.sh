# shellcheck shell=bash disable=SC2154,SC2034  # sourced: its variables meet those of check
# nvdisasm, which shows the machine code of compiled kernels; CUDA's toolkit and this Python package have it. Sourced after models.sh.

nvdisasm_package=nvidia-cuda-nvdisasm==13.5.37
set_nvdisasm() {
  DIECAST_NVDISASM=${DIECAST_NVDISASM:-$(command -v nvdisasm || printf %s "$cache/tools/${nvdisasm_package//==/-}")}
  export DIECAST_NVDISASM
}
# There is something to look at, and nothing to look with.
wants_nvdisasm() { [[ ! -x $DIECAST_NVDISASM ]] && { command -v nvcc || compgen -G '/usr/local/cuda*/bin/nvcc'; } >/dev/null; }
get_nvdisasm() {
  local model_name=nvdisasm model_bytes=30000000 log=$cache/partial/nvdisasm.log
  find_pip
  make_cache
  mkdir -p -- "$cache/tools" "$cache/partial/nvdisasm"
  lock 8 "$cache/partial/nvdisasm.lock" "waiting for another run that gets nvdisasm"
  if wants_nvdisasm; then
    rm -rf -- "$cache/partial/nvdisasm"/download.*
    fetch_part "$nvdisasm_package" 'nvidia/*/bin/nvdisasm' "$cache/partial/nvdisasm/program"
    chmod +x -- "$cache/partial/nvdisasm/program"
    mv -f -- "$cache/partial/nvdisasm/program" "$DIECAST_NVDISASM"
  fi
  unlock 8
}
