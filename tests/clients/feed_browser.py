"""Listens as a page in headless Chromium does: from another origin that is allowed, with a ticket."""

import http.server
import json
import os
import queue
import subprocess
import sys
import tempfile

URL = os.environ["FEED_URL"]
PORT = int(os.environ["FEED_PAGE_PORT"])
SECONDS = 60

PAGE = """<!doctype html><title>a listener</title><script>
const url = %(url)s, ada = %(ada)s, bert = %(bert)s;
const call = async (path, token, body) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
};
const report = (what) => fetch('/report', { method: 'POST', body: JSON.stringify(what) });
(async () => {
  const { ticket } = await call('/v1/feed/tickets', bert, {});
  const protocols = ['parley.v1', `ticket.${ticket}`];
  const socket = new WebSocket(url.replace('http', 'ws') + '/v1/feed?scope=all', protocols);
  const types = [];
  socket.onmessage = async ({ data }) => {
    const frame = JSON.parse(data);
    types.push(frame.type);
    if (frame.type === 'hello') await call('/v1/messages', ada, { kind: 'ask', body: 'a page?' });
    if (frame.type === 'awaiting') {
      const protocol = socket.protocol;
      socket.onclose = () => {
        const second = new WebSocket(socket.url, protocols);
        second.onopen = () => report({ error: 'a ticket was good twice' });
        second.onerror = () => report({ types, protocol });
      };
      socket.close();
    }
  };
  socket.onerror = () => report({ error: 'the socket failed' });
})().catch((error) => report({ error: String(error) }));
</script>
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the page and takes its report."""

    reports = queue.Queue()

    def do_GET(self):
        names = {"url": "FEED_URL", "ada": "FEED_ADA", "bert": "FEED_BERT"}
        page = PAGE % {name: json.dumps(os.environ[key]) for name, key in names.items()}
        self.answer(page.encode(), "text/html; charset=utf-8")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reports.put(json.loads(body))
        self.answer(b"{}", "application/json")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


def main():
    import threading

    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        browser = subprocess.Popen(
            [sys.argv[1], "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", f"--user-data-dir={profile}", "--remote-debugging-port=0",
             f"http://127.0.0.1:{PORT}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            report = Handler.reports.get(timeout=SECONDS)
        finally:
            browser.terminate()
            browser.wait(timeout=10)
    wanted = {"types": ["hello", "message", "event", "awaiting"], "protocol": "parley.v1"}
    assert report == wanted, report


main()
