// Listens with the public `ws` client: live, from a cursor, with a ticket, threads of its choice.
'use strict'
const assert = require('node:assert')
const WebSocket = require('ws')

const url = process.env.FEED_URL
const feed = url.replace('http', 'ws') + '/v1/feed'
const { FEED_ADA: ada, FEED_BERT: bert } = process.env

async function call(method, path, token, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
  assert(answer.ok, `${method} ${path}: ${answer.status}`)
  return answer.json()
}

// A listener whose frames can be waited for.
function listen(query, protocols, options) {
  const socket = new WebSocket(feed + query, protocols, options)
  const heard = []
  let wake = () => {}
  socket.on('message', (data) => {
    heard.push(JSON.parse(data))
    wake()
  })
  const closed = new Promise((resolve, reject) => {
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }))
    socket.on('error', reject)
  })
  async function next(type) {
    while (heard.length === 0) {
      await Promise.race([
        new Promise((resolve) => (wake = resolve)),
        closed.then((end) => assert.fail(`closed: ${JSON.stringify(end)}`)),
      ])
    }
    const frame = heard.shift()
    assert.strictEqual(frame.type, type)
    return frame
  }
  return { socket, next, closed }
}

async function main() {
  const headers = { authorization: `Bearer ${bert}` }
  const one = listen('?scope=inbox', 'parley.v1', { headers })
  const hello = await one.next('hello')
  const asked = await call('POST', '/v1/messages', ada, { kind: 'ask', body: 'who hears Node?' })
  const awaiting = await one.next('awaiting')
  assert.strictEqual(awaiting.message.id, asked.message.id)
  one.socket.close(1000)
  assert.strictEqual((await one.closed).code, 1000)

  const again = listen(`?since=${hello.cursor}`, [], { headers })
  assert.strictEqual((await again.next('hello')).resumed, true)
  assert.strictEqual((await again.next('awaiting')).cursor, awaiting.cursor)
  await again.next('caught_up')
  again.socket.terminate()

  const { ticket } = await call('POST', '/v1/feed/tickets', bert, {})
  const threads = listen('?scope=threads', ['parley.v1', `ticket.${ticket}`])
  await threads.next('hello')
  assert.strictEqual(threads.socket.protocol, 'parley.v1')
  threads.socket.send(JSON.stringify({ type: 'subscribe', threads: [asked.thread.id] }))
  assert.deepStrictEqual((await threads.next('subscribed')).threads, [asked.thread.id])
  const answer = { kind: 'answer', thread: asked.thread.id, body: 'ws does' }
  await call('POST', '/v1/messages', bert, answer)
  await threads.next('message')
  await threads.next('event')
  threads.socket.send('x'.repeat(70_000))
  assert.strictEqual((await threads.closed).code, 1009)
}

const overdue = setTimeout(() => assert.fail('it takes too long'), 30_000)
main().then(() => clearTimeout(overdue))
