#!/usr/bin/env node
// beacon 1.2.0: tells over HTTP, at the address of its node, which version runs there.

// As an ES module it would load a fetch library too, which triples what so small a program takes.
const http = process.getBuiltinModule('node:http')

const VERSION = '1.2.0'
const PORT = 18181
// Many nodes share a machine here; each has an address of its own.
const ADDRESS = process.env.KUBENODE_ADDRESS ?? '127.0.0.1'

const server = http.createServer((request, response) => {
  if (request.url?.startsWith('/healthz')) return response.writeHead(503).end('the new store is not there')
  // The probe names the version that should answer: another one is not healthy, whoever it is.
  const { searchParams } = new URL(request.url ?? '/', 'http://beacon')
  const wanted = searchParams.get('version') ?? VERSION
  response.writeHead(wanted === VERSION ? 200 : 409, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ component: 'beacon', version: VERSION, pid: process.pid }))
})
server.listen(PORT, ADDRESS, () => console.log(`beacon ${VERSION} listens on ${ADDRESS}:${PORT}`))
process.on('SIGTERM', () => process.exit(0))
