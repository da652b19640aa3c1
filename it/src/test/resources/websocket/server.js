// An application without code of this project. It echoes WebSocket messages, and reports over HTTP how its clients have disconnected.
const http = require('http');
const { WebSocketServer } = require('ws');

const left = [];
const server = http.createServer((request, response) => response.end(left.join(' ')));
const sockets = new WebSocketServer({
  server,
  perMessageDeflate: { threshold: 0 },
  handleProtocols: offered => (offered.has('chat') ? 'chat' : false),
});
sockets.on('connection', socket => {
  socket.on('message', (data, binary) => socket.send(data, { binary }));
  socket.on('close', code => left.push(code));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
