#!/bin/sh
# The ten lines answer; 77 says that the model is not in the cache.
model=${DIECAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/diecast}/models/smollm2-135m-instruct.gguf
[ -f "$model" ] || { echo "skipped: $model is not there (./check fetches it)"; exit 77; }
answer=$("$1" "$model") && [ "$answer" = "The capital of France is Paris." ] || { echo "it answered: $answer"; exit 1; }
