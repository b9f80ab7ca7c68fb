#!/usr/bin/env bash
# Coverage-guided fuzzing with stable Rust: libFuzzer, told by LLVM's own instrumentation where an
# input came. Needs a C++ compiler and, for the corpus, python3.
#
#   tests/fuzz/run.sh                     names the targets
#   tests/fuzz/run.sh TARGET [SECONDS]    60 s from the corpus on; ends with 1 at a finding
#   tests/fuzz/run.sh TARGET shrink       puts the smallest set of inputs that reaches as much as all
#                                         that was found since into corpus/TARGET.txt
#
# What is found between the two stays in target/fuzz, and an input that fails in target/fuzz/findings.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${1:-}
if [ -z "$target" ]; then
  ls "$here/corpus" | sed 's/\.txt$//'
  exit 0
fi
[ -f "$here/corpus/$target.txt" ] || { echo "there is no target $target" >&2; exit 2; }

# Bytes of an input at most: large ones are slow, and reach little that small ones do not.
case $target in
  folder) bytes_max=8192 ;;
  canonical | publish | json | arguments | mcp) bytes_max=2048 ;;
  *) bytes_max=512 ;;
esac

host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$here/target}
# A target is named so that build scripts, which nothing links with libFuzzer, go uninstrumented.
instrumented="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
instrumented+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
instrumented+=" -Cllvm-args=-sanitizer-coverage-pc-table"
instrumented+=" -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
(cd "$here" && RUSTFLAGS=$instrumented cargo build --quiet --release --target "$host" --bin fuzz)
fuzzer=$CARGO_TARGET_DIR/$host/release/fuzz
export PARLEY_FUZZ_TARGET=$target

work=$here/target/fuzz/$target
findings=$here/target/fuzz/findings
mkdir -p "$work" "$findings"
corpus=$here/corpus/$target.txt
python3 "$here/corpus.py" unpack "$corpus" "$work"

if [ "${2:-60}" = shrink ]; then
  small=$(mktemp -d)
  "$fuzzer" -merge=1 -use_counters=0 -max_len="$bytes_max" "$small" "$work" 2>&1 | tail -n 1
  python3 "$here/corpus.py" pack "$small" "$corpus"
  rm -rf "$small"
else
  words=$here/words/$target.dict
  [ -f "$words" ] && words="-dict=$words" || words=
  # shellcheck disable=SC2086
  "$fuzzer" -max_total_time="${2:-60}" -max_len="$bytes_max" -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" $words "$work"
fi
