// The attacker has a server that a gate asks, a cluster that a gate is judged by, or writes the rule of a gate: no answer opens a gate that the declared answer would
// not open, and none stops sync or fills its memory.
import { createServer, type Server, type Socket } from 'node:net'
import http from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { ask } from '#runtime/outbound/get.ts'
import { createChecks } from '#runtime/outbound/external-checks.ts'
import { MAX_LISTED, readingsOf, surveyOf } from '#sync/cluster/readings.ts'
import type { SyncContext } from '#sync/hub/context.ts'
import { GateReads } from '#sync/hub/gate-reads.ts'
import { judgeRule } from '#sync/release/custom-gates.ts'
import { type Gate, judgeGate } from '#sync/release/gates.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const signal = new AbortController().signal
const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) server.close()
})

/** The attacker writes every byte: it need not be HTTP. */
async function serve(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => answer(socket))
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const OK = 'HTTP/1.1 200 OK\r\n'
const DEADLINE_MS = 300

/** The answer of a gate with a deadline that a test can wait for. */
async function within(origin: string) {
  return ask(origin, { allow: new Set([origin]), deadlineMs: DEADLINE_MS, maxBytes: 64 * 1024 })
}

/** Again and again until the other side closes. */
function pour(socket: Socket, chunk: string, everyMs = 0): { sent: number } {
  const poured = { sent: 0 }
  const more = () => {
    if (socket.destroyed) return
    poured.sent += chunk.length
    if (socket.write(chunk)) setTimeout(more, everyMs)
    else socket.once('drain', more)
  }
  more()
  return poured
}

