// Gates that query other systems: hostile ones keep a gate closed, and tokens go only where both owners allow.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { release as releaseKind, type Release } from '#api/kinds/release.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { ConnectionError } from '#kube/errors.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { parsePlaces } from '#runtime/outbound/places.ts'
import type { CheckResult } from '#runtime/outbound/external-checks.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import type { Gate } from '../release/gates.ts'
import { syncErrors } from '../sync-errors.ts'
import type { SyncContext } from './context.ts'
import { GateReads } from './gate-reads.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    if ('closeAllConnections' in server) (server as https.Server).closeAllConnections()
  }
})

async function serve(answer: RequestListener, tls?: { readonly cert: string; readonly key: string }): Promise<string> {
  const server = tls === undefined ? createServer(answer) : https.createServer(tls, answer)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface World {
  readonly allow?: readonly string[]
  readonly places?: readonly string[]
  readonly prometheus?: string
  readonly secrets?: Readonly<Record<string, { readonly data: object; readonly isForGates?: boolean }>>
}

/** The answer to one gate that a stage waits for. */
async function ask(
  gate: Partial<Gate>,
  { allow = [], places = [], prometheus, secrets = {} }: World,
): Promise<CheckResult> {
  const woken = Promise.withResolvers<void>()
  const reads = new GateReads(
    {
      clock: { now: () => Date.now() },
      config: { checks: { allow, ...defined({ prometheus }) }, outbound: parsePlaces(places) },
      client: {
        get: async (_: unknown, { namespace, name }: { namespace: string; name: string }) => {
          const found = namespace === CLUSTERS_NAMESPACE ? secrets[name] : undefined
          const encoded = Object.entries(found?.data ?? {}).map(([k, v]) => [k, Buffer.from(v).toString('base64')])
          const labels = found?.isForGates === true ? { 'kubenode.io/for-gates': 'true' } : {}
          return found && { metadata: { name, labels }, data: Object.fromEntries(encoded) }
        },
      },
    } as unknown as SyncContext,
    () => woken.resolve(),
  )
  const stage = { name: 'test', before: [{ name: 'g', ...gate }] }
  const waiting = { when: 'Before', name: 'g', phase: 'Waiting', since: '2026-01-31T12:00:00Z' } as const
  const release = {
    ...releaseKind.example,
    metadata: { name: 'r', namespace: SYSTEM_NAMESPACE, uid: 'u' },
    status: { stages: [{ name: 'test', phase: 'Waiting', gates: [waiting] }] },
  } as Release
  const pipeline = { spec: { stages: [stage] } } as unknown as ReleasePipeline
  const noCluster = async () => Promise.reject(new Error('no cluster'))
  const read = () => reads.read(release, 'n/r', pipeline, noCluster).checks.get('test/Before/g')?.value
  try {
    expect(read()).toBeUndefined()
    await woken.promise
    return read() ?? { holds: false, seen: 'nothing' }
  } finally {
    reads.stop()
  }
}

const http = (url: string, more: object = {}): Partial<Gate> => ({ http: { url, expectedStatus: 200, ...more } })
const TOKEN = 'tok-3n-of-the-gate'
const tokenSecret = { gate: { data: { token: TOKEN }, isForGates: true } }
const tokenSecretRef = { name: 'gate' }

describe('a page', () => {
  test('opens the gate with the status that is expected, and says another one', async () => {
    const origin = await serve(({ url }, r) => r.writeHead(url === '/ok' ? 200 : 503).end())
    expect(await ask(http(`${origin}/ok`), { allow: [origin] })).toMatchObject({ holds: true })
    expect(await ask(http(`${origin}/x`), { allow: [origin] })).toEqual({
      holds: false,
      seen: `${new URL(origin).host} answers 503, 200 is expected`,
    })
  })

  test.each<[string, RequestListener, RegExp]>([
    ['that is huge', (_, r) => void r.end('x'.repeat(1_000_000)), /exceeds 65536 bytes/],
    [
      'that redirects to where clouds give credentials',
      (_, r) => void r.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
      /redirect to another origin: http:\/\/169\.254\.169\.254$/,
    ],
    ['that redirects for ever', (_, r) => void r.writeHead(302, { location: '/again' }).end(), /more than 3 redirects/],
    ['that hangs up', (_, r) => void r.destroy(), /the connection ended before the response was complete/],
  ])('%s keeps it shut', async (_, answer, says) => {
    const origin = await serve(answer)
    const look = await ask(http(origin), { allow: [origin] })
    expect([look.holds, look.seen]).toEqual([false, expect.stringMatching(says)])
  })

  test.each(['http://127.0.0.1:1/', 'http://169.254.169.254/', 'http://[::1]/', 'http://localhost:1/'])(
    'of %s is not asked unless the operator allows it',
    async (url) => {
      expect((await ask(http(url), {})).seen).toMatch(/is not asked; allow the origin|leads to/)
    },
  )

  test('is asked over TLS only of a server that the host, or the Secret of the gate, trusts', async () => {
    const [ours, theirs] = await Promise.all([newAuthority(), newAuthority('other')])
    const origin = await serve((_, r) => void r.end('ok'), await ours.server(['127.0.0.1']))
    const secrets = {
      ours: { data: { 'ca.crt': ours.cert }, isForGates: true },
      theirs: { data: { 'ca.crt': theirs.cert }, isForGates: true },
      broken: { data: { 'ca.crt': 'not a certificate' }, isForGates: true },
    }
    const by = (name: string) => ask(http(origin, { caSecretRef: { name } }), { allow: [origin], secrets })
    expect(await by('ours')).toMatchObject({ holds: true })
    expect(await by('theirs')).toMatchObject({ holds: false, seen: expect.stringMatching(/certificate/) })
    expect(await by('broken')).toMatchObject({ holds: false })
    expect(await ask(http(origin), { allow: [origin] })).toMatchObject({ holds: false })
  })
})

describe('a token', () => {
  const heard: IncomingMessage[] = []
  const listen = async (answer: RequestListener = (_, r) => void r.end()) => {
    heard.length = 0
    return serve((q, r) => {
      heard.push(q)
      answer(q, r)
    })
  }

  test('is sent to a place that the operator allowed', async () => {
    const origin = await listen()
    const world = { allow: [origin], places: [`${origin}/gates`], secrets: tokenSecret }
    expect(await ask(http(`${origin}/gates/a`, { tokenSecretRef }), world)).toMatchObject({ holds: true })
    expect(heard.map((q) => q.headers.authorization)).toEqual([`Bearer ${TOKEN}`])
  })

  test.each<[string, (origin: string) => Partial<World>, RegExp]>([
    ['to any other place', (o) => ({ places: [`${o}/other`] }), /the token is not sent/],
    [
      'without its owner meaning it for gates',
      () => ({ secrets: { gate: { data: { token: TOKEN } } } }),
      /not labeled/,
    ],
    ['when it is not there', () => ({ secrets: {} }), /Secret kubenode-clusters\/gate not found/],
    ['when it has no such key', () => ({ secrets: { gate: { data: {}, isForGates: true } } }), /no usable key token/],
    [
      'that no header can carry',
      () => ({ secrets: { gate: { data: { token: `${TOKEN}\nx: y` }, isForGates: true } } }),
      /cannot be used/,
    ],
  ])('is not sent %s', async (_, more, says) => {
    const origin = await listen()
    const world = { allow: [origin], places: [`${origin}/gates`], secrets: tokenSecret, ...more(origin) }
    const look = await ask(http(`${origin}/gates/a`, { tokenSecretRef }), world)
    expect([look.holds, look.seen, heard.length]).toEqual([false, expect.stringMatching(says), 0])
    expect(look.seen).not.toContain(TOKEN)
  })

  test('is not sent over http to a name, nor along with a redirect to another origin', async () => {
    const named = { allow: [], places: ['http://gates.example'], secrets: tokenSecret }
    expect((await ask(http('http://gates.example/a', { tokenSecretRef }), named)).seen).toMatch(/never sent over http/)
    const other = await listen()
    const origin = await serve((_, r) => void r.writeHead(302, { location: `${other}/` }).end())
    const world = { allow: [origin, other], places: [origin, other], secrets: tokenSecret }
    expect(await ask(http(`${origin}/a`, { tokenSecretRef }), world)).toMatchObject({ holds: false })
    expect(heard).toEqual([])
  })

  test('that a server repeats is not reported', async () => {
    const origin = await listen(
      ({ headers }, r) => void r.writeHead(500, headers.authorization).end(headers.authorization),
    )
    const world = { allow: [origin], places: [origin], secrets: tokenSecret }
    const look = await ask(http(`${origin}/a`, { tokenSecretRef }), world)
    expect([look.holds, look.seen.includes(TOKEN)]).toEqual([false, false])
  })
})

describe('a query', () => {
  const query = { prometheus: { query: 'sum(up)', min: '1' } }
  const sample = (value: unknown) =>
    JSON.stringify({ status: 'success', data: { resultType: 'scalar', result: [1, value] } })
  test.each<[string, string, boolean]>([
    ['a number within its bounds', sample('3'), true],
    ['JSON that calls itself a page', sample('3'), true],
    ['a page that calls itself JSON', '<html>3</html>', false],
    ['an empty text', sample(''), false],
    ['a number in another notation', sample('0x10'), false],
    ['a number that is no text', sample(3), false],
    ['an error with data', JSON.stringify({ ...JSON.parse(sample('3')), status: 'error' }), false],
    ['too much', sample('3').padEnd(2_000_000), false],
  ])('that is answered by %s', async (what, body, holds) => {
    const type = what.includes('calls itself a page') ? 'text/html' : 'application/json'
    const origin = await serve((_, r) => void r.writeHead(200, { 'content-type': type }).end(body))
    expect((await ask(query, { prometheus: origin })).holds).toBe(holds)
  })

  test('keeps the gate shut where sync knows no Prometheus, and says what to do', async () => {
    expect(await ask(query, {})).toEqual({
      holds: false,
      seen: 'no Prometheus is configured: start with --prometheus-url',
    })
  })
})

describe('a cluster that is read before its stage opens', () => {
  const survey = async (reason: unknown) => {
    const woken = Promise.withResolvers<void>()
    const context = { clock: { now: () => 0 }, config: {}, client: {} } as unknown as SyncContext
    const reads = new GateReads(context, () => woken.resolve())
    const stage = { name: 'test', before: [{ name: 'g', machinesReady: { minPercent: 98 } }] }
    const gates = [{ when: 'Before', name: 'g', phase: 'Waiting', since: '2026-01-31T12:00:00Z' }]
    const release = {
      metadata: { name: 'r', namespace: SYSTEM_NAMESPACE, uid: 'u' },
      status: { stages: [{ name: 'test', phase: 'Waiting', gates }], clusters: [{ name: 'a', stage: 'test' }] },
    } as unknown as Release
    const pipeline = { spec: { stages: [stage] } } as unknown as ReleasePipeline
    const read = () => reads.read(release, 'n/r', pipeline, async () => Promise.reject(reason)).surveys.get('a')
    expect(read()).toBeUndefined()
    await woken.promise
    reads.stop()
    return read()
  }
  test('is away when it does not answer, and unknown when it refuses us', async () => {
    const lost = new ConnectionError(syncErrors.KN7301({ id: 'x' }), 'no')
    expect(await survey(lost)).toMatchObject({ kind: 'Unreachable' })
    expect(await survey(new KubeNodeError(syncErrors.KN7301({ id: 'x' })))).toEqual({ kind: 'Read', readings: {} })
    expect(await survey(new Error('KN2401: Unauthorized'))).toEqual({ kind: 'Read', readings: {} })
  })
})
