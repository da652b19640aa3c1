// The smallest runtime: the loop that AWS documents, without a client library.
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const [file, name] = process.env._HANDLER.split('.');
const agent = new http.Agent({ keepAlive: true });
const base = '/2018-06-01/runtime/invocation/';

const call = (method, url, body) =>
  new Promise((resolve, reject) => {
    const request = http.request({ host, port, method, path: url, agent }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(parts) }));
    });
    request.on('error', reject);
    request.end(body);
  });

const handler = (await import(pathToFileURL(path.join(process.env.LAMBDA_TASK_ROOT, `${file}.mjs`))))[name];
for (;;) {
  const next = await call('GET', `${base}next`);
  const id = next.headers['lambda-runtime-aws-request-id'];
  try {
    await call('POST', `${base}${id}/response`, JSON.stringify(await handler(JSON.parse(next.body))));
  } catch (error) {
    await call('POST', `${base}${id}/error`, JSON.stringify({ errorMessage: error.message, errorType: error.name }));
  }
}
