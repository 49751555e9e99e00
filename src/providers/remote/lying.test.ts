// A broken or malicious provider. Whatever it answers: a create is Unknown and a read throws, never an absence; hosts of another provider or machine are not
// accepted; memory, time and logs stay bounded.
import { randomUUID } from 'node:crypto'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { MIB } from '#lib/bytes.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HostRequest } from '../port.ts'
import { RemoteProvider } from './provider.ts'
import { socketDoubt } from '#lib/own-socket.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

let dir: string
let server: Server | undefined
let provider: RemoteProvider
let answers: Record<string, Answer>

const json =
  (value: unknown, status = 200): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }

const SAID = {
  protocol: 'kubenode-provider/v1',
  name: 'liar',
  capabilities: { isHostKept: false, visibleWithinMs: 0, markets: ['OnDemand'] },
  can: ['power'],
}
const HOST = {
  providerID: 'liar://h-1',
  clientToken: 't-1',
  machine: 'm-1',
  machineUid: 'u-1',
  state: 'Running',
  createdAt: '2026-11-01T00:00:00Z',
}
const AS_OF = '2026-11-01T00:00:00Z'

const REQUEST: HostRequest = {
  clientToken: 't-1',
  machine: 'm-1',
  machineUid: 'u-1',
  params: {},
  join: {
    server: 'https://127.0.0.1:6443',
    caData: 'Q0E=',
    token: 'abcdef.secret-of-the-join',
    machine: 'm-1',
    node: 'm-1',
    cluster: 'test',
    artifactBase: 'file:///nowhere/',
    trust: { sequence: 1, threshold: 1, keys: [] },
  },
}

async function listen(): Promise<void> {
  server = createServer((request, response) => {
    request.resume()
    const call = (request.url ?? '').split('?')[0]?.slice('/v1/'.length) ?? ''
    const answer = answers[call] ?? json({ error: { kind: 'NotServed', message: 'no' } }, 404)
    answer(request, response)
  })
  const path = join(dir, 's')
  await new Promise<void>((resolve) => server?.listen(path, resolve))
  await chmod(path, 0o600)
}

async function die(): Promise<void> {
  server?.closeAllConnections()
  await new Promise((resolve) => server?.close(resolve))
  server = undefined
}

const withWaits = (waits: { readonly readMs: number; readonly callMs: number; readonly slowMs: number }) =>
  new RemoteProvider({
    name: 'liar',
    place: { kind: 'Socket', path: join(dir, 's') },
    clock: systemClock,
    log: silentLogger,
    waits,
  })

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'lying-'))
  answers = { capabilities: json(SAID) }
  await listen()
  provider = withWaits({ readMs: 60_000, callMs: 60_000, slowMs: 60_000 })
  await provider.connect()
})
afterEach(async () => {
  provider.close()
  await die()
  await rm(dir, { recursive: true, force: true })
})

