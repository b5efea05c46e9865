#!/usr/bin/env bash
# What cast makes of its arguments: sentences for wrong ones, and every byte of the right ones handed on.
source "${BASH_SOURCE[0]%/*}/lab.sh"

cast --help; expect_status 0; if [[ $out != usage:* || -n $err ]]; then problem "$out $err"; fi
if [[ $(env -u HOME "$project/cast" --help) != usage:* ]]; then problem "--help asks for a folder"; fi
cast --list; expect_status 0; if [[ $out != *"toy "*"Toy Terms (to be fetched"*"tiny "*"Free (in this project)"* ]]; then problem "$out"; fi
cast; expect_status 2; expect_err "a SOURCE is needed"
cast --wrong; expect_sentence 2 "--wrong is neither an option nor a file"
cast smol; expect_sentence 2 "there is no file or known model smol; the known models are: toy, parts, tiny"
cast ''; expect_sentence 2 "the SOURCE is empty"
cast '#'; expect_sentence 2 "there is no file or known model #"
cast "$lab"; expect_sentence 2 "has no config.json"
cast "$project/source.txt"; expect_sentence 2 "is not a GGUF file"
cast /dev/null; expect_sentence 2 "is neither a file nor a folder"
cast tiny What is this; expect_sentence 2 "the PROMPT is one argument"
cast tiny -- --greedy; expect_sentence 2 "need a PROMPT"
cast --inspect; expect_sentence 2 "--inspect takes one SOURCE; here are 0 arguments"
cast --tokenize tiny; expect_sentence 2 "--tokenize takes a SOURCE and a TEXT; here are 1 arguments"
cast --render a b c; expect_sentence 2 "--render takes a TEMPLATE and a CONTEXT file; here are 3 arguments"
cast --render a b; expect_sentence 2 "there is no template file a"
expect_count compilations 0

# A known model in the project; the PROMPT reaches the engine whole, whatever its bytes.
cast tiny; expect_status 0; expect_out ''; expect_last "engine: $project/build/cast/engines/tiny"
newline=$'two\nlines'
for prompt in "Hello" "-x" "--help" "" "it's \"quoted\" \$HOME \`ls\` *" "$newline"; do
  cast tiny "$prompt"
  expect_status 0
  expect_out "<run>"$'\n'"<-->"$'\n'"<$prompt>"
  expect_last "engine: $project/build/cast/engines/tiny"
done
cast tiny "Hi" -- --greedy --stop "a b"; expect_status 0
expect_out "<run>"$'\n'"<--greedy>"$'\n'"<--stop>"$'\n'"<a b>"$'\n'"<-->"$'\n'"<Hi>"
expect_count compilations 1

# The engine's exit status is cast's.
for code in 1 2 7; do echo $code >status; cast tiny Hi; expect_status $code; expect_last "engine: $project/build/cast/engines/tiny"; done
rm status

