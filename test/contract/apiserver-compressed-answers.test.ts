// Large answers that are compressed on the way: whole for a slow reader, cut off for one that reads nothing, and little memory meanwhile.
import { randomBytes } from 'node:crypto'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGunzip } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { sendAnswer } from '#apiserver/http/send-answer.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

/** Random, so that compressing makes nothing smaller; one megabyte many times, so that it costs the test nothing either. */
const PART = randomBytes(1024 * 1024)
const PARTS = 64
const STALLED_MS = 60_000

let server: Server | undefined
const closing: (() => void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) close()
  server?.closeAllConnections()
  await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())))
})

/** A server that answers everything with the parts, and one request that has its head and reads nothing yet. */
async function unread(parts: readonly Buffer[], clock: VirtualClock) {
  const closed = Promise.withResolvers<void>()
  server = createServer((_, response) => {
    response.once('close', () => closed.resolve())
    sendAnswer(response, { code: 200, body: { parts, keeps: 0 }, type: 'application/json' }, { clock })
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = get({ port, host: '127.0.0.1', headers: { 'accept-encoding': 'gzip' }, agent: false }, resolve)
    sent.on('error', reject)
    closing.push(() => void sent.destroy())
  })
  response.pause()
  response.on('error', () => undefined)
  return { response, closed: closed.promise }
}

/** Resolves when the server waits for its reader. */
async function stalled(clock: VirtualClock): Promise<void> {
  await expect.poll(() => clock.nextTimerAt()).toBeDefined()
}

describe('a compressed answer', () => {
  test('reaches a reader that begins late as it was', async () => {
    const clock = new VirtualClock()
    const { response } = await unread(Array<Buffer>(PARTS).fill(PART), clock)
    await stalled(clock)
    expect([response.headers['content-encoding'], response.headers['content-length']]).toEqual(['gzip', undefined])
    let bytes = 0
    let isSame = true
    for await (const piece of response.pipe(createGunzip())) {
      const at = bytes % PART.length
      const buffer = piece as Buffer
      const length = Math.min(buffer.length, PART.length - at)
      isSame &&= buffer.compare(PART, at, at + length, 0, length) === 0
      bytes += buffer.length
    }
    expect([bytes, isSame]).toEqual([PARTS * PART.length, true])
  })

  test('is cut off for a reader that takes nothing, and not before its time', async () => {
    const clock = new VirtualClock()
    const { closed } = await unread(Array<Buffer>(PARTS).fill(PART), clock)
    await stalled(clock)
    const at = clock.nextTimerAt() ?? 0
    expect(at - clock.monotonic()).toBe(STALLED_MS)
    clock.fireNext()
    await closed
  })

  test('leaves nothing behind when its reader goes away', async () => {
    const clock = new VirtualClock()
    const { response, closed } = await unread(Array<Buffer>(PARTS).fill(PART), clock)
    await stalled(clock)
    response.destroy()
    await closed
    await expect.poll(() => clock.nextTimerAt()).toBeUndefined()
  })

  test('of few bytes is sent as it is', async () => {
    const { response } = await unread([Buffer.from('{"items":['), Buffer.from(']}')], new VirtualClock())
    expect([response.headers['content-encoding'], response.headers['content-length']]).toEqual([undefined, '12'])
  })
})