/** Each is served for every call; `says` is in what the user reads. */
const BROKEN: Readonly<Record<string, { readonly answer: Answer; readonly says: RegExp; readonly isSlow?: true }>> = {
  'ends in the middle of the call': { answer: (request) => request.socket.destroy(), says: /KN11060.*socket hang up/ },
  'never answers': { answer: () => undefined, says: /KN11060.*no answer within/, isSlow: true },
  'answers one byte a second': {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const drip = setInterval(() => response.write(' '), 100)
      response.once('close', () => clearInterval(drip))
    },
    says: /KN11060.*no answer within/,
    isSlow: true,
  },
  'announces 100 MB': {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 * MIB }).write('[')
    },
    says: /KN11061.*more than 4 MiB/,
  },
  'sends 100 MB without announcing it': {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = (): void => {
        if (!response.destroyed && response.write(Buffer.alloc(MIB, ' '))) setImmediate(more)
      }
      response.on('drain', more)
      more()
    },
    says: /KN11061.*more than 4 MiB/,
  },
  'sends half of its JSON': {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"Abs')
    },
    says: /KN11061.*not whole JSON/,
  },
  'breaks off in its JSON': {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
      response.write('{"kind":"Abs', () => response.destroy())
    },
    says: /KN(11060|11061)/,
  },
  'answers with a page of a proxy': {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
    },
    says: /KN11061.*not JSON/,
  },
  'answers 404 without a body of the protocol': { answer: json({}, 404), says: /KN11061.*error is required/ },
  'answers with an error of no known kind': {
    answer: json({ error: { kind: 'NotFound', message: 'instance gone' } }, 404),
    says: /KN11061.*error\.kind/,
  },
  'answers with an error of the protocol': {
    answer: json({ error: { kind: 'Failed', message: 'out\nof\u001b[31m order' } }, 500),
    says: /KN11063.*Failed\): out\ufffdof\ufffd\[31m order/,
  },
  'switches to another protocol': {
    answer: (request) =>
      void request.socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n{}'),
    says: /KN11061.*another protocol/,
  },
  'redirects elsewhere': {
    answer: (_, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    },
    says: /KN11061.*302/,
  },
  'answers with nothing': { answer: json({}), says: /KN11061.*is required/ },
  'answers null': { answer: json(null), says: /KN11061.*wrong type/ },
  'adds a field that the protocol does not have': {
    answer: json({ kind: 'Absent', hosts: [], asOf: AS_OF, events: [], surprise: 1 }),
    says: /KN11061/,
  },
  'compresses its answer, a megabyte of it to a kilobyte': {
    answer: (_, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ kind: 'Refused', reason: ' '.repeat(MIB) })))
    },
    says: /KN11061/,
  },
  'sends headers without end': {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-more': 'x'.repeat(MIB) }).end('{}')
    },
    says: /KN11060/,
  },
  'does not say where its answer ends': {
    answer: (_, response) => {
      response.useChunkedEncodingByDefault = false
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(JSON.stringify({ kind: 'Deleted' }))
      // The connection stays open.
    },
    says: /KN11061.*neither Content-Length nor chunks/,
  },
  'nests its answer a hundred thousand levels deep': {
    answer: (_, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"kind":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
    },
    says: /KN11061.*nested deeper than 256 levels/,
  },
}

describe.each(Object.entries(BROKEN))('a provider that %s', (_, { answer, says, isSlow }) => {
  beforeEach(() => {
    if (isSlow === true) provider = withWaits({ readMs: 60_000, callMs: 400, slowMs: 400 })
    for (const call of ['create', 'get', 'list', 'delete', 'power', 'reboot']) answers[call] = answer
  })

  test('makes a create Unknown', async () => {
    expect(await provider.create(REQUEST)).toMatchObject({ kind: 'Unknown', message: expect.stringMatching(says) })
  })

  test('makes every other call throw', async () => {
    await expect(provider.get('liar://h-1')).rejects.toThrow(says)
    await expect(provider.list()).rejects.toThrow(says)
    await expect(provider.delete('liar://h-1')).rejects.toThrow(says)
    await expect(provider.reboot('liar://h-1')).rejects.toThrow(says)
    await expect(provider.power?.('liar://h-1', 'Off')).rejects.toThrow(says)
  })
})

const ofHosts = (...hosts: readonly object[]) => json({ hosts, asOf: AS_OF })

