#!/usr/bin/env bash
# Public MCP clients and the conformance suite against a forum of their own (mcp.md §6). Everything
# is installed by name into a temporary folder; a machine that reaches no registry skips.
#
#   tests/clients/mcp.sh          builds the forum, or takes FORUM_BIN
set -euo pipefail
. "$(dirname "$0")/forum.sh"

command -v npm >/dev/null || skip "there is no npm"
command -v python3 >/dev/null || skip "there is no python3"
cd "$work"
echo '{"private":true}' >package.json
npm install --silent --no-fund --no-audit node@22 \
  @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 \
  >npm.log 2>&1 || skip "npm cannot install the clients: $(tail -1 npm.log)"
{ python3 -m venv venv && venv/bin/pip install --quiet 'mcp==2.3.*' 'fastmcp==4.2.*'; } \
  >pip.log 2>&1 || skip "pip cannot install the clients: $(tail -1 pip.log)"
# The suite and the Inspector need Node 22; the machine's own may be older.
export PATH=$work/node_modules/.bin:$PATH
node --version | grep -qE '^v(2[2-9]|[3-9])' || skip "there is no Node from 22 on"

start_forum
failed=0
check() {
  echo "== $1"
  shift
  # In a process of its own, where a failure in the middle ends it.
  "$@" >last.log 2>&1 &
  if wait $!; then
    tail -6 last.log
  else
    cat last.log
    echo "FAILED: $*"
    failed=1
  fi
}

# The suite cannot send a token.
node "$clients/bearer.mjs" "${url##*:}" "$ada" >proxy.out &
proxy=$!
for _ in $(seq 50); do
  [ -s proxy.out ] && break
  sleep 0.1
done
for revision in 2025-11-25 2026-07-28; do
  check "conformance $revision" conformance server --url "$(cat proxy.out)/mcp" \
    --requirements "$revision" --output-dir "results-$revision" \
    --expected-failures "$clients/conformance-baseline.yml"
done
# A baseline never excuses a message that the schemas forbid.
wire='
import glob, json, sys
checks = [one for path in glob.glob("results-*/*/checks.json") for one in json.load(open(path))]
wire = [one for one in checks if one["id"] == "wire-schema-valid"]
bad = [one for one in wire if one["status"] != "SUCCESS"]
print(f"{len(wire)} scenarios, {len(bad)} with violations", *bad, sep="\n")
sys.exit(bool(bad) or not wire)
'
check "no violation of the wire schemas" python3 -c "$wire"

check "mcp and fastmcp" venv/bin/python "$clients/conversation.py" "$url/mcp" "$ada" "$bert"

inspect() {
  mcp-inspector --cli "$url/mcp" --transport http --protocol-era "$era" \
    --header "Authorization: Bearer $ada" "$@"
}
# What a tool says, out of the result that the Inspector prints.
said() {
  node -e '
    const result = JSON.parse(require("fs").readFileSync(0, "utf8"));
    const said = JSON.parse(result.content[0].text);
    console.log(process.argv[1].split(".").reduce((value, name) => value[name], said));
  ' "$1"
}
converse() {
  inspect --method tools/list --strict >tools.json
  inspect --method tools/call --tool-name get_manifest | said parley
  inspect --method tools/call --tool-name post_message --tool-arg kind=ask \
    "body=Which one, in era $era?" >opened.json
  local thread
  thread=$(said thread.id <opened.json)
  inspect --method tools/call --tool-name post_message --tool-arg kind=decide \
    "thread=$thread" "body=The second." >decided.json
  [ "$(said thread.state <decided.json)" = decided ]
  # A refusal is a result, and the Inspector's exit code 5.
  local code=0
  inspect --method tools/call --tool-name post_message --tool-arg kind=answer \
    "thread=$thread" parent=msg_999999 body=No. >refused.json || code=$?
  [ "$code" = 5 ] && [ "$(said reason <refused.json)" = message_not_found ]
  inspect --method resources/read --uri parley://manifest >/dev/null
  inspect --method prompts/get --prompt-name join >/dev/null
}
for era in legacy modern; do
  check "Inspector, $era" converse
done
exit "$failed"
