# shellcheck shell=bash disable=SC2154,SC2034  # sourced: its variables meet those of cast and check
# How cast and check speak: one sentence for an error, and something that moves in every wait.
# Everything goes to stderr; stdout belongs to the answer. Sourced; the sourcing script sets `program`.

say() { printf '%s\n' "$*" >&2; }
mend() { say "$program: $*"; exit 2; }  # the user can mend it
fail() { say "$program: $*"; exit 1; }

child=
ticker=
interrupted() {  # SIGNAL NUMBER: takes the running child along; a background child does not see Ctrl-C by itself
  trap '' INT TERM HUP
  if [[ -n $ticker ]]; then kill "$ticker" 2>/dev/null || true; fi
  if [[ -n $child ]]; then
    kill -TERM "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  clear_line
  exit $((128 + $1))
}
trap 'interrupted 2' INT
trap 'interrupted 15' TERM
trap 'interrupted 1' HUP

terminal=
if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then terminal=yes; fi
clear_line() { if [[ -n $terminal ]]; then printf '\r\033[K' >&2; fi; }

# waiting LABEL DETAIL LOG COMMAND...: runs COMMAND with its output in LOG and shows LABEL, the words that the function DETAIL prints,
# and the seconds so far: on a terminal in one line that is rewritten, elsewhere in a line every five seconds. Short waits stay silent.
waiting() {
  local label=$1 detail=$2 log=$3 status=0
  shift 3
  "$@" </dev/null >"$log" 2>&1 &
  child=$!
  tick "$label" "$detail" 7>&- 8>&- 9>&- &
  ticker=$!
  wait "$child" 2>/dev/null || status=$?
  child=
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  ticker=
  clear_line
  return "$status"
}

tick() {
  trap - INT TERM HUP
  local ticks=0 width words
  width=$(stty size <&2 2>/dev/null || echo "24 80")
  width=${width#* }
  if ((width < 20)); then width=80; fi
  while sleep 0.2 >/dev/null 2>&1; kill -0 $$ 2>/dev/null; do
    ticks=$((ticks + 1))
    if [[ -n $terminal ]]; then
      if ((ticks < 2)); then continue; fi
    elif ((ticks != 4 && ticks % 25 != 0)); then
      continue
    fi
    words=$("$2" 2>/dev/null || true)
    words="$1${words:+: $words}, $((ticks / 5)) s"
    if [[ -n $terminal ]]; then
      printf '\r\033[K%s' "${words:0:width-1}" >&2
    else
      say "$words"
    fi
  done
}
no_detail() { :; }

# lock DESCRIPTOR FILE LABEL: waits until nobody else holds FILE. The lock ends with the last process that inherited the descriptor,
# so a compiler that outlives a killed cast still keeps the next one out of its folder.
lock() {
  local seconds=0
  # shellcheck disable=SC1083
  eval "exec $1>>\"\$2\"" 2>/dev/null || mend "$2 cannot be written"
  until flock -w 1 "$1"; do
    seconds=$((seconds + 1))
    if [[ -n $terminal ]]; then
      printf '\r\033[K%s, %s s' "$3" "$seconds" >&2
    elif ((seconds % 5 == 1)); then
      say "$3, $seconds s"
    fi
  done
  clear_line
}
unlock() { eval "exec $1>&-"; }

megabytes() { printf '%s MB' "$((($1 + 500000) / 1000000))"; }