describe('a lying provider', () => {
  test('cannot name a host of another provider', async () => {
    const other = { ...HOST, providerID: 'process://worker-1' }
    answers['list'] = ofHosts(HOST, other)
    answers['get'] = json({ kind: 'Host', host: other })
    answers['create'] = json({ kind: 'Host', host: other })
    await expect(provider.list()).rejects.toThrow(/KN11061.*process:\/\/worker-1 does not begin with liar:/)
    await expect(provider.get('liar://h-1')).rejects.toThrow('KN11061')
    expect(await provider.create(REQUEST)).toMatchObject({ kind: 'Unknown' })
  })

  test('cannot give a Machine the host of another one', async () => {
    answers['create'] = json({ kind: 'Host', host: { ...HOST, machineUid: 'u-2' } })
    expect(await provider.create(REQUEST)).toMatchObject({ kind: 'Unknown', message: expect.stringContaining('m-1') })
    answers['create'] = json({ kind: 'Host', host: { ...HOST, machine: 'm-2' } })
    expect(await provider.create(REQUEST)).toMatchObject({ kind: 'Unknown' })
    answers['get'] = json({ kind: 'Host', host: HOST })
    await expect(provider.get('liar://h-2')).rejects.toThrow('KN11061')
  })

  test('cannot list a host twice, in one page or in two', async () => {
    answers['list'] = ofHosts(HOST, { ...HOST, machineUid: 'u-2' })
    await expect(provider.list()).rejects.toThrow(/KN11061.*twice/)
    answers['list'] = json({ hosts: [HOST], asOf: AS_OF, next: 'again' })
    await expect(provider.list()).rejects.toThrow(/KN11061.*twice/)
  })

  test('cannot send pages without end', async () => {
    let pages = 0
    answers['list'] = (request, response) => {
      const hosts = [{ ...HOST, providerID: `liar://${randomUUID()}` }]
      json({ hosts, asOf: AS_OF, next: `p-${pages++}` })(request, response)
    }
    await expect(provider.list()).rejects.toThrow(/KN11061.*more than 16 pages/)
    expect(pages).toBe(16)
  })

  test('cannot end a list by breaking off on a later page', async () => {
    let pages = 0
    answers['list'] = (request, response) =>
      pages++ === 0
        ? json({ hosts: [HOST], asOf: AS_OF, next: 'p' })(request, response)
        : json({ error: { kind: 'Failed', message: 'no more' } }, 500)(request, response)
    await expect(provider.list()).rejects.toThrow('KN11063')
  })

  test('cannot hold memory with a million wrong hosts', async () => {
    const body = `{"hosts":[${'1,'.repeat(1_000_000)}1],"asOf":"${AS_OF}"}`
    answers['list'] = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    }
    const before = process.memoryUsage().heapUsed
    const error = await provider.list().catch((e: unknown) => e)
    expect(String(error)).toMatch(/KN11061/)
    expect(String(error).length).toBeLessThan(1_000)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(256 * MIB)
  })

  test('cannot put lines or colors into what people read', async () => {
    answers['create'] = json({ kind: 'Refused', reason: 'no\n{"level":"error"}\u001b[2J\u202e' })
    const made = await provider.create(REQUEST)
    // eslint-disable-next-line no-control-regex
    expect(made.kind === 'Refused' && made.reason).not.toMatch(/[\n\u001b\u202e]/)
    answers['create'] = json({ kind: 'Refused', reason: 'x'.repeat(2_000) })
    expect(await provider.create(REQUEST)).toMatchObject({ kind: 'Unknown' })
  })

  test.each<[string, object]>([
    ['a time to come back in the past', { kind: 'Throttled', retryAfterMs: -1 }],
    ['a time to come back in a thousand years', { kind: 'Throttled', retryAfterMs: 31_536_000_000_000 }],
    ['half a millisecond', { kind: 'Exhausted', reason: 'x', retryAfterMs: 0.5 }],
    ['a host made soon', { kind: 'Host', host: { ...HOST, createdAt: 'soon' } }],
    ['a host made in the year 20000', { kind: 'Host', host: { ...HOST, createdAt: '+020000-01-01T00:00:00Z' } }],
    ['an id with a line feed', { kind: 'Host', host: { ...HOST, providerID: 'liar://h-1\nliar://h-2' } }],
    ['an id without end', { kind: 'Host', host: { ...HOST, providerID: `liar://${'h'.repeat(253)}` } }],
    ['an address with a path', { kind: 'Host', host: { ...HOST, address: '10.0.0.1/../admin' } }],
    ['a Machine in another folder', { kind: 'Host', host: { ...HOST, machine: '../m-1' } }],
  ])('cannot name %s', async (_, answer) => {
    answers['create'] = json(answer)
    expect(await provider.create(REQUEST)).toMatchObject({ kind: 'Unknown', message: expect.stringMatching('KN11061') })
    answers['list'] = json({ hosts: 'host' in answer ? [answer.host] : [], asOf: 'never' })
    await expect(provider.list()).rejects.toThrow('KN11061')
  })

  test('is asked nothing that another machine owns, and its token is in no error', async () => {
    answers['create'] = json({ error: { kind: 'Failed', message: 'x' } }, 500)
    const made = await provider.create(REQUEST)
    expect(JSON.stringify(made)).not.toContain('secret-of-the-join')
  })

  test('cannot turn into another provider, or turn made hosts into kept ones', async () => {
    const changed = async (now: object): Promise<void> => {
      answers['capabilities'] = json(now)
      await die()
      await expect(provider.get('liar://h-1')).rejects.toThrow('KN11060')
      await listen()
      answers['get'] = json({ kind: 'Absent' })
    }
    await changed({ ...SAID, name: 'other' })
    await expect(provider.get('liar://h-1')).rejects.toThrow(/KN11064.*it is the provider other/)
    await changed({ ...SAID, capabilities: { ...SAID.capabilities, isHostKept: true } })
    await expect(provider.get('liar://h-1')).rejects.toThrow(/KN11064.*kept now/)
    expect(provider.capabilities.isHostKept).toBe(false)
    await changed({ ...SAID, can: [] })
    expect(await provider.get('liar://h-1')).toBeUndefined()
    expect(provider.power === undefined).toBe(true)
  })

  test('that switches to another protocol when it is asked what it can do is used again afterwards', async () => {
    answers['capabilities'] = BROKEN['switches to another protocol']?.answer ?? json({})
    const again = withWaits({ readMs: 2_000, callMs: 2_000, slowMs: 2_000 })
    await expect(again.connect()).rejects.toThrow(/KN11061.*another protocol/)
    answers = { capabilities: json(SAID), get: json({ kind: 'Absent' }) }
    await again.connect()
    expect(await again.get('liar://h-1')).toBeUndefined()
    again.close()
  })

  test('cannot shorten the time in which its hosts may be missing', async () => {
    const saying = (visibleWithinMs: number) =>
      json({ ...SAID, capabilities: { ...SAID.capabilities, visibleWithinMs } })
    for (const ms of [120_000, 0]) {
      answers['capabilities'] = saying(ms)
      await die()
      await expect(provider.get('liar://h-1')).rejects.toThrow('KN11060')
      await listen()
      await provider.connect()
    }
    expect(provider.capabilities.visibleWithinMs).toBe(120_000)
  })

  test('cannot name the hosts of others in its events', async () => {
    answers['capabilities'] = json({ ...SAID, can: ['events'] })
    const event = { providerID: 'process://worker-1', machine: 'worker-1', kind: 'Deleted', message: 'gone' }
    let asked = 0
    const stop = new AbortController()
    answers['events'] = (request, response) => {
      if (++asked > 1) stop.abort()
      json({ events: [event], next: 'n' })(request, response)
    }
    await die()
    await expect(provider.get('liar://h-1')).rejects.toThrow('KN11060')
    await listen()
    const onEvent: unknown[] = []
    await provider.events((e) => onEvent.push(e), stop.signal)
    expect(onEvent).toEqual([])
  })
})

