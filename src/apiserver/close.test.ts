// A server that is closed ends every connection, also one that it has accepted and that has not finished its handshake: nothing is read or written through it later.
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import { createApiServer } from './api-server.ts'

test('a connection whose handshake comes after the close does not keep the server', async () => {
  const server = await createApiServer({ loops: 'none' })
  await server.listen()
  const { hostname, port } = new URL(server.url)
  const before = connect(Number(port), hostname)
  await once(before, 'connect')
  // One request later the server has accepted it.
  await fetchVersion(server)
  const closed = server.close()
  const { certificate: cert, key } = server.credentials.admin
  const late = connectTls({ socket: before, host: hostname, ca: server.ca, cert, key })
  const ended = new Promise<void>((resolve) => late.once('close', () => resolve()).on('error', () => undefined))
  late.write('GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await closed
  await ended
  expect(late.bytesRead).toBe(0)
})

async function fetchVersion(server: Awaited<ReturnType<typeof createApiServer>>): Promise<void> {
  const { hostname, port } = new URL(server.url)
  const socket = connectTls({ host: hostname, port: Number(port), ca: server.ca })
  socket.end('GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  socket.resume()
  await once(socket, 'close')
}
