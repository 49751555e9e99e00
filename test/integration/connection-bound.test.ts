// The limit of connections over real sockets, with and without TLS: its counts, its eviction, its answers.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { createServer as createTlsServer, request as tlsRequest } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { newCertificate } from '#defender/webhook/certificate.ts'
import { systemClock } from '#lib/system-clock.ts'
import { boundConnections, SILENT_MS } from '#lib/connection-bound.ts'
import { loggerTo } from '#lib/log.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

const MOST = 2
const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end()
})

const certificate = newCertificate('127.0.0.1', systemClock.now())

async function serve(tls: boolean) {
  const clock = new VirtualClock(0)
  const said: unknown[] = []
  const answer = (_: unknown, response: { end(text: string): unknown }) => void response.end('ok')
  const server = tls ? createTlsServer(certificate, answer) : createServer(answer)
  const log = loggerTo((_, message, fields) => said.push([message, fields['dropped']]))
  boundConnections(server, { most: MOST, longestRequestMs: 10_000, clock, log })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  endings.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, agent: false }
      const done = (response: IncomingMessage) => void response.resume().on('end', () => resolve(response.statusCode))
      const sent = tls ? tlsRequest({ ...options, ca: certificate.ca }, done) : request(options, done)
      sent.on('error', reject).end()
    })
  const open = async (): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => undefined)
    endings.push(() => socket.destroy())
    const seen = once(server, 'connection')
    await Promise.all([once(socket, 'connect'), seen])
    return socket
  }
  return { clock, said, ask, open }
}

describe.each([
  ['HTTP', false],
  ['HTTPS', true],
])('over %s', (_, tls) => {
  test('connections that ended are forgotten', async () => {
    const { ask, said } = await serve(tls)
    for (let i = 0; i < 5 * MOST; i++) expect(await ask()).toBe(200)
    expect(said).toEqual([])
  })

  test('a connection that says nothing is closed after two seconds', async () => {
    const { clock, open } = await serve(tls)
    const socket = await open()
    const closed = once(socket, 'close')
    socket.resume()
    await clock.advance(SILENT_MS)
    await closed
  })

  test('what is dropped is said at once, and then once a minute', async () => {
    const { clock, open, ask, said } = await serve(tls)
    for (let i = 0; i < MOST + 4; i++) await open()
    expect(await ask()).toBe(200)
    const message = 'connections dropped: all places were taken'
    expect(said).toEqual([[message, 1]])
    await clock.advance(60_000)
    expect(said).toEqual([
      [message, 1],
      [message, 4],
    ])
    await clock.advance(60_000)
    expect(said).toHaveLength(2)
  })
})
