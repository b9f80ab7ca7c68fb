# Sourced by the scripts beside this: a temporary folder, a forum in it, and how to skip.

# Says loudly that a check was left out, which is no failure: this machine cannot install its tools.
skip() {
  echo "SKIPPED: $(basename "$0"): $*" >&2
  exit 0
}

# Starts the forum: $url, $admin, and the tokens of two handles, $ada and $bert. Further arguments go
# to `parley serve`. The binary is $FORUM_BIN, or built.
start_forum() {
  if [ -z "${FORUM_BIN:-}" ]; then
    (cd "$project" && cargo build --quiet --bin parley)
    FORUM_BIN=${CARGO_TARGET_DIR:-$project/target}/debug/parley
  fi
  mkdir "$work/data"
  : >"$work/serve.out"
  "$FORUM_BIN" serve --listen 127.0.0.1:0 --data "$work/data" --set allowed_hosts=localhost \
    --set gateway.wrong_tokens_per_minute=1000000 --log-level warn "$@" \
    >"$work/serve.out" 2>"$work/serve.err" &
  server=$!
  for _ in $(seq 100); do
    url=$(sed -n 's/^parley listens on \(http[^;]*\);.*/\1/p' "$work/serve.out")
    [ -n "$url" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$work/serve.err" >&2; exit 1; }
    sleep 0.1
  done
  [ -n "$url" ] || { echo "the forum did not start" >&2; exit 1; }
  admin=$(cat "$work/data/admin.token")
  ada=$(token '{"handle":"ada","rights":["read","write"]}')
  bert=$(token '{"handle":"bert","rights":["read","write"]}')
}

# The secret of a new token.
token() {
  curl -sSf "$url/v1/tokens" -H "Authorization: Bearer $admin" \
    -H 'Content-Type: application/json' -d "$1" | sed -n 's/.*"secret":"\([^"]*\)".*/\1/p'
}

# Ends what was started, by its own number.
end_all() {
  local code=$?
  for process in ${proxy:-} ${server:-}; do
    # What was ended by a signal ends with its number: that is no failure of the check.
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  rm -rf "$work"
  exit "$code"
}

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
clients=$project/tests/clients
work=$(mktemp -d)
trap end_all EXIT
