// Downloads from all kinds of misbehaving servers: the result is the complete artifact, or an error with instructions.
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { artifactFile, nodeDir } from '../node-dir.ts'
import { bringArtifact, type Artifact } from './artifact.ts'
import { createFetcher } from './fetch.ts'
import { sha256Hex } from '#lib/sha256.ts'

const whole = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251))
const other = Buffer.alloc(whole.length, 7)
const sha256 = sha256Hex(whole)
const dir = nodeDir('/n')

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void
let server: http.Server | undefined
const asked: string[] = []
/** Each silent server costs this much time; a busy machine still answers within it. */
const IDLE_MS = 1_000

afterEach(async () => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
  asked.length = 0
})

async function serve(handler: Handler): Promise<string> {
  server = http.createServer((request, response) => {
    asked.push(`${request.url ?? ''}${request.headers.range === undefined ? '' : ` ${request.headers.range}`}`)
    handler(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/artifacts/`
}

const artifact = (more: Partial<Artifact> = {}): Artifact => ({
  os: 'linux',
  arch: 'any',
  url: 'a',
  sha256,
  size: whole.length,
  ...more,
})

interface Result {
  readonly got: boolean
  readonly says: string
  readonly retry: string | undefined
}

async function bring(
  handler: Handler,
  {
    files = new MemoryFiles(),
    more = {},
    times = 1,
  }: { files?: MemoryFiles; more?: Partial<Artifact>; times?: number } = {},
): Promise<Result> {
  const base = await serve(handler)
  const fetcher = createFetcher({ base, idleMs: IDLE_MS })
  let result: Result = { got: false, says: '', retry: undefined }
  for (let n = 0; n < times && !result.got; n++) {
    try {
      const path = await bringArtifact({ files, dir, fetcher }, artifact(more), new AbortController().signal)
      result = {
        got: (await files.read(path))?.equals(whole) === true && path === artifactFile(dir, sha256),
        says: '',
        retry: undefined,
      }
    } catch (e) {
      result = { got: false, says: messageOf(e), retry: isKubeNodeError(e) ? e.retry : undefined }
    }
  }
  return result
}

/** Like a server that supports ranges. */
const ranged: Handler = (request, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  if (from === 0) return void response.end(whole)
  response.writeHead(206, { 'content-range': `bytes ${from}-${whole.length - 1}/${whole.length}` })
  return void response.end(whole.subarray(from))
}

const cutOnce = (then: Handler): Handler => {
  let isFirst = true
  return (request, response) => {
    if (!isFirst) return then(request, response)
    isFirst = false
    response.writeHead(200, { 'content-length': whole.length })
    response.write(whole.subarray(0, 60_000), () => response.destroy())
  }
}

const BAD: readonly [what: string, handler: Handler, says: RegExp, retry: string][] = [
  ['is empty', (_q, r) => r.end(), /0 bytes with digest/, 'later'],
  [
    'says more than comes',
    (_q, r) => void r.writeHead(200, { 'content-length': 200_000 }).end(whole),
    /aborted|closed|socket/,
    'later',
  ],
  [
    'never ends',
    (_q, r) => {
      r.on('error', () => undefined)
      const more = (): void => void (r.write(other) ? setImmediate(more) : r.once('drain', more))
      more()
    },
    /received more than 100000 bytes/,
    'later',
  ],
  ['falls silent', (_q, r) => void r.write(whole.subarray(0, 10)), /no data within|timeout|hang up|aborted/, 'later'],
  [
    'trickles',
    (_q, r) => {
      const timer = setInterval(() => r.write(whole.subarray(0, 10)), 20)
      r.on('close', () => clearInterval(timer))
    },
    /only \d+ bytes received within \d+ ms/,
    'later',
  ],
  [
    'answers byte by byte',
    (_q, r) => {
      let n = 0
      const timer = setInterval(() => r.socket?.write(n++ === 0 ? 'HTTP/1.1 200 OK\r\nx: ' : 'x'), 20)
      r.on('close', () => clearInterval(timer))
    },
    /no answer within 1000 ms/,
    'later',
  ],
  ['serves something else', (_q, r) => r.end(other), /100000 bytes with digest .* expected/, 'never'],
  [
    'leads in a circle',
    (q, r) => void r.writeHead(302, { location: q.url ?? '' }).end(),
    /more than 3 redirects/,
    'later',
  ],
  [
    'leads out of the base',
    (_q, r) => void r.writeHead(302, { location: 'http://127.0.0.1:9/evil' }).end(),
    /outside the artifact base/,
    'never',
  ],
  [
    'leads to a file of the host',
    (_q, r) => void r.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    /outside the artifact base/,
    'never',
  ],
  ['has lost it', (_q, r) => void r.writeHead(404).end(), /HTTP 404/, 'later'],
  ['is broken', (_q, r) => void r.writeHead(500).end(), /HTTP 500/, 'later'],
]

describe('F32 a place that', () => {
  test.each(BAD)('%s gives nothing', async (_what, handler, says, retry) => {
    const found = await bring(handler)
    expect(found).toEqual({ got: false, says: expect.stringMatching(says), retry })
  })

  test('breaks off is asked for the rest only', async () => {
    expect((await bring(cutOnce(ranged), { times: 2 })).got).toBe(true)
    expect(asked).toEqual(['/artifacts/a', '/artifacts/a bytes=60000-'])
  })

  test('breaks off and knows no ranges is read from the beginning', async () => {
    expect(
      (
        await bring(
          cutOnce((_q, r) => r.end(whole)),
          { times: 2 },
        )
      ).got,
    ).toBe(true)
  })

  test('answers with another range than was asked for is not believed', async () => {
    const wrong: Handler = (_q, r) => void r.writeHead(206, { 'content-range': 'bytes 0-99999/100000' }).end(whole)
    expect((await bring(cutOnce(wrong), { times: 2 })).got).toBe(false)
  })

  test('has another file after it broke off costs one more try', async () => {
    let n = 0
    const changed: Handler = (q, r) =>
      n++ === 0
        ? void r.writeHead(206, { 'content-range': 'bytes 60000-99999/100000' }).end(other.subarray(60_000))
        : ranged(q, r)
    expect((await bring(cutOnce(changed), { times: 3 })).got).toBe(true)
    expect(asked).toEqual(['/artifacts/a', '/artifacts/a bytes=60000-', '/artifacts/a'])
  })

  test('has a shorter file after it broke off is read from the beginning', async () => {
    const short: Handler = (q, r) => (q.headers.range === undefined ? r.end(whole) : void r.writeHead(416).end())
    expect((await bring(cutOnce(short), { times: 2 })).got).toBe(true)
  })

  test('serves an old version is passed over for a mirror', async () => {
    const found = await bring((q, r) => void r.end(q.url?.endsWith('good') === true ? whole : other), {
      more: { mirrors: ['bad', 'good'] },
    })
    expect([found.got, asked]).toEqual([true, ['/artifacts/a', '/artifacts/bad', '/artifacts/good']])
  })

  test.each<[string, Handler]>([
    ['a shorter file', (_q, r) => void r.end(other.subarray(0, 60_000))],
    ['a longer file', (_q, r) => void r.end(Buffer.concat([other, other]))],
    ['a file that breaks off', (_q, r) => void r.write(other.subarray(0, 60_000), () => r.destroy())],
  ])('has %s of other content, each time, keeps no mirror from serving it whole', async (_, first) => {
    const handler: Handler = (request, response) => (request.url === '/artifacts/a' ? first : ranged)(request, response)
    expect(await bring(handler, { more: { mirrors: ['b'] } })).toMatchObject({ got: true })
    // From the end of what came before, and then from the beginning.
    expect(asked.slice(-2).map((a) => a.replace(/\d+-$/, 'N-'))).toEqual(['/artifacts/b bytes=N-', '/artifacts/b'])
  })

  test('is not asked for content that is here already, unless it was modified', async () => {
    const files = new MemoryFiles()
    await bring(ranged, { files })
    expect((await bring((_q, r) => void r.writeHead(500).end(), { files })).got).toBe(true)
    await files.remove(artifactFile(dir, sha256))
    expect((await bring((_q, r) => void r.writeHead(500).end(), { files })).got).toBe(false)
  })
})

test.each([
  ['the pinned authority was made again', true, 'kubenode machine readmit'],
  ['the host pins none', false, 'retried automatically'],
])('a server of another authority, where %s, names the way back', async (_, isPinned, says) => {
  const validity = { now: Date.now(), days: 1 }
  const [earlier, now] = [newAuthority('artifacts', validity), newAuthority('artifacts', validity)]
  const pair = issueCertificate(now, { subject: { commonName: 'a' }, validity, usage: 'server', hosts: ['127.0.0.1'] })
  const served = https.createServer({ key: pair.key, cert: pair.certificate }, (_q, r) => void r.end(whole))
  server = served
  served.listen(0, '127.0.0.1')
  await once(served, 'listening')
  const base = `https://127.0.0.1:${(served.address() as AddressInfo).port}/`
  const fetcher = createFetcher({ base, idleMs: IDLE_MS, ...(isPinned && { ca: earlier.certificate }) })
  const brought = bringArtifact({ files: new MemoryFiles(), dir, fetcher }, artifact(), new AbortController().signal)
  await expect(brought).rejects.toMatchObject({
    code: 'KN8010',
    retry: 'later',
    message: expect.stringContaining(says),
  })
})
