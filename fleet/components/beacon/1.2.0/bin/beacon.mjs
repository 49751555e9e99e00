#!/usr/bin/env node
// beacon 1.2.0: answers on a socket under its node's root which version runs there. `beacon check` asks it and compares.
import http from 'node:http'
import fs from 'node:fs'

const VERSION = '1.2.0'
// A relative path: the limit for a socket's name is short, a node's root may be deep.
process.chdir(process.env.KUBENODE_ROOT ?? '/')
const SOCKET = 'run/beacon.sock'

function serve() {
  fs.mkdirSync('run', { recursive: true })
  fs.rmSync(SOCKET, { force: true })
  const server = http.createServer((request, response) => {
    if (request.url === '/healthz') return response.writeHead(503).end('the new store is not there')
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ component: 'beacon', version: VERSION, pid: process.pid }))
  })
  server.listen(SOCKET, () => console.log(`beacon ${VERSION} listens on ${SOCKET}`))
  process.on('SIGTERM', () => process.exit(0))
}

function check() {
  const fail = (why) => {
    console.error(why)
    process.exit(1)
  }
  const request = http.get({ socketPath: SOCKET, path: '/healthz', timeout: 2000 }, (response) => {
    let text = ''
    response.on('data', (part) => (text += part))
    response.on('end', () => {
      if (response.statusCode !== 200) fail(`answered ${response.statusCode}: ${text}`)
      if (JSON.parse(text).version !== VERSION) fail(`another version answers: ${text}`)
      process.exit(0)
    })
  })
  request.on('timeout', () => fail('no answer within 2 s'))
  request.on('error', (e) => fail(e.message))
}

if (process.argv[2] === 'check') check()
else serve()
