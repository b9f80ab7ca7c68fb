#!/usr/bin/env bash
# Public WebSocket and event-stream clients against a forum of their own (bindings.md §6): Python's
# `websockets`, Node's `ws`, headless Chromium with a ticket, curl. What is missing is installed by
# name: into a temporary folder, Chromium by the system's package manager where it may. A machine
# that reaches no registry skips, loudly, what it cannot install.
#
#   tests/clients/feed.sh         builds the forum, or takes FORUM_BIN
set -euo pipefail
. "$(dirname "$0")/forum.sh"

command -v python3 >/dev/null || skip "there is no python3"
command -v curl >/dev/null || skip "there is no curl"
page_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# A comment a second tells curl that nobody reads on.
start_forum --set "allowed_origins=http://127.0.0.1:$page_port" --set feed.heartbeat_seconds=1
export FEED_URL=$url FEED_ADMIN=$admin FEED_ADA=$ada FEED_BERT=$bert FEED_PAGE_PORT=$page_port
cd "$work"
failed=0
run=0

check() {
  echo "== $1"
  shift
  run=$((run + 1))
  # In a process of its own, where a failure in the middle ends it.
  "$@" >last.log 2>&1 &
  if ! wait $!; then
    failed=$((failed + 1))
    cat last.log >&2
  fi
}

left_out() {
  echo "SKIPPED: feed.sh: $*" >&2
}

python_client() {
  "$work/venv/bin/python" "$clients/feed.py"
}

node_client() {
  NODE_PATH=$work/node_modules node "$clients/feed.cjs"
}

browser() {
  python3 "$clients/feed_browser.py" "$1"
}

# Reads the stream until the wanted number of events has come; curl ends when nobody reads.
events() {
  local count=$1 seen=0 line
  shift
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in data:*) seen=$((seen + 1)) ;; esac
    if [ "$seen" = "$count" ]; then return 0; fi
  done < <(curl -sN --max-time 20 -H 'Accept: text/event-stream' \
    -H "Authorization: Bearer $bert" "$@")
  return 1
}

ask() {
  curl -sSf "$url/v1/messages" -H "Authorization: Bearer $ada" -H 'Content-Type: application/json' \
    -d "{\"kind\":\"ask\",\"body\":\"$1\"}" >/dev/null
}

with_curl() {
  set -euo pipefail
  events 4 "$url/v1/feed?scope=all" >live.txt &
  local reader=$!
  until grep -q '^event: hello' live.txt 2>/dev/null; do
    kill -0 "$reader" || exit 1
    read -rt 0.1 <> <(:) || true
  done
  ask 'what does curl hear?'
  wait "$reader"
  [ "$(sed -n 's/^event: //p' live.txt | tr '\n' ' ')" = 'hello message event awaiting ' ]
  local hello
  hello=$(sed -n 's/^id: //p' live.txt | head -n 1)
  events 5 -H "Last-Event-ID: $hello" "$url/v1/feed?scope=all" >again.txt
  [ "$(sed -n 's/^event: //p' again.txt | tr '\n' ' ')" = 'hello message event awaiting caught_up ' ]
  [ "$(sed -n 's/^id: //p' live.txt)" = "$(sed -n 's/^id: //p' again.txt | head -n 4)" ]
}

if python3 -m venv venv && venv/bin/pip install --quiet websockets; then
  check 'Python websockets' python_client
else
  left_out 'pip cannot install websockets'
fi >pip.log
cat pip.log
if command -v node >/dev/null && command -v npm >/dev/null &&
  echo '{"private":true}' >package.json && npm install --silent --no-fund --no-audit ws; then
  check 'Node ws' node_client
else
  left_out 'npm cannot install ws'
fi
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$chromium" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
    --no-install-recommends chromium; } >apt.log 2>&1 || true
  chromium=$(command -v chromium || true)
fi
if [ -n "$chromium" ]; then
  check 'Chromium with a ticket' browser "$chromium"
else
  left_out 'there is no Chromium, and none can be installed'
fi
check 'curl' with_curl

echo "$((run - failed)) passed, $failed failed"
[ "$failed" = 0 ]
