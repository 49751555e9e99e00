// The server over real HTTPS: what it serves, and what it does not, whatever the request.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import https from 'node:https'
import tls from 'node:tls'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EACH_PLACE } from '#identity/door/rates.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { planned } from './own-authority.ts'
import { ArtifactServer } from './server.ts'
import { sha256Hex } from '#lib/sha256.ts'

const NOW = Date.now()
const pair = planned({}, ['127.0.0.1'], NOW)
/** The most that buffers in between may hold before the connection closes. */
const MOST_READ = 64 * 1024 * 1024
const BYTES = Buffer.from('0123456789')
const ETAG = `"sha256-${sha256Hex(BYTES)}"`

const UID = '0b5c2a3e-0000-4000-8000-000000000001'
const asked: string[] = []
const agentToken = async (uid: string): Promise<string | undefined> => {
  asked.push(uid)
  return uid === UID ? 'v1.sealed' : undefined
}

let outside: string
let folder: string
let server: ArtifactServer
let port: number
beforeAll(async () => {
  outside = mkdtempSync(join(tmpdir(), 'kubenode-artifacts-'))
  folder = join(outside, 'served')
  mkdirSync(join(folder, 'a/b'), { recursive: true })
  writeFileSync(join(folder, 'a/b/x.tgz'), BYTES)
  writeFileSync(join(folder, 'empty'), '')
  writeFileSync(join(folder, '.hidden'), 'secret')
  writeFileSync(join(outside, 'secret'), 'secret')
  symlinkSync(join(outside, 'secret'), join(folder, 'out'))
  symlinkSync('a/b/x.tgz', join(folder, 'in'))
  symlinkSync('/', join(folder, 'root'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  server = new ArtifactServer({
    folder,
    pair,
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    log: silentLogger,
    agentToken,
  })
  port = await server.start()
})
afterAll(async () => {
  await server.stop()
  rmSync(outside, { recursive: true, force: true })
})

interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Sends the path unchanged. */
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET', ca = pair.ca): Promise<Got> =>
  new Promise((resolve, reject) => {
    const request = https.request({ host: '127.0.0.1', port, path, headers, method, ca, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    })
    request.on('error', reject)
    request.end()
  })

test('a file comes whole, with its digest', async () => {
  const { status, headers, text } = await ask('/a/b/x.tgz')
  expect([status, text, headers.etag, headers['content-length']]).toEqual([200, '0123456789', ETAG, '10'])
  expect((await ask('/in')).text).toBe('0123456789')
  expect((await ask('/empty')).headers['content-length']).toBe('0')
})

test('HEAD says what GET would, without the bytes', async () => {
  const { status, headers, text } = await ask('/a/b/x.tgz', {}, 'HEAD')
  expect([status, text, headers.etag, headers['content-length']]).toEqual([200, '', ETAG, '10'])
})

test('a download goes on where it was cut, unless the file is another by now', async () => {
  const rest = await ask('/a/b/x.tgz', { range: 'bytes=4-', 'if-range': ETAG })
  expect([rest.status, rest.text, rest.headers['content-range']]).toEqual([206, '456789', 'bytes 4-9/10'])
  expect((await ask('/a/b/x.tgz', { range: 'bytes=4-', 'if-range': '"other"' })).text).toBe('0123456789')
  const past = await ask('/a/b/x.tgz', { range: 'bytes=10-' })
  expect([past.status, past.headers['content-range']]).toEqual([416, 'bytes */10'])
})

test('what a host has already is not sent again', async () => {
  expect((await ask('/a/b/x.tgz', { 'if-none-match': `"x", ${ETAG}` })).status).toBe(304)
  expect((await ask('/a/b/x.tgz', { 'if-none-match': '"x"' })).status).toBe(200)
})

test('a file that changes has another digest', async () => {
  writeFileSync(join(folder, 'changing'), 'one')
  const before = (await ask('/changing')).headers.etag
  writeFileSync(join(folder, 'changing'), 'other')
  const after = await ask('/changing')
  expect([after.text, after.headers.etag === before]).toEqual(['other', false])
})

test.each([
  '/',
  '/a',
  '/a/',
  '/a/b',
  '//a/b/x.tgz',
  '/a/./b/x.tgz',
  '/../secret',
  '/a/../../secret',
  '/%2e%2e/secret',
  '/a%2f..%2f..%2fsecret',
  '/..%5csecret',
  '/%00',
  '/%',
  '/a/b/x.tgz%00.json',
  '/.hidden',
  '/out',
  '/root/etc/passwd',
  '/pipe',
  '/nothing',
  `/${'a'.repeat(300)}`,
  `/${'a/'.repeat(300)}x`,
  'http://127.0.0.1/a/b/x.tgz',
])('%s is not there', async (path) => {
  const { status, text } = await ask(path)
  expect([status, text]).toEqual([404, 'not found\n'])
})

test.each(['PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'])('%s is refused', async (method) => {
  expect((await ask('/a/b/x.tgz', {}, method)).status).toBe(405)
})

test.each([
  ['of a stated length', 'PUT', 'content-length: 10000000000'],
  ['in chunks', 'POST', 'transfer-encoding: chunked'],
  ['of a GET', 'GET', 'content-length: 10000000000'],
])('an upload %s is not read to its end', async (_, method, length) => {
  const socket = tls.connect({ host: '127.0.0.1', port, ca: pair.ca, servername: '' })
  let said = ''
  let sent = 0
  socket.on('data', (chunk: Buffer) => void (said += chunk.toString()))
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(`${method} /in HTTP/1.1\r\nhost: 127.0.0.1\r\n${length}\r\n\r\n`)
  const block = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')])
  const more = (): void => {
    if (socket.destroyed || sent > MOST_READ) return
    sent += block.length
    socket.write(block, more)
  }
  more()
  await closed
  expect(said).toMatch(method === 'GET' ? /^HTTP\/1\.1 200/ : /^HTTP\/1\.1 405/)
  expect(sent).toBeLessThan(MOST_READ)
})

test('a client that pins another authority gets nothing', async () => {
  await expect(ask('/a/b/x.tgz', {}, 'GET', planned({}, ['127.0.0.1'], NOW).ca)).rejects.toThrow(/certificate/)
})

test('a renewed certificate is used by new connections', async () => {
  const other = planned({}, ['127.0.0.1'], NOW)
  server.renew(other)
  expect((await ask('/in', {}, 'GET', other.ca)).status).toBe(200)
  server.renew(pair)
  expect((await ask('/in')).status).toBe(200)
})

test('S26 a sealed token comes to any client that names its Machine; names that no Machine has are not looked up', async () => {
  const { status, text, headers } = await ask(`/agent-tokens/${UID}`)
  expect([status, text, headers['cache-control']]).toEqual([200, 'v1.sealed\n', 'no-store'])
  for (const name of ['', 'x', '../a/b/x.tgz', `${UID}/x`, `${UID}?x`, 'x'.repeat(36)])
    expect((await ask(`/agent-tokens/${name}`)).status).toBe(404)
  expect(asked).toEqual([UID])
  expect((await ask(`/agent-tokens/${UID}`, {}, 'POST')).status).toBe(405)
})

test('S24 one address asks for sealed tokens a few times a second, and for files as often as it likes', async () => {
  const clock = { ...systemClock, monotonic: () => 1 }
  const still = new ArtifactServer({ folder, pair, host: '127.0.0.1', port: 0, clock, log: silentLogger, agentToken })
  const before = port
  port = await still.start()
  try {
    const answers = []
    for (let n = 0; n <= EACH_PLACE.burst; n++) answers.push(await ask(`/agent-tokens/${UID}`))
    expect(answers.map((a) => a.status)).toEqual([...Array<number>(EACH_PLACE.burst).fill(200), 429])
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(0)
    expect((await ask('/a/b/x.tgz')).status).toBe(200)
  } finally {
    port = before
    await still.stop()
  }
})
