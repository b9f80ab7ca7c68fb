// Stands before a server and adds a token to requests that have none: for public test suites that
// cannot send one. Its own address as the `Origin` becomes the server's, which asks for its own
// port there; everything else passes as it is, `Host` and any other `Origin` too.
//
//   node bearer.mjs PORT TOKEN       prints its own address
import http from 'node:http';

const [port, token] = process.argv.slice(2);
const proxy = http.createServer((asked, answer) => {
  const headers = { ...asked.headers };
  headers.authorization ??= `Bearer ${token}`;
  if (headers.origin === `http://localhost:${proxy.address().port}`) {
    headers.origin = `http://localhost:${port}`;
  }
  const { method, url: path } = asked;
  const passed = http.request({ host: '127.0.0.1', port, method, path, headers }, (got) => {
    answer.writeHead(got.statusCode, got.headers);
    got.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  asked.pipe(passed);
});
proxy.listen(0, '127.0.0.1', () => console.log(`http://localhost:${proxy.address().port}`));