describe('a gate server that was taken over', () => {
  test('answers 200 with a body of any size: the gate stays shut, and sync stops reading', async () => {
    let poured = { sent: 0 }
    const closed = Promise.withResolvers<void>()
    const origin = await serve((socket) => {
      socket.once('close', () => closed.resolve())
      socket.write(`${OK}content-length: 104857600\r\n\r\n`)
      poured = pour(socket, 'x'.repeat(64 * 1024))
    })
    const look = await createChecks({ allow: [origin] }).page({ url: origin, expectedStatus: 200 }, signal)
    expect(look).toMatchObject({ holds: false, seen: expect.stringContaining('exceeds 65536 bytes') as unknown })
    await closed.promise
    expect(poured.sent).toBeLessThan(50_000_000)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['one byte of its body at a time', (s) => (s.write(`${OK}content-length: 1000\r\n\r\n`), pour(s, 'x', 20))],
    ['one header at a time', (s) => (s.write(OK), pour(s, 'a: b\r\n', 20))],
    ['one byte of its first line at a time', (s) => pour(s, 'H', 20)],
    ['100 Continue without end', (s) => pour(s, 'HTTP/1.1 100 Continue\r\n\r\n', 5)],
    ['103 Early Hints without end', (s) => pour(s, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', 5)],
    ['nothing', () => undefined],
    ['less than it promised', (s) => s.end(`${OK}content-length: 10\r\n\r\nx`)],
    ['chunks that are none', (s) => s.end(`${OK}transfer-encoding: chunked\r\n\r\nzz\r\n`)],
    ['two lengths', (s) => s.end(`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nxx`)],
    ['headers of a megabyte', (s) => s.end(`${OK}a: ${'x'.repeat(1_000_000)}\r\n\r\n`)],
    ['another protocol', (s) => s.end('SSH-2.0-OpenSSH_9.9\r\n')],
  ])('sends %s: no answer, within the deadline', async (_, answer) => {
    const origin = await serve(answer)
    expect(await within(origin)).toMatchObject({ kind: 'Silent' })
  })

  test.each<[string, (origin: string) => string]>([
    ['to the credentials of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
    ['to the same in another notation', () => 'http://2852039166/'],
    ['to another port of its host', (origin) => `${origin.replace(/\d+$/, '1')}/`],
    ['to a file', () => 'file:///etc/shadow'],
    ['with credentials in the URL', (origin) => origin.replace('://', '://u:p@')],
    ['to itself for ever', () => '/'],
    ['to nowhere', () => 'http://['],
  ])('redirects %s: refused, and nothing is asked there', async (_, to) => {
    let asked = 0
    let origin = ''
    origin = await serve((socket) => {
      asked++
      socket.end(`HTTP/1.1 302 Found\r\nlocation: ${to(origin)}\r\ncontent-length: 0\r\n\r\n`)
    })
    expect(await within(origin)).toMatchObject({ kind: 'Refused' })
    expect(asked).toBeLessThanOrEqual(4)
  })

  test('packs a bomb: what is sent is not unpacked', async () => {
    const origin = await serve((s) => s.end(`${OK}content-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x8b`))
    expect(await within(origin)).toMatchObject({ kind: 'Answered', status: 200 })
  })
})

describe('a Prometheus that was taken over, or has no data', () => {
  const sample = (value: unknown) => ({ resultType: 'vector', result: [{ metric: {}, value: [1, value] }] })
  const NONE: readonly [string, unknown][] = [
    ['NaN', sample('NaN')],
    ['infinity', sample('+Inf')],
    ['minus infinity', sample('-Inf')],
    ['a number that no computer holds', sample('1e999')],
    ['an empty vector', { resultType: 'vector', result: [] }],
    ['two series', { resultType: 'vector', result: [...sample('0').result, ...sample('0').result] }],
    ['ten thousand series', { resultType: 'vector', result: Array(10_000).fill(sample('0').result[0]) }],
    ['a matrix', { resultType: 'matrix', result: [{ metric: {}, values: [[1, '0']] }] }],
    ['a text', { resultType: 'string', result: [1, '0'] }],
    ['a number that is none', sample('0 or 1')],
    ['a list for a number', sample(['0'])],
    ['no number', sample(null)],
    ['a sample of a histogram', { resultType: 'vector', result: [{ metric: {}, histogram: [1, {}] }] }],
    ['a result that is no list', { resultType: 'vector', result: { length: 1, 0: sample('0').result[0] } }],
    ['nothing', null],
  ]
  const answer = async (
    data: unknown,
    bounds: { readonly min?: string; readonly max?: string },
    status = 'success',
    more: object = {},
    code = 200,
  ) => {
    const server = http.createServer((_, r) => void r.writeHead(code).end(JSON.stringify({ status, data, ...more })))
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const prometheus = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return createChecks({ prometheus }).query({ query: 'errors', ...bounds }, signal)
  }

  test.each(NONE)('%s opens no gate, whichever bound it has', async (_, data) => {
    for (const bounds of [{ max: '10' }, { min: '-10' }, { min: '-10', max: '10' }])
      expect(await answer(data, bounds)).toMatchObject({ holds: false })
  })

  test('a negative number opens a gate only where the bounds accept it', async () => {
    expect(await answer(sample('-1'), { min: '0', max: '10' })).toMatchObject({ holds: false })
    expect(await answer(sample('-1'), { max: '10' })).toMatchObject({ holds: true })
    expect(await answer(sample('5'), { min: '0', max: '10' })).toMatchObject({ holds: true })
  })

  test('what only some of its stores answered opens no gate; what it says of the query itself does not count', async () => {
    const ask = (warnings: unknown) => answer(sample('5'), { max: '10' }, 'success', { warnings })
    expect(await ask(['store eu-1 did not answer'])).toEqual({
      holds: false,
      seen: 'Prometheus answered with a warning: the result may be partial',
    })
    expect(await ask([{}])).toMatchObject({ holds: false })
    expect(await ask(['PromQL warning: x', 'remote read failed'])).toMatchObject({ holds: false })
    for (const fine of [[], undefined, ['PromQL info: metric might not be a counter']])
      expect(await ask(fine)).toMatchObject({ holds: true })
  })

  test('a wrong query says what is wrong with it; an error that may quote series does not', async () => {
    const refused = (errorType: string, error: string, code: number) =>
      answer(undefined, { max: '10' }, 'error', { errorType, error }, code)
    const text = 'invalid parameter "query": 1:5: parse error: unclosed left parenthesis'
    expect(await refused('bad_data', text, 400)).toEqual({
      holds: false,
      seen: 'Prometheus refused the query: 1:5: parse error: unclosed left parenthesis',
    })
    expect(await refused('execution', 'duplicate series: {user="ada"}', 422)).toEqual({
      holds: false,
      seen: 'Prometheus returned HTTP 422',
    })
  })

  test('an error with data opens no gate', async () => {
    expect(await answer(sample('5'), { max: '10' }, 'error')).toMatchObject({ holds: false })
  })
})

test('an answer of one address does not count for the gate once that names another', async () => {
  const good = await serve((s) => s.end(`${OK}content-length: 0\r\n\r\n`))
  const silent = await serve(() => undefined)
  const woken = Promise.withResolvers<void>()
  const context: unknown = {
    clock: { now: () => Date.now() },
    config: { checks: { allow: [good, silent] } },
    client: {},
  }
  const reads = new GateReads(context as SyncContext, () => woken.resolve())
  const gates = [{ when: 'Before', name: 'g', phase: 'Waiting', since: '2026-01-31T12:00:00Z' }]
  const release = {
    metadata: { name: 'r', namespace: SYSTEM_NAMESPACE, uid: 'u' },
    status: { stages: [{ name: 'test', phase: 'Waiting', gates }] },
  } as unknown as Release
  const look = (url: string) => {
    const stages = [{ name: 'test', before: [{ name: 'g', http: { url, expectedStatus: 200 } }] }]
    const pipeline = { spec: { stages } } as unknown as ReleasePipeline
    const known = reads.read(release, 'n/r', pipeline, async () => Promise.reject(new Error('no cluster')))
    return [known.checks.get('test/Before/g')?.value.holds, known.pending.has('test/Before/g')]
  }
  expect(look(good)).toEqual([undefined, true])
  await woken.promise
  expect(look(good)).toEqual([true, false])
  expect(look(silent)).toEqual([undefined, true])
  reads.stop()
})

describe('a rule of a gate', () => {
  const leaf = (value: unknown, operator = 'equal', path = '/name') => ({ fact: 'cluster', path, operator, value })
  const nested = (depth: number): object => {
    let rule: object = leaf('a')
    for (let i = 0; i < depth; i++) rule = { not: rule }
    return rule
  }
  test.each<[string, unknown]>([
    ['of 100,000 levels', nested(100_000)],
    ['of 100,000 conditions', { any: Array(100_000).fill(leaf('b')) }],
    ['that backtracks for ever elsewhere', { all: [leaf('(a+)+$', 'matches')] }],
    ['with a pattern that is too large', { all: [leaf('(x{1000}){1000}', 'matches')] }],
    ['with a pattern that is none', { all: [leaf('(', 'matches')] }],
    ['that is a function', () => true],
    ['that is nothing', null],
    ['that is true', true],
    ['of no conditions', { all: [] }],
    ['with an operator of objects', { all: [leaf('a', '__proto__')] }],
    ['with an operator that is inherited', { all: [leaf('a', 'constructor')] }],
    ['about a fact of objects', { all: [{ fact: '__proto__', path: '/name', operator: 'equal', value: 'a' }] }],
    ['about a path of objects', { all: [leaf('a', 'equal', '/__proto__/name')] }],
    ['about what nothing reports', { not: { all: [leaf(1, 'equal', '/newRepairs')] } }],
  ])('%s keeps it shut, and says why', async (_, rule) => {
    const found = await judgeRule('g', rule, { cluster: { name: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' } }, NOW)
    expect(found.holds).toBe(false)
    expect(found.seen).not.toBe('')
  })
})

describe('a member cluster that was taken over', () => {
  interface Page {
    readonly items: readonly unknown[]
    readonly continue?: string
  }
  const member = (list: (kind: string) => Page) => {
    let pages = 0
    const program = {
      mostListed: 2 ** 20,
      list: async ({ kind }: { readonly kind: string }) => {
        pages++
        const page = { metadata: {}, ...list(kind) }
        return { ...page, size: JSON.stringify(page).length }
      },
    }
    return { connection: { program } as unknown as ClusterConnection, pages: () => pages }
  }
  const NEEDS = { machines: true, repairs: true }
  const ready: Gate = { name: 'ready', timeout: '1h', machinesReady: { minPercent: 0 } }
  const quiet: Gate = { name: 'quiet', timeout: '1h', noNewRepairs: { within: '15m' } }

  const FULL: Page = {
    items: Array.from({ length: 500 }, () => ({ metadata: { uid: 'u' }, spec: { components: [] } })),
    continue: 'more',
  }
  const EMPTY: Page = { items: [], continue: 'more' }
  const NONE: Page = { items: [] }

  test.each<[string, (kind: string) => Page, string]>([
    ['full', () => FULL, 'KN2005'],
    ['empty', () => EMPTY, 'KN2005'],
    ['full (of machines alone)', (kind) => (kind === 'MachineComponentSet' ? NONE : FULL), 'KN7308'],
  ])('answers with %s pages without end: reading ends, and its gates stay shut', async (_, page, code) => {
    const endless = member(page)
    const read = await readingsOf(endless.connection, NEEDS, signal)
    expect(read).toEqual({})
    expect(endless.pages()).toBeLessThanOrEqual(2 * MAX_LISTED + 2)
    for (const gate of [ready, quiet]) expect(judgeGate(gate, read, { now: NOW, approvedBy: [] }).holds).toBe(false)
    await expect(surveyOf(endless.connection, NEEDS, signal)).rejects.toThrow(code)
  })

  test.each<[string, unknown]>([
    ['nothing', null],
    ['a text', 'x'],
    ['without metadata', { status: {} }],
    ['whose conditions are no list', { metadata: {}, status: { conditions: 'Ready' } }],
    ['whose components are no list', { metadata: {}, spec: { components: {} }, status: {} }],
    ['without a node', { metadata: { creationTimestamp: '2026-01-31T12:00:00Z' } }],
  ])('answers with objects that are %s: what cannot be read keeps its gates shut', async (_, item) => {
    const lying = member((kind) => ({ items: kind === 'MachineComponentSet' ? [] : [item] }))
    const read = await readingsOf(lying.connection, NEEDS, signal)
    const shut = [ready, quiet].filter((gate) => !judgeGate(gate, read, { now: NOW, approvedBy: [] }).holds)
    expect(shut.length).toBeGreaterThan(0)
  })

  test('says that its repairs are of tomorrow: they are new', async () => {
    const metadata = { creationTimestamp: '2026-02-01T12:00:00Z' }
    const lying = member((kind) => ({
      items: kind === 'RemedyOperationJob' ? [{ metadata, spec: { node: { name: 'n' } } }] : [],
    }))
    const read = await readingsOf(lying.connection, NEEDS, signal)
    expect(judgeGate(quiet, read, { now: NOW, approvedBy: [] }).holds).toBe(false)
  })
})
