// WebSockets in plain Node on the port PORT. As docs/guides/run-a-web-application.md advises, it closes them when the worker drains.
const { createHash } = require('crypto')
const open = new Set()

const server = require('http').createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/going' && request.headers['lambda-dispatcher-drain-reason']) {
    // A close frame with 1001, going away: RFC 6455 sections 5.5.1 and 7.4.1.
    for (const socket of open) socket.write(Buffer.from([0x88, 2, 1001 >> 8, 1001 & 0xff]))
    response.statusCode = 204
  }
  response.end()
})

server.on('upgrade', (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    'Sec-WebSocket-Accept: ' + createHash('sha1').update(key).digest('base64') + '\r\n\r\n')
  open.add(socket)
  socket.on('data', () => socket.end()) // the client's own close frame, because it sends nothing else
  socket.on('error', () => {})
  socket.on('close', () => open.delete(socket))
})

server.listen(Number(process.env.PORT), '127.0.0.1')
