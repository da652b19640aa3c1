// Streams if the runtime client can; `echo` is an ordinary handler.
const streamify = globalThis.awslambda?.streamifyResponse ?? ((handler) => handler);

export const echo = async (event) => ({
  statusCode: 200,
  headers: { 'content-type': event.headers['content-type'] ?? 'application/octet-stream' },
  cookies: ['a=1', 'b=2'],
  body: event.body,
  isBase64Encoded: event.isBase64Encoded,
});

export const stream = streamify(async (event, out) => {
  if (event.rawPath === '/plain') {
    out.setContentType('text/x-plain');
    out.write('no prelude');
    out.end();
    return;
  }
  const response = globalThis.awslambda.HttpResponseStream.from(out, {
    statusCode: 218,
    headers: { 'content-type': 'text/event-stream', 'x-a': 'b' },
    cookies: ['a=1', 'b=2'],
  });
  response.write('data: one\n\n');
  if (event.rawPath === '/fail') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    throw new Error('in the middle');
  }
  const size = Number(event.queryStringParameters?.size ?? 0);
  for (let sent = 0; sent < size; sent += 65536) {
    if (!response.write(Buffer.alloc(65536, 'x'))) {
      await new Promise((resolve) => response.once('drain', resolve));
    }
  }
  // The client sees the first event during this pause, unless something on the way buffers the response.
  await new Promise((resolve) => setTimeout(resolve, Number(event.queryStringParameters?.pause ?? 0)));
  response.write('data: two\n\n');
  response.end();
});
