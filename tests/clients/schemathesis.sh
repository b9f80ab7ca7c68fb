#!/usr/bin/env bash
# schemathesis against the forum's own /openapi.json, every check on; the list of what the schema
# cannot express stands in schemathesis_hooks.py. Without arguments the same inputs each time, as CI
# tries them. Installed by name into a temporary folder; skips where that cannot be.
#
#   tests/clients/schemathesis.sh                   builds the forum, or takes FORUM_BIN
#   tests/clients/schemathesis.sh EXAMPLES SEED     more of them, and others
set -euo pipefail
. "$(dirname "$0")/forum.sh"

command -v python3 >/dev/null || skip "there is no python3"
cd "$work"
{ python3 -m venv venv && venv/bin/pip install --quiet 'schemathesis==4.32.*'; } >pip.log 2>&1 ||
  skip "pip cannot install schemathesis: $(tail -1 pip.log)"

# A held inbox would outlast the tool's own limit; the schema says what is in force.
start_forum --set limits.writes_per_minute=0 --set limits.inbox_wait_max_seconds=1
# Something to read, so that not everything is a 404.
curl -sSf "$url/v1/messages" -H "Authorization: Bearer $ada" -H 'Content-Type: application/json' \
  -d '{"kind":"ask","body":"Is anything here?"}' >/dev/null
curl -sSf "$url/v1/threads/1/claims" -H "Authorization: Bearer $ada" \
  -H 'Content-Type: application/json' -d '{"statement":"Something is."}' >/dev/null

if [ $# -lt 2 ]; then
  chosen=(--max-examples "${1:-20}" --generation-deterministic)
else
  chosen=(--max-examples "$1" --seed "$2")
fi
SCHEMATHESIS_HOOKS=$clients/schemathesis_hooks.py PYTHONPATH=$clients \
  venv/bin/schemathesis run "$url/openapi.json" --header "Authorization: Bearer $admin" \
  --checks all "${chosen[@]}" --suppress-health-check all --continue-on-failure
