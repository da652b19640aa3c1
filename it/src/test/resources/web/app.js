// A web application in Node on the port PORT: "node app.js http" or "node app.js http2". Its routes are those of JdkApp.
const server = require(process.argv[2]).createServer(serve)
let disconnects = 0
let go = () => {}

function serve (request, response) {
  const url = new URL(request.url, 'http://app')
  const text = (body) => response.end(body)
  switch (url.pathname) {
    case '/echo':
      if (request.headers['content-type']) response.setHeader('content-type', request.headers['content-type'])
      response.setHeader('x-method', request.method)
      response.setHeader('x-target', request.url)
      return request.pipe(response)
    case '/status':
      response.statusCode = Number(url.search.substring(1))
      return response.end()
    case '/fields':
      response.setHeader('x-multi', ['one', 'two'])
      response.setHeader('set-cookie', ['a=1; Path=/', 'b=2; HttpOnly'])
      response.setHeader('x-cookie', String(request.headers.cookie))
      response.setHeader('x-in', String(request.headers['x-in']))
      return text('fields')
    case '/variables':
      return text(Object.keys(process.env).join(' '))
    case '/pid':
      return text(String(process.pid))
    case '/events':
      response.setHeader('content-type', 'text/event-stream')
      response.write('data: 1\n\n')
      response.on('close', () => { if (!response.writableEnded) disconnects++ })
      go = () => response.end('data: 2\n\n')
      return
    case '/hang':
      return
    case '/go':
      go()
      return text('')
    case '/disconnects':
      return text(String(disconnects))
    default:
      return text('hello\n')
  }
}

server.listen(Number(process.env.PORT), '127.0.0.1')
