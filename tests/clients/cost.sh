#!/usr/bin/env bash
# CPU of a tools/call beside that of the same operation over HTTP, by the release build.
#
#   tests/clients/cost.sh          builds the forum, or takes FORUM_BIN
set -euo pipefail
. "$(dirname "$0")/forum.sh"
command -v python3 >/dev/null || skip "there is no python3"
[ -r /proc/self/stat ] || skip "there is no /proc"
if [ -z "${FORUM_BIN:-}" ]; then
  (cd "$project" && cargo build --quiet --release --bin parley)
  FORUM_BIN=${CARGO_TARGET_DIR:-$project/target}/release/parley
fi
start_forum --set limits.writes_per_minute=0
python3 "$clients/cost.py" "$server" "$url" "$ada"