test('the events of a provider that had none at first are heard once it has them', async () => {
  const place = { kind: 'Socket', path: join(dir, 's') } as const
  const waits = { freshMs: 5 }
  const later = new RemoteProvider({ name: 'liar', place, clock: systemClock, log: silentLogger, waits })
  let looks = 0
  answers['capabilities'] = (request, response) =>
    json({ ...SAID, can: ++looks < 3 ? [] : ['events'] })(request, response)
  const event = { providerID: 'liar://h-1', machine: 'm-1', kind: 'Deleted', message: 'gone' }
  answers['events'] = json({ events: [event], next: 'n' })
  const stop = new AbortController()
  const onEvent: unknown[] = []
  const listening = later.events((e) => {
    onEvent.push(e)
    stop.abort()
  }, stop.signal)
  await expect.poll(() => onEvent.length).toBe(1)
  await listening
  later.close()
})

describe('a provider that is away at the start', () => {
  test('is unknown: nothing is absent, creates are Unknown, and it is used once it answers', async () => {
    await die()
    const late = new RemoteProvider({
      name: 'liar',
      place: { kind: 'Socket', path: join(dir, 's') },
      clock: systemClock,
      log: silentLogger,
      waits: { awayMs: 20 },
    })
    const stop = new AbortController()
    const running = late.run(stop.signal)
    await expect(late.get('liar://h-1')).rejects.toThrow('KN11060')
    expect(await late.create(REQUEST)).toMatchObject({ kind: 'Unknown', message: expect.stringContaining('KN11060') })
    expect(late.capabilities.visibleWithinMs).toBeGreaterThan(0)
    // Its capabilities are unknown too, so an optional call does not count as missing.
    await expect(late.power?.('liar://h-1', 'Off')).rejects.toThrow('KN11060')
    await expect(late.maintenance?.()).rejects.toThrow('KN11060')
    answers['get'] = json({ kind: 'Absent' })
    await listen()
    await expect.poll(() => late.get('liar://h-1').then(() => 'answered', String)).toBe('answered')
    expect([late.power === undefined, late.maintenance === undefined]).toEqual([false, true])
    stop.abort()
    await running
  })
})

