# shellcheck shell=bash disable=SC2154,SC2034  # sourced: its variables meet those of cast and check
# The Debian packages that cast and check need, and how they come. Sourced after say.sh.
# A program may come from anywhere (`package:command`); a library must be the package.

cast_packages=(g++:g++ cmake:cmake ninja-build:ninja libboost1.81-dev libeigen3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libssl-dev libsentencepiece-dev)
emulated_packages=(libboost-context1.81-dev)  # added to these for an engine with the backend emulated
test_packages=("${emulated_packages[@]}" catch2 python3:python3)  # what a build with tests needs
check_packages=("${test_packages[@]}" clang:clang++ clang-16:clang++-16 libclang-rt-14-dev chromium:chromium shellcheck:shellcheck pkgconf:pkg-config
  g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user:qemu-aarch64)

# missing_packages ENTRY...: sets `missing` to the names of those that are not here, each once.
missing_packages() {
  local entry installed
  missing=()
  if ! command -v dpkg-query >/dev/null; then return 0; fi  # not Debian: CMake names what it does not find
  installed=$'\n'$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${@%%:*}" 2>/dev/null || true)$'\n'
  for entry; do
    if [[ $entry == *:* ]] && command -v "${entry#*:}" >/dev/null; then continue; fi
    if [[ $installed != *$'\n'"${entry%%:*} installed"$'\n'* && " ${missing[*]} " != *" ${entry%%:*} "* ]]; then missing+=("${entry%%:*}"); fi
  done
}

# need_packages ENTRY...: installs what is missing, or prints the line to run and stops. That line reads the lists first: a fresh machine has none.
# --no-install-recommends: what these packages recommend is several times their size.
need_packages() {
  local missing as_root=() log line why=
  missing_packages "$@"
  if ((${#missing[@]} == 0)); then return 0; fi
  if ! command -v apt-get >/dev/null; then mend "these Debian packages are missing, and there is no apt-get: ${missing[*]}"; fi
  if ((EUID != 0)); then
    line="apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    if ! command -v sudo >/dev/null; then mend "packages are missing; have root run this, then run the same command again: $line"; fi
    if ! sudo -n true 2>/dev/null; then mend "packages are missing; run this, then the same command again: ${line//apt-get/sudo apt-get}"; fi
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
    # Error-Mode: a list that cannot be fetched would be a warning. Old lists may do; where they do not, this is why.
    waiting "reading the package lists" apt_step "$log" "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=600 -o APT::Update::Error-Mode=any update 9>&- ||
      why=$(grep -m 1 '^E:' "$log" || tail -n 1 "$log")
    # --no-remove: nothing that is on this machine gives way without its owner's word.
    waiting "installing ${#missing[@]} packages" apt_step "$log" "${as_root[@]}" apt-get -q -y -o DPkg::Lock::Timeout=600 \
      --no-remove --no-install-recommends install "${missing[@]}" 9>&- ||
      mend "apt-get could not install ${missing[*]}: ${why:-$(grep -m 1 '^E:' "$log" || tail -n 1 "$log")} (all of it in $log)"
  fi
  unlock 9
}
apt_step() { tail -n 1 "$log" | tr -dc '[:print:]' | cut -c 1-60; }
