#!/usr/bin/env bash
# Tries faults planted in the sources, each a patch in this directory, on a copy of the tree: the
# test that a patch names must fail, and say what the patch expects.
#
#   tests/planted/run.sh --check     each patch applies to the tree
#   tests/planted/run.sh NAME…       tries these
#   tests/planted/run.sh all         tries all
#
# All are built in one directory, PARLEY_PLANTED_TARGET, which must not be that of the tree: cargo
# would take what a fault was built into for what the tree has. PARLEY_SEEDS bounds the seeds that a
# simulation goes through; 200 without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$(pwd)
patches=$root/tests/planted
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

check() {
  local patch
  for patch in "$patches"/*.patch; do
    git apply --check "$patch" || { echo "${patch##*/} does not apply"; return 1; }
  done
}

# The value of a line in the head of a patch.
header() { sed -n "/^diff /q;s/^$2: //p" "$1"; }

# Plants one fault in the copy, has its test find it, and takes it out again.
try() {
  local name=$1 patch=$patches/$1.patch begun=$SECONDS log=$copy/found.log expected status=0
  [ -f "$patch" ] || { echo "there is no fault $name"; return 1; }
  local -a test
  read -ra test <<<"$(header "$patch" Test)"
  expected=$(header "$patch" Finds)
  [ -n "$expected" ] || { echo "$name: the patch does not say what its test finds"; return 1; }
  git -C "$copy" apply "$patch" || return 1
  if ! (cd "$copy" && cargo test --quiet "${test[@]}" --no-run); then
    echo "$name: does not compile"
    git -C "$copy" apply -R "$patch"
    return 1
  fi
  if (cd "$copy" && cargo test "${test[@]}") >"$log" 2>&1; then
    echo "$name: NOT FOUND"
    status=1
  elif ! grep -qF -- "$expected" "$log"; then
    echo "$name: the test fails without saying: $expected"
    cat "$log"
    status=1
  else
    printf '%s: found in %d s: %s\n' \
      "$name" $((SECONDS - begun)) "$(grep -F -- "$expected" "$log" | grep -oE "seed [0-9]+, .*" | sort -V | head -n 1 | cut -c 1-200)"
  fi
  git -C "$copy" apply -R "$patch"
  return "$status"
}

case "${1:-}" in
  '' | -h | --help) usage; exit 2 ;;
  --check) check; exit ;;
  all) set -- "$patches"/*.patch; set -- "${@##*/}"; set -- "${@%.patch}" ;;
esac

CARGO_TARGET_DIR=${PARLEY_PLANTED_TARGET:-$root/target/planted}
export CARGO_TARGET_DIR PARLEY_SEEDS=${PARLEY_SEEDS:-200}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
export GIT_CEILING_DIRECTORIES=${copy%/*}
# Every file is newer than what was built before, so that nothing of another fault is taken over.
git ls-files -z | tar --null -T - -cf - | tar -xmf - -C "$copy"

failed=()
for name; do try "$name" || failed+=("$name"); done
[ ${#failed[@]} -eq 0 ] || { printf 'not found: %s\n' "${failed[*]}"; exit 1; }