describe('a socket', () => {
  const SOCKET = 0o140000
  test.each([
    ['of our own user alone is trusted', { mode: SOCKET | 0o600, uid: 1000 }, undefined],
    ['of root is trusted', { mode: SOCKET | 0o600, uid: 0 }, undefined],
    ['of another user is not', { mode: SOCKET | 0o600, uid: 1001 }, /belongs to uid 1001/],
    ['that others can use is not', { mode: SOCKET | 0o660, uid: 1000 }, /mode 0660/],
  ])('%s', (_, seen, wanted) => {
    const doubt = socketDoubt(seen, 1000)
    if (wanted === undefined) expect(doubt).toBeUndefined()
    else expect(doubt).toMatch(wanted)
  })

  test('that another user put in its place is sent nothing, although the one before was trusted a moment ago', async (context) => {
    if (getuid?.() !== 0) context.skip('only root can give a file to another user')
    answers['get'] = json({ kind: 'Absent' })
    expect(await provider.get('liar://h-1')).toBeUndefined()
    await die()
    const onEvent: string[] = []
    answers['create'] = (request, response) => {
      onEvent.push(request.url ?? '')
      json({ kind: 'Unknown' })(request, response)
    }
    await listen()
    await chown(join(dir, 's'), 1234, 1234)
    expect(await provider.create(REQUEST)).toMatchObject({
      kind: 'Unknown',
      message: expect.stringMatching(/KN11062.*belongs to uid 1234/),
    })
    expect(onEvent).toEqual([])
    await chown(join(dir, 's'), 0, 0)
    expect(await provider.create(REQUEST)).toMatchObject({ kind: 'Unknown', message: 'the provider does not know' })
  })

  test('that is a file, or open to others, is refused before anything is sent', async () => {
    await chmod(join(dir, 's'), 0o666)
    const place = { kind: 'Socket', path: join(dir, 's') } as const
    const open = new RemoteProvider({ name: 'liar', place, clock: systemClock, log: silentLogger })
    await expect(open.connect()).rejects.toThrow(/KN11062.*mode 0666/)
    const file = join(dir, 'file')
    await writeFile(file, '')
    const other = new RemoteProvider({
      name: 'liar',
      place: { kind: 'Socket', path: file },
      clock: systemClock,
      log: silentLogger,
    })
    await expect(other.connect()).rejects.toThrow(/KN11062.*not a socket/)
  })
})