# The engine's path alone is enough to run it later: its model lies beside it, packed (the stand-in copies the file, of a folder its config.json).
expect_own_engine() {  # MODEL
  local engine
  engine=$(tail -n 1 "$lab/err")
  engine=${engine#engine: }
  if [[ ${engine##*/} != model_* || ! -x $engine ]]; then problem "not an engine of its own: $engine"; fi
  if [[ $engine == *$'\n'* || ${engine##*/} == *[^a-z0-9_]* || ${engine##*/} == *__* ]]; then problem "an odd name: $engine"; fi
  local model=$1
  if [[ -d $model ]]; then model=$model/config.json; fi
  if ! cmp -s -- "$engine.model" "$model"; then problem "$engine.model is not $1"; fi
  if ! grep -q -x -F "<${engine##*/}>" "$project/build/cast/configs/${engine##*/}.hpp"; then problem "no config of its own"; fi
}
if ! cmp -s "$project/build/cast/engines/tiny.model" "$project/models/tiny/config.json"; then problem "the engine does not know its model"; fi

# Any file, under any name, given relative to where the user stands.
for name in plain.gguf "with space.gguf" "qu'ote\".gguf" "-dash.gguf" "new"$'\n'"line.gguf" "--help.gguf" "no-suffix" '$(touch oops).gguf'; do
  cp toy.gguf "./$name"
  cast "$name" Hi; expect_status 0
  expect_out "<run>"$'\n'"<-->"$'\n'"<Hi>"
  expect_own_engine "$lab/$name"
  cast -- "$name" -- ; expect_status 0; expect_out ''
done
if [[ -e oops ]]; then problem "a file name was run as a command"; fi
mkdir "a folder"; cp "$project/models/tiny/config.json" "a folder"
cast "a folder/" Hi; expect_status 0; expect_own_engine "$lab/a folder/"
# Two files of one name do not share an engine's link.
mkdir other; cp plain.gguf other; cast other/plain.gguf; expect_own_engine "$lab/other/plain.gguf"; cast plain.gguf; expect_own_engine "$lab/plain.gguf"
if [[ $(find "$project/build/cast/engines" -name 'model_plain_????????' | wc -l) != 2 ]]; then problem "$(ls "$project/build/cast/engines")"; fi
# Its config is written once, and again when the file has changed.
rm -f configs; cast plain.gguf Hi; expect_status 0; expect_count configs 0
echo more >>plain.gguf; cast plain.gguf Hi; expect_status 0; expect_count configs 1; cast plain.gguf Hi; expect_count configs 1
# So is the model packed.
rm -f packed; cast plain.gguf Hi; expect_count packed 0; echo more >>plain.gguf; cast plain.gguf Hi; expect_count packed 1; expect_own_engine "$lab/plain.gguf"
# What no engine could run is refused in the model tool's last words, before an engine is compiled.
rm -f compilations; echo "strange.gguf: the architecture 'mamba' is not supported" >refuse; cp toy.gguf strange.gguf
cast strange.gguf Hi; expect_sentence 2 "cast: strange.gguf: the architecture 'mamba' is not supported"; expect_count compilations 0
rm refuse; cast strange.gguf Hi; expect_status 0; expect_count compilations 1

# One file with the model inside: it is asked without --model.
cast --embed; expect_sentence 2 "--embed takes a SOURCE"
cast --embed tiny Hi; expect_status 0; expect_last "engine: $project/build/cast/engines/tiny-embedded"
cast --embed plain.gguf Hi -- --greedy; expect_status 0; expect_out "<run>"$'\n'"<--greedy>"$'\n'"<-->"$'\n'"<Hi>"
if [[ $(tail -n 1 "$lab/err") != "engine: $project/build/cast/engines/model_plain_"????????-embedded ]]; then problem "stderr ends otherwise: $err"; fi
# An engine with device code is another program, and answers with it unless told otherwise.
cast --emulated; expect_sentence 2 "--emulated takes a SOURCE"
cast --emulated tiny Hi; expect_status 0; expect_last "engine: $project/build/cast/engines/tiny-emulated"
expect_out "<run>"$'\n'"<--backend>"$'\n'"<emulated>"$'\n'"<-->"$'\n'"<Hi>"
cast --emulated tiny Hi -- --backend cpu; expect_out "<run>"$'\n'"<--backend>"$'\n'"<cpu>"$'\n'"<-->"$'\n'"<Hi>"
cast --emulated tiny; expect_status 0; expect_out ''
CUDACXX=$lab/none CUDA_PATH=$lab/none PATH=$(without nvcc) cast --cuda tiny Hi
expect_sentence 2 "nvcc is not here, which compiles the backend cuda"
# The known folder under another path is the known model.
cast "$project/models/../models/tiny" Hi; expect_last "engine: $project/build/cast/engines/tiny"

# The model tool.
cast --inspect "-dash.gguf"; expect_status 0; expect_out "<inspect>"$'\n'"<-->"$'\n'"<$lab/-dash.gguf>"
cast --tokenize tiny "-x y"; expect_status 0; expect_out "<tokenize>"$'\n'"<-->"$'\n'"<$project/models/tiny>"$'\n'"<-x y>"
echo a >t.jinja; echo '{}' >c.json
cast --render t.jinja "$lab/c.json"; expect_status 0; expect_out "<render>"$'\n'"<-->"$'\n'"<$lab/t.jinja>"$'\n'"<$lab/c.json>"

# Through a link, and from another folder.
ln -s "$project/cast" "$lab/linked"
(cd / && "$lab/linked" tiny Hi >/dev/null 2>"$lab/err") || problem "through a link"
expect_last "engine: $project/build/cast/engines/tiny"
finish
