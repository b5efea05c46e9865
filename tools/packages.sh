# shellcheck shell=bash disable=SC2154,SC2034  # sourced: its variables meet those of cast and check
# The Debian packages that cast and check need, and how they come. Sourced after say.sh.
# A program may come from anywhere (`package:command`); a library must be the package.

cast_packages=(g++:g++ cmake:cmake ninja-build:ninja libboost1.81-dev libeigen3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libssl-dev libsentencepiece-dev)
emulated_packages=(libboost-context1.81-dev)  # for engines with the backend emulated
check_packages=(catch2 libboost-context1.81-dev clang:clang++ clang-16:clang++-16 libclang-rt-14-dev chromium:chromium python3:python3 g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user:qemu-aarch64)

# missing_packages ENTRY...: sets `missing` to the names of those that are not here.
missing_packages() {
  local entry installed
  missing=()
  if ! command -v dpkg-query >/dev/null; then return 0; fi  # not Debian: CMake names what it does not find
  installed=$'\n'$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${@%%:*}" 2>/dev/null || true)$'\n'
  for entry; do
    if [[ $entry == *:* ]] && command -v "${entry#*:}" >/dev/null; then continue; fi
    if [[ $installed != *$'\n'"${entry%%:*} installed"$'\n'* ]]; then missing+=("${entry%%:*}"); fi
  done
}

# need_packages ENTRY...: installs what is missing, or prints the line to run and stops.
need_packages() {
  local missing as_root=() log
  missing_packages "$@"
  if ((${#missing[@]} == 0)); then return 0; fi
  if ! command -v apt-get >/dev/null; then mend "these Debian packages are missing, and there is no apt-get: ${missing[*]}"; fi
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then mend "packages are missing; run this, then the same command again: sudo apt-get install ${missing[*]}"; fi
    as_root=(sudo -n)
  fi

  make_cache
  lock 9 "$cache/apt.lock" "waiting for another installation"
  missing_packages "$@"
  if ((${#missing[@]} > 0)); then
    log=$cache/apt.log
    say "installing ${missing[*]}"
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    # An installation that was killed half way leaves packages to configure.
    waiting "finishing an earlier installation" no_detail "$log" "${as_root[@]}" dpkg --configure -a 9>&- || true
    waiting "reading the package lists" apt_step "$log" "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=600 update 9>&- || true
    # --no-remove: nothing that is on this machine gives way without its owner's word.
    waiting "installing ${#missing[@]} packages" apt_step "$log" "${as_root[@]}" apt-get -q -y -o DPkg::Lock::Timeout=600 \
      --no-remove --no-install-recommends install "${missing[@]}" 9>&- ||
      mend "apt-get could not install ${missing[*]}: $(grep -m 1 '^E:' "$log" || tail -n 1 "$log") (all of it in $log)"
  fi
  unlock 9
}
apt_step() { tail -n 1 "$log" | tr -dc '[:print:]' | cut -c 1-60; }
