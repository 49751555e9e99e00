import { once } from 'node:events'
import { lstatSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { newServingCertificate } from '#runtime/tls/serving-certificate.ts'
import { MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { overSocket } from '#test/support/servers/over-socket.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Host, HostEvent, Provider } from '../port.ts'
import { RemoteProvider } from './provider.ts'
import { MAX_BODY_BYTES } from './protocol.ts'
import { serveProvider, serveProviders } from './server.ts'

const tools = { clock: systemClock, log: silentLogger }
const memory = (name = 'memory') => new MemoryProvider({ clock: systemClock, name })
const closing: (() => Promise<unknown> | void)[] = []
let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'serve-'))
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await rm(dir, { recursive: true, force: true })
})

async function served(provider: Provider) {
  const over = await overSocket(provider)
  closing.push(() => over.close())
  return over
}

interface Raw {
  readonly status: number
  readonly body: { readonly error?: { readonly kind: string; readonly message: string } } & Record<string, unknown>
}

/** As a program in another language would call it. */
function raw(socketPath: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request({ socketPath, path, method, headers }, (response) => {
      let text = ''
      response.on('data', (part: Buffer) => (text += part.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Raw['body'] }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const HOST: Host = {
  providerID: 'memory://h',
  clientToken: 't',
  machine: 'm',
  machineUid: 'u',
  state: 'Running',
  createdAt: '2026-11-01T00:00:00Z',
}

test('a list of more hosts than a page holds arrives whole, and later pages are of the same list', async () => {
  let lists = 0
  const many = Array.from({ length: 12_001 }, (_, i) => ({ ...HOST, providerID: `memory://h-${i}` }))
  const provider = overridden(memory(), {
    list: async () => ({ hosts: lists++ === 0 ? many : [], asOf: '2026-11-01T00:00:00Z' }),
  })
  const { hosts } = await (await served(provider)).provider.list()
  expect(hosts.length).toBe(12_001)
  expect(lists).toBe(1)
})

test('a page of a list that ended is an error, not an end', async () => {
  const { path } = await served(memory())
  const { status, body } = await raw(path, '/v1/list', '{"after":"gone:5000"}')
  expect([status, body.error?.kind]).toEqual([400, 'Invalid'])
})

test.each([
  ['a call that does not exist', '/v1/destroy', '{}', 404, 'NotServed'],
  ['a call that the provider does not have', '/v1/maintenance', '{}', 404, 'NotServed'],
  ['another way to ask', '/v1/list', undefined, 404, 'NotServed'],
  ['a body that is not JSON', '/v1/get', '{', 400, 'Invalid'],
  ['a body without its fields', '/v1/get', '{}', 400, 'Invalid'],
  ['a field that does not exist', '/v1/get', '{"providerID":"memory://a","force":true}', 400, 'Invalid'],
  ['a create without a client token', '/v1/create', '{"machine":"m","machineUid":"u","params":{}}', 400, 'Invalid'],
  ['a body that is too large', '/v1/get', 'x'.repeat(MAX_BODY_BYTES + 1), 413, 'TooLarge'],
] as const)('%s is refused with an error of the protocol', async (_, url, body, status, kind) => {
  const { path } = await served(memory())
  const deadline = await raw(path, url, body)
  expect([deadline.status, deadline.body.error?.kind]).toEqual([status, kind])
})

test('a refusal does not repeat what was in the request', async () => {
  const { path } = await served(memory())
  const { body } = await raw(path, '/v1/create', '{"clientToken":"a b","join":{"token":"secret-of-the-join"}}')
  expect(JSON.stringify(body)).not.toMatch(/secret-of-the-join|a b/)
})

test('a provider that hangs is left at the deadline of the caller, and learns of it', async () => {
  let isEnded = false
  const provider = overridden(memory(), {
    get: (_, signal) =>
      new Promise(() => {
        signal?.addEventListener('abort', () => (isEnded = true))
      }),
  })
  const { path } = await served(provider)
  const { status, body } = await raw(path, '/v1/get', '{"providerID":"memory://a"}', { 'kubenode-deadline-ms': '50' })
  expect([status, body.error?.kind, isEnded]).toEqual([504, 'TooSlow', true])
})

test('a provider that throws is an error in words, and never an absence', async () => {
  const provider = overridden(memory(), {
    get: () => Promise.reject(new Error('rate\nlimit')),
    list: () => Promise.reject(new Error('page 2 broke off')),
  })
  const { provider: client } = await served(provider)
  await expect(client.get('memory://a')).rejects.toThrow(/KN11063.*rate\ufffdlimit/)
  await expect(client.list()).rejects.toThrow(/KN11063.*page 2 broke off/)
})

test('an answer of the provider that the protocol does not allow stays here', async () => {
  const provider = overridden(memory(), { get: async () => ({ ...HOST, state: 'Melted' }) as unknown as Host })
  const { provider: client } = await served(provider)
  await expect(client.get('memory://h')).rejects.toThrow(/KN11063.*host\/state/)
})

test('events arrive in order, also those of the time between two questions', async () => {
  const inner = memory()
  const { provider: client, path } = await served(inner)
  const first = await raw(path, '/v1/events')
  const request = { machineUid: 'u', params: {}, join: {} as never }
  await inner.create({ ...request, machine: 'a', clientToken: 'a' })
  await inner.create({ ...request, machine: 'b', clientToken: 'b' })
  const since = await raw(path, `/v1/events?after=${String(first.body['next'])}`)
  expect(since.body['events']).toMatchObject([{ machine: 'a' }, { machine: 'b' }])

  const stop = new AbortController()
  const onEvent: HostEvent[] = []
  const listening = client.events((event) => onEvent.push(event), stop.signal)
  await expect
    .poll(async () => {
      await inner.reboot('memory://a')
      return onEvent.length
    })
    .toBeGreaterThan(0)
  stop.abort()
  await listening
  expect(onEvent[0]).toMatchObject({ providerID: 'memory://a', kind: 'Rebooted' })
})

test('a provider without events says so, and listening ends when it is no longer wanted', async () => {
  const { provider: client, path } = await served(overridden(memory(), { events: async () => undefined }))
  expect((await raw(path, '/v1/capabilities')).body['can']).toEqual(['power'])
  await client.connect()
  const stop = new AbortController()
  const listening = client.events(() => undefined, stop.signal)
  stop.abort()
  await listening
})

test('the socket is for its owner only, one that a killed program left is replaced, and one in use is not', async () => {
  const path = join(dir, 's')
  const at = { kind: 'Socket', path } as const
  const first = await serveProvider(memory(), at, tools)
  expect((lstatSync(path).mode & 0o777).toString(8)).toBe('600')
  await expect(serveProvider(memory(), at, tools)).rejects.toThrow(/KN1206.*another program serves there/)
  await first.close()
  await writeFile(path, 'a file of somebody')
  await expect(serveProvider(memory(), at, tools)).rejects.toThrow(/KN1206.*something else/)
})

test('over https the authority is pinned, the token is needed, both can be replaced, and each provider has its place', async () => {
  const names = { commonName: 'test', hosts: ['127.0.0.1'] }
  const [first, second] = [newServingCertificate(names, Date.now()), newServingCertificate(names, Date.now())]
  const [ca, tokenFile] = [join(dir, 'ca.crt'), join(dir, 'token')]
  const serving = await serveProviders(
    [memory('one'), memory('two')],
    { kind: 'Https', host: '127.0.0.1', port: 0, keys: { ...first, token: 'right' } },
    tools,
  )
  closing.push(() => serving.close())
  const client = (name: string, base = name) => {
    const place = { kind: 'Https', url: `${serving.at}/${base}`, ca, tokenFile } as const
    const made = new RemoteProvider({ name, place, ...tools })
    closing.push(() => made.close())
    return made
  }
  await writeFile(ca, first.ca)
  await writeFile(tokenFile, 'right\n')
  expect((await client('one').list()).hosts).toEqual([])
  const two = client('two')
  expect((await two.list()).hosts).toEqual([])
  await expect(client('one', 'two').list()).rejects.toThrow(/KN11064.*it is the provider two/)

  await writeFile(tokenFile, 'wrong')
  await expect(client('one').list()).rejects.toThrow(/KN11067.*refuses the token in .*token/)
  await writeFile(ca, second.ca)
  await expect(client('one').list()).rejects.toThrow(/KN11060/)

  serving.renew({ ...second, token: 'new' })
  await writeFile(tokenFile, 'new')
  await expect(two.list()).rejects.toThrow(/KN11067/)
  expect((await two.list()).hosts).toEqual([])
  expect((await client('one').list()).hosts).toEqual([])
})

test('one who knows no token and keeps every connection open does not keep the controllers out', async () => {
  const keys = newServingCertificate({ commonName: 'test', hosts: ['127.0.0.1'] }, Date.now())
  const at = { kind: 'Https', host: '127.0.0.1', port: 0, keys: { ...keys, token: 'right' } } as const
  const serving = await serveProviders([memory('one')], at, tools)
  closing.push(() => serving.close())
  const { port } = new URL(serving.at)
  for (let i = 0; i < 64; i++) {
    const stranger = connect({ host: '127.0.0.1', port: Number(port), ca: keys.ca })
    stranger.on('error', () => undefined)
    closing.push(() => void stranger.destroy())
    await once(stranger, 'secureConnect')
    // The rest of the body never arrives.
    stranger.write('POST /one/v1/list HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\ncontent-length: 9999\r\n\r\n')
    await once(stranger, 'data')
  }
  const [ca, tokenFile] = [join(dir, 'ca.crt'), join(dir, 'token')]
  await writeFile(ca, keys.ca)
  await writeFile(tokenFile, 'right\n')
  const client = new RemoteProvider({
    name: 'one',
    place: { kind: 'Https', url: `${serving.at}/one`, ca, tokenFile },
    ...tools,
  })
  closing.push(() => client.close())
  expect((await client.list()).hosts).toEqual([])
})
