// Records the requests that arrive, separately for each port. usage: node backend.js CONTROL_PORT PORT...
// GET on the control port returns all records and deletes them.
'use strict';
const crypto = require('crypto');
const http = require('http');

const [control, ...ports] = process.argv.slice(2).map(Number);
let seen = {};

for (const port of ports) {
  const server = http.createServer((request, response) => {
    const record = {method: request.method, target: request.url, bytes: 0, ended: false};
    const hash = crypto.createHash('sha1');
    (seen[port] ||= []).push(record);
    request.on('data', part => { record.bytes += part.length; hash.update(part); });
    request.on('end', () => {
      record.ended = true;
      record.body = hash.digest('hex').slice(0, 8);
      response.writeHead(200, {'content-length': 2});
      response.end('ok');
    });
    request.on('error', () => {});
  });
  server.listen(port, '127.0.0.1');
}
http.createServer((request, response) => {
  response.end(JSON.stringify(seen));
  seen = {};
}).listen(control, '127.0.0.1');
