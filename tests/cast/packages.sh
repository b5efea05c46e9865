#!/usr/bin/env bash
# What cast does when Debian packages are missing: installs them when it may, else prints the one line to run.
source "${BASH_SOURCE[0]%/*}/lab.sh"

# apt-get notes its arguments; `install` makes the packages present, unless the file `apt` says what goes wrong. dpkg finishes at once.
cat >bin/apt-get <<'END'
#!/bin/bash
echo "$*" >>"$LAB/apt-calls"
if [[ " $* " == *" update "* ]]; then [[ ! -f $LAB/offline ]] || { cat "$LAB/offline" >&2; exit 100; }; fi
if [[ " $* " != *" install "* ]]; then exit 0; fi
if [[ -f $LAB/apt ]]; then cat "$LAB/apt" >&2; exit 100; fi
rm -f "$LAB/absent"
if [[ $* == *python3-pip* ]]; then ln -s "$LAB/bin/real-pip" "$LAB/system-python"; fi
END
printf '#!/bin/sh\n' >bin/dpkg
chmod +x bin/apt-get bin/dpkg
# A machine without pip, until a test brings it.
if [[ -x /usr/bin/python3 ]]; then export REAL_PYTHON=/usr/bin/python3; fi  # one that any user may run
sed -i 's|^system_python=.*|system_python=$LAB/system-python|' "$project/tools/models.sh"  # expanded when cast runs
mv bin/python3 bin/real-pip
printf '#!/bin/sh\nexit 1\n' >bin/python3; chmod +x bin/python3
absent() { printf '%s\n' "$@" >absent; }
again() { rm -rf "$project/build" apt-calls; }

# Nothing is missing: apt-get is not called.
cast tiny; expect_status 0; expect_count apt-calls 0

if ((EUID == 0)); then
  # As root: one installation of just the missing ones, nothing removed, no question asked.
  again; absent libeigen3-dev libfmt-dev
  cast tiny; expect_status 0; expect_err "installing libeigen3-dev libfmt-dev"; expect_count apt-calls 2
  if [[ $(tail -n 1 apt-calls) != *"-y "*"--no-remove"*"install libeigen3-dev libfmt-dev" ]]; then problem "$(<apt-calls)"; fi
  # It fails: apt-get's own reason, and the way out.
  again; absent libeigen3-dev; echo "E: Unable to locate package libeigen3-dev" >apt
  cast tiny; expect_status 2; expect_err "apt-get could not install libeigen3-dev: E: Unable to locate package libeigen3-dev"
  # Without a network the lists are missing, too: that is the reason, not what follows from it. Old lists may do.
  again; absent libeigen3-dev; echo "E: Failed to fetch http://lists Temporary failure resolving 'lists'" >offline
  cast tiny; expect_status 2; expect_err "apt-get could not install libeigen3-dev: E: Failed to fetch http://lists Temporary failure"
  rm apt
  cast tiny; expect_status 0
  rm offline
  # Two at once: the packages come once.
  again; absent libeigen3-dev
  "$project/cast" tiny >/dev/null 2>err1 </dev/null & one=$!
  "$project/cast" tiny >/dev/null 2>err2 </dev/null & two=$!
  wait $one || problem "$(<err1)"; wait $two || problem "$(<err2)"
  if [[ $(grep -c install apt-calls) != 1 ]]; then problem "installed twice: $(<apt-calls)"; fi
fi

# As a user without and with sudo. Where the test runs as root, it becomes nobody.
user=()
if ((EUID == 0)) && command -v setpriv >/dev/null; then user=(setpriv --reuid=65534 --clear-groups); chmod -R a+rwX "${lab%/*}"; fi
as_user() { status=0; "${user[@]}" "$project/cast" "$@" >out 2>err </dev/null || status=$?; out=$(<out); err=$(<err); }
sudo_refuses() { printf '#!/bin/sh\nexit 1\n' >bin/sudo; chmod +x bin/sudo; }
sudo_obeys() { printf '#!/bin/sh\nshift\nexec "$@"\n' >bin/sudo; chmod +x bin/sudo; }
again; absent libeigen3-dev libfmt-dev
sudo_refuses
line="apt-get install --no-install-recommends"
as_user tiny; expect_sentence 2 "run this, then the same command again: sudo apt-get update && sudo $line libeigen3-dev libfmt-dev"
if [[ -e apt-calls ]]; then problem "apt-get ran without leave"; fi
# What an engine with device code needs besides stands in the same line; of nvcc, which no package brings, is spoken before any.
absent libeigen3-dev libboost-context1.81-dev
as_user --emulated tiny; expect_sentence 2 "sudo $line libeigen3-dev libboost-context1.81-dev"
CUDACXX=$lab/none CUDA_PATH=$lab/none PATH=$(without nvcc) as_user --cuda tiny; expect_sentence 2 "nvcc is not here, which compiles the backend cuda"
# A machine without sudo is not told to use it.
rm bin/sudo
if ! command -v sudo >/dev/null; then as_user tiny; expect_sentence 2 "have root run this, then run the same command again: apt-get update && $line libeigen3-dev"; fi
sudo_obeys
as_user tiny; expect_status 0; expect_count apt-calls 2

# A model to fetch as well: everything that is missing stands in the one line, pip included, and nothing is fetched before.
again; rm -f system-python; absent libeigen3-dev python3-pip
sudo_refuses
as_user toy; expect_sentence 2 "sudo $line libeigen3-dev python3-pip"; expect_count downloads 0
sudo_obeys
as_user toy; expect_status 0; expect_count apt-calls 2; expect_count downloads 1
again; rm -rf "$cache" system-python downloads; absent python3-pip catch2
sudo_refuses
status=0; "${user[@]}" "$project/check" --quick >out 2>err </dev/null || status=$?; out=$(<out); err=$(<err)
expect_sentence 2 "sudo $line catch2 python3-pip"; expect_count downloads 0
finish
