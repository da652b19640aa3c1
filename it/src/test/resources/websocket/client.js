// node client.js <url> [deflate]: sends messages of all kinds to an echo. Exits with 0 if all came back.
const assert = require('assert');
const crypto = require('crypto');
const { once } = require('events');
const WebSocket = require('ws');

const [url, deflate] = process.argv.slice(2);
const open = async () => {
  const socket = new WebSocket(url, ['other', 'chat'], { perMessageDeflate: deflate ? { threshold: 0 } : false });
  await once(socket, 'open');
  return socket;
};
const echo = async (socket, data) => {
  const answer = once(socket, 'message');
  socket.send(data);
  const [message, binary] = await answer;
  assert.strictEqual(binary, typeof data !== 'string');
  assert.ok(Buffer.from(data).equals(message));
};

const talk = async () => {
  const socket = await open();
  assert.strictEqual(socket.protocol, 'chat');
  assert.strictEqual(socket.extensions, deflate ? 'permessage-deflate' : '');
  await echo(socket, 'grüß dich');
  for (const size of [0, 1, 125, 126, 65535, 65536, 1000000]) {
    await echo(socket, crypto.randomBytes(size));
  }
  const parts = once(socket, 'message');
  socket.send('one ', { fin: false });
  socket.send('two ', { fin: false });
  const pong = once(socket, 'pong');
  socket.ping('between');
  socket.send('three', { fin: true });
  assert.strictEqual(String((await pong)[0]), 'between');
  assert.strictEqual(String((await parts)[0]), 'one two three');
  const closed = once(socket, 'close');
  socket.close(4001, 'enough');
  assert.strictEqual((await closed)[0], 4001);
};

const many = async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, open));
  await Promise.all(sockets.map((socket, i) => echo(socket, 'socket ' + i)));
  for (const socket of sockets) {
    socket.terminate();
  }
};

const limit = setTimeout(() => process.exit(3), 120000);
talk()
  .then(many)
  .then(() => clearTimeout(limit))
  .catch(error => {
    console.error(error);
    process.exit(1);
  });
