// The HTTP client and the reflector over real TLS sockets, with the wire, the server and the credentials failing under them.
import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { ApiError, ConnectionError, isForbidden, isUnauthorized } from '#kube/errors.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { onNthCall } from '#test/doubles/kube/faults.ts'
import { HttpKubeClient, type HttpClientOptions } from '#kube/http/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { createInformer, type Informer, type InformerNotice } from '#kube/informer.ts'
import { loadKubeconfig } from '#kube/kubeconfig.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/faults/fault-proxy.ts'
import { CONFIG_MAPS, NODES } from '#test/support/servers/kube-contract.ts'
import { serveFake, type KubeServer } from '#test/support/servers/kube-server.ts'
import { newAuthority } from '#test/support/servers/tls.ts'

const LEASES = coreKind('Lease')
const PODS = coreKind('Pod')

const node = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: {} })
const config = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
})

interface World {
  readonly fake: FakeKube
  readonly server: KubeServer
  readonly proxy: FaultProxy
  readonly client: (change?: Partial<ConnectionConfig>, options?: HttpClientOptions) => Promise<HttpKubeClient>
}

/** In a thread of its own: it answers while ours is busy, and notifies us. */
const QUICK_SERVER = `
  const { parentPort, workerData } = require('node:worker_threads')
  let connections = 0
  const server = require('node:https').createServer(workerData.pair, (request, response) => {
    request.resume()
    request.on('end', () => response.end(JSON.stringify({ metadata: { name: 'n' }, connections }), () => {
      Atomics.add(workerData.answers, 0, 1)
      Atomics.notify(workerData.answers, 0)
    }))
  })
  server.on('secureConnection', () => connections++)
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function world(): Promise<World> {
  const fake = new FakeKube({ clock: systemClock, random: seededRandom(1), bookmarkEveryMs: 100 })
  const server = await serveFake(fake)
  const proxy = await startFaultProxy(server.port)
  ends.push(
    () => server.close(),
    () => proxy.close(),
  )
  return {
    fake,
    server,
    proxy,
    client: async (change = {}, options = {}) => {
      const base = await server.config()
      const client = new HttpKubeClient({ ...base, server: `https://127.0.0.1:${proxy.port}`, ...change }, options)
      ends.push(() => client.close())
      return client
    },
  }
}

const tempDir = async (): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'kube-client-'))
  ends.push(() => rm(dir, { recursive: true }))
  return dir
}

function watchNodes(
  client: HttpKubeClient,
  bookmarkPeriodMs = 60_000,
): { informer: Informer; notices: InformerNotice[] } {
  const notices: InformerNotice[] = []
  const stop = new AbortController()
  const informer = createInformer({
    client,
    type: NODES,
    clock: systemClock,
    random: seededRandom(2),
    bookmarkPeriodMs,
    notice: (n) => notices.push(n),
  })
  void informer.run(stop.signal)
  ends.push(() => stop.abort(new Error('test over')))
  return { informer, notices }
}

const names = (informer: Informer): string[] =>
  informer.store
    .list()
    .map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)
    .sort()

const truth = (fake: FakeKube): string[] =>
  fake
    .all(NODES)
    .map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)
    .sort()

async function failure(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => undefined,
    (e: unknown) => e,
  )
}

describe('the wire breaks', () => {
  it('F5 a watch cut at any byte misses nothing', async () => {
    const { fake, proxy, client } = await world()
    const { informer } = watchNodes(await client())
    await informer.synced()
    for (let i = 0; i < 12; i++) {
      await vi.waitFor(() => expect(informer.isWatching).toBe(true), 60_000)
      proxy.weather = { kind: 'cutAfter', bytes: 29 * i + 1 }
      fake.plant(NODES, node(`n${i}`))
      await vi.waitFor(() => expect(proxy.weather.kind).toBe('clear'), 60_000)
    }
    await vi.waitFor(() => expect(names(informer)).toEqual(truth(fake)), 60_000)
  })

  it('F9 a half-open connection is found by its silence and the watch goes on elsewhere', async () => {
    const { fake, proxy, client } = await world()
    const { informer, notices } = watchNodes(await client(), 200)
    await informer.synced()
    proxy.weather = { kind: 'halfOpen' }
    fake.plant(NODES, node('unseen'))
    await vi.waitFor(() => expect(notices.some((n) => n.kind === 'Silent')).toBe(true), 60_000)
    proxy.weather = { kind: 'clear' }
    proxy.reset()
    await vi.waitFor(() => expect(names(informer)).toEqual(truth(fake)), 60_000)
  })

  it('F7 a watch event of 64 MB is refused, and the watch lives on', async () => {
    const { fake, server, client } = await world()
    const kube = await client()
    server.interfere = (seen, res) => {
      if (!seen.path.includes('watch=true')) return false
      res.writeHead(200)
      const part = 'x'.repeat(1024 * 1024)
      const more = (): void => {
        while (!res.destroyed) if (!res.write(part)) return void res.once('drain', more)
      }
      more()
      return true
    }
    const { informer, notices } = watchNodes(kube)
    const refused = (n: InformerNotice) => n.kind === 'Failed' && (n.error as { code?: string }).code === 'KN2410'
    await vi.waitFor(() => expect(notices.some(refused)).toBe(true), 60_000)
    server.interfere = undefined
    fake.plant(NODES, node('later'))
    await vi.waitFor(() => expect(names(informer)).toEqual(truth(fake)), 60_000)
  })

  it('F11 a connection reset before the reply leaves a write unknown and is repaired for a read', async () => {
    const { proxy, client, server } = await world()
    const kube = await client()
    server.interfere = (seen) => {
      if (seen.method !== 'POST' && server.requests.length > 2) return false
      proxy.reset()
      return true
    }
    const outcome = await outcomeOf(() => kube.create(CONFIG_MAPS, config('one')))
    expect(outcome.kind).toBe('Unknown')
    expect(server.requests.filter((r) => r.method === 'POST')).toHaveLength(1)
    expect(await kube.get(CONFIG_MAPS, { namespace: 'default', name: 'one' })).toBeUndefined()
  })

  it('F11 a server that cannot be reached has surely not seen the write', async () => {
    const { proxy, client } = await world()
    const kube = await client()
    proxy.refuse = true
    const error = await failure(kube.create(CONFIG_MAPS, config('one')))
    expect(error).toBeInstanceOf(ConnectionError)
    expect((error as ConnectionError).applied).toBe('no')
  })

  it('F11 a slow-loris body ends with the deadline and frees its place', async () => {
    const { fake, proxy, client } = await world()
    fake.plant(CONFIG_MAPS, config('big', { a: 'x'.repeat(50_000) }))
    const kube = await client({}, { timeouts: { wholeMs: 400 } })
    await kube.get(CONFIG_MAPS, { namespace: 'default', name: 'nothing' })
    proxy.weather = { kind: 'trickle', bytes: 50, everyMs: 20 }
    const error = await failure(
      kube.patch(CONFIG_MAPS, { namespace: 'default', name: 'big' }, { type: 'merge', value: { data: { b: '1' } } }),
    )
    expect(error).toMatchObject({ code: 'KN2001', applied: 'unknown' })
    proxy.weather = { kind: 'clear' }
    expect(await kube.get(CONFIG_MAPS, { namespace: 'default', name: 'big' })).toBeDefined()
  })

  it('F11 a server that says nothing at all is given up after the idle time', async () => {
    const { server, client } = await world()
    server.interfere = () => true
    const kube = await client({}, { timeouts: { idleMs: 200 } })
    const error = await failure(kube.create(CONFIG_MAPS, config('one')))
    expect(error).toMatchObject({ code: 'KN2001', applied: 'unknown' })
  })

  it('a caller that gives up gets its own reason back', async () => {
    const { server, client } = await world()
    server.interfere = () => true
    const stop = new AbortController()
    const call = failure(
      (await client()).get(CONFIG_MAPS, { namespace: 'default', name: 'x' }, { signal: stop.signal }),
    )
    const reason = new Error('enough')
    setTimeout(() => stop.abort(reason), 50)
    expect(await call).toBe(reason)
  })
})

describe('the server refuses', () => {
  it('F11 a 429 is waited for and tried again, also for a write', async () => {
    const { fake, client } = await world()
    fake.faults = onNthCall({ verbs: ['create'] }, 1, {
      kind: 'refuse',
      when: 'before',
      code: 429,
      retryAfterSeconds: 1,
    })
    await (await client()).create(CONFIG_MAPS, config('one'))
    expect(fake.callsOf('test').writes).toBe(2)
  })

  it.each([500, 503, 504])('F11 a %i with the write applied is not sent twice', async (code) => {
    const { fake, client } = await world()
    fake.faults = onNthCall({ verbs: ['create'] }, 1, { kind: 'refuse', when: 'after', code })
    const kube = await client()
    expect((await outcomeOf(() => kube.create(CONFIG_MAPS, config('one')))).kind).toBe('Unknown')
    expect([fake.callsOf('test').writes, fake.all(CONFIG_MAPS).length]).toEqual([1, 1])
  })

  it('an eviction that a budget forbids is answered at once', async () => {
    const { fake, client } = await world()
    const labels = { app: 'db' }
    const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }], phase: 'Running' } }
    fake.plant(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'default', labels }, spec: {} })
    fake.poke(PODS, { namespace: 'default', name: 'p' }, ready, 'status')
    const budgets = coreKind('PodDisruptionBudget')
    fake.plant(budgets, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b', namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    })
    const kube = await client()
    const refused = await outcomeOf(() => kube.evict({ namespace: 'default', name: 'p' }))
    expect(refused.kind).toBe('Denied')
    expect(fake.callsOf('test').writes).toBe(1)
    fake.poke(budgets, { namespace: 'default', name: 'b' }, { spec: { minAvailable: 0 } })
    expect((await outcomeOf(() => kube.evict({ namespace: 'default', name: 'p' }))).kind).toBe('Applied')
    expect(fake.all(PODS)).toEqual([])
  })

  it('a login page is no API server', async () => {
    const { server, client } = await world()
    server.interfere = (_seen, res) => {
      res.writeHead(200, { 'content-type': 'text/html' })
      res.end('<html>log in</html>')
      return true
    }
    expect(await failure((await client()).list(NODES))).toMatchObject({ code: 'KN1314' })
  })

  it('a server that suddenly speaks another protocol is an error at once, without a wait', async () => {
    const { server, client } = await world()
    server.interfere = (seen, res) => {
      res.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
      return seen !== undefined
    }
    const kube = await client()
    expect(await failure(kube.get(NODES, { name: 'n' }))).toMatchObject({ code: 'KN2001' })
    expect(await failure(kube.create(CONFIG_MAPS, config('one')))).toMatchObject({ code: 'KN2001', applied: 'unknown' })
  })

  it('errors carry the request id that the server logs', async () => {
    const { server, client } = await world()
    const error = await failure(
      (await client()).update(CONFIG_MAPS, {
        ...config('none'),
        metadata: { name: 'none', namespace: 'default', resourceVersion: '1' },
      }),
    )
    expect(error).toBeInstanceOf(ApiError)
    expect((error as ApiError).requestId).toBe(server.requests[0]?.headers['audit-id'])
  })
})

describe('F13 credentials change under us', () => {
  it('F13 a token that expired is read again and the call goes through', async () => {
    const { server, client } = await world()
    const file = join(await tempDir(), 'token')
    await writeFile(file, 'first\n')
    server.tokens.set('first', 'alice')
    const kube = await client({ token: { file } })
    await kube.create(CONFIG_MAPS, config('one'))
    server.tokens.delete('first')
    server.tokens.set('second', 'alice')
    expect(isUnauthorized(await failure(kube.create(CONFIG_MAPS, config('two'))))).toBe(true)
    await writeFile(`${file}.new`, 'second\n')
    await rename(`${file}.new`, file)
    await kube.create(CONFIG_MAPS, config('two'))
    expect(server.requests.at(-1)?.user).toBe('alice')
  })

  it('F13 a token that expires mid-watch costs a reconnect and no event', async () => {
    const { fake, server, client } = await world()
    const file = join(await tempDir(), 'token')
    await writeFile(file, 'first')
    server.tokens.set('first', 'alice')
    const { informer } = watchNodes(await client({ token: { file } }))
    await informer.synced()
    server.tokens.delete('first')
    server.tokens.set('second', 'alice')
    await writeFile(file, 'second')
    fake.closeWatches()
    fake.plant(NODES, node('n1'))
    await vi.waitFor(() => expect(names(informer)).toEqual(truth(fake)), 60_000)
  })

  it('F13 RBAC withdrawn mid-run is Forbidden for calls, and the watch waits for it to come back', async () => {
    const { fake, server, client } = await world()
    const kube = await client()
    const { informer, notices } = watchNodes(kube)
    await informer.synced()
    server.allow = () => false
    fake.closeWatches()
    await vi.waitFor(() => expect(notices.some((n) => n.kind === 'Failed' && isForbidden(n.error))).toBe(true), 60_000)
    expect(isForbidden(await failure(kube.get(NODES, { name: 'x' })))).toBe(true)
    fake.plant(NODES, node('n1'))
    server.allow = () => true
    await vi.waitFor(() => expect(names(informer)).toEqual(truth(fake)), 60_000)
  })

  it('F13 a rotated CA is read again, and the write that met it is sent once', async () => {
    const { fake, server, proxy, client } = await world()
    const file = join(await tempDir(), 'ca.crt')
    await writeFile(file, server.authority.cert)
    server.tokens.set('t', 'alice')
    const kube = await client({ ca: { file }, token: { data: 't' } })
    await kube.create(CONFIG_MAPS, config('one'))
    await server.rotate(await newAuthority('next-ca'))
    server.dropConnections()
    await vi.waitFor(() => expect(proxy.connections).toBe(0), 60_000)
    expect(await failure(kube.create(CONFIG_MAPS, config('two')))).toMatchObject({ code: 'KN2004', applied: 'no' })
    await writeFile(file, server.authority.cert)
    await kube.create(CONFIG_MAPS, config('two'))
    expect(fake.all(CONFIG_MAPS).map((o) => o.metadata.name)).toEqual(['one', 'two'])
  })

  it('S17 a server with a certificate of another CA is never talked to', async () => {
    const { server, client } = await world()
    const kube = await client({ ca: { data: (await newAuthority()).cert } })
    expect(await failure(kube.create(CONFIG_MAPS, config('one')))).toMatchObject({ code: 'KN2004', applied: 'no' })
    expect(server.requests).toEqual([])
  })

  it('S17 a server whose certificate has another name gets neither token nor request', async () => {
    const { server, client } = await world()
    server.tokens.set('t', 'alice')
    const kube = await client({ token: { data: 't' }, tlsServerName: 'another.example' })
    expect(await failure(kube.create(CONFIG_MAPS, config('one')))).toMatchObject({ code: 'KN2008', applied: 'no' })
    expect(server.requests).toEqual([])
  })

  it('an expired or changed identity of a plugin is asked for again', async () => {
    const { server, client } = await world()
    let asked = 0
    server.tokens.set('id-2', 'alice')
    const identity = () => Promise.resolve({ token: `id-${++asked}` })
    await (await client({ identity })).create(CONFIG_MAPS, config('one'))
    expect(asked).toBe(2)
  })
})

describe('F14 lanes', () => {
  it('F14 ten thousand queued writes starve neither a lease renewal nor a status nor a read', async () => {
    const { fake, server, client } = await world()
    const kube = await client()
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'leader', namespace: 'default' },
      spec: {},
    }
    fake.plant(LEASES, lease)
    fake.plant(NODES, node('n1'))
    const held: (() => void)[] = []
    server.interfere = async (seen) => {
      if (seen.method === 'POST') await new Promise<void>((resolve) => held.push(resolve))
      return false
    }
    const stop = new AbortController()
    const writes = Array.from({ length: 10_000 }, (_, i) =>
      failure(kube.create(CONFIG_MAPS, config(`c${i}`), { signal: stop.signal })),
    )
    await vi.waitFor(() => expect(held.length).toBeGreaterThan(10), 60_000)
    await kube.patch(
      LEASES,
      { namespace: 'default', name: 'leader' },
      { type: 'merge', value: { spec: { holderIdentity: 'me' } } },
    )
    await kube.patch(
      NODES,
      { name: 'n1' },
      { type: 'merge', value: { status: { phase: 'Running' } } },
      { subresource: 'status' },
    )
    expect(await kube.get(NODES, { name: 'n1' })).toMatchObject({ status: { phase: 'Running' } })
    expect(held.length).toBeLessThan(20)
    stop.abort(new Error('enough'))
    for (const go of held) go()
    await Promise.all(writes)
  })

  it('what is asked one after the other goes over one connection, whatever it is, and so does each watch after the first', async () => {
    const { fake, proxy, client } = await world()
    const kube = await client()
    fake.plant(NODES, node('n1'))
    fake.plant(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'l', namespace: 'default' },
      spec: {},
    })
    const { informer } = watchNodes(kube)
    await informer.synced()
    for (let n = 0; n < 50; n++) {
      await vi.waitFor(() => expect(informer.isWatching).toBe(true), 60_000)
      await kube.patch(LEASES, { namespace: 'default', name: 'l' }, { type: 'merge', value: { spec: { n } } })
      await kube.patch(NODES, { name: 'n1' }, { type: 'merge', value: { status: { n } } }, { subresource: 'status' })
      await kube.raw({ method: 'GET', path: '/version' })
      await kube.get(NODES, { name: 'n1' })
      if (n % 10 === 9) fake.closeWatches()
    }
    expect(proxy.accepted).toBe(2)
  })

  it('who is patient waits a moment for the connection that is in use, and for one that hangs no longer', async () => {
    const { fake, server, proxy, client } = await world()
    const kube = await client({}, { patienceMs: 2_000 })
    fake.plant(NODES, node('n1'))
    await Promise.all(Array.from({ length: 10 }, () => kube.get(NODES, { name: 'n1' })))
    expect(proxy.accepted).toBe(1)
    server.interfere = (seen) => seen.method === 'POST'
    const stop = new AbortController()
    const hangs = failure(kube.create(CONFIG_MAPS, config('one'), { signal: stop.signal }))
    await vi.waitFor(() => expect(server.requests.some((r) => r.method === 'POST')).toBe(true), 240_000)
    await kube.get(NODES, { name: 'n1' })
    await kube.get(NODES, { name: 'n1' })
    expect(proxy.accepted).toBe(2)
    const waits = failure(
      Promise.all([1, 2].map(() => kube.create(CONFIG_MAPS, config('two'), { signal: stop.signal }))),
    )
    stop.abort(new Error('enough'))
    expect([await hangs, await waits]).toEqual([stop.signal.reason, stop.signal.reason])
    expect(await kube.get(NODES, { name: 'n1' })).toBeDefined()
  })

  it('a client at rest keeps one of the connections of its burst', async () => {
    const { client, proxy } = await world()
    const kube = await client()
    await Promise.all(Array.from({ length: 6 }, () => kube.list(NODES)))
    expect(proxy.connections).toBeGreaterThan(1)
    kube.rest()
    await vi.waitFor(() => expect(proxy.connections).toBe(1), 60_000)
    const { accepted } = proxy
    await kube.list(NODES)
    expect(proxy.accepted).toBe(accepted)
  })

  it('an answer that is there before we know that the request is written leaves its connection to the next one', async () => {
    const authority = await newAuthority()
    const answers = new Int32Array(new SharedArrayBuffer(4))
    const server = new Worker(QUICK_SERVER, { eval: true, workerData: { pair: await authority.server(), answers } })
    ends.push(async () => void (await server.terminate()))
    const [port] = (await once(server, 'message')) as [number]
    const kube = new HttpKubeClient({ server: `https://127.0.0.1:${port}`, ca: { data: authority.cert } })
    ends.push(() => kube.close())
    const renew = () => kube.patch(NODES, { name: 'n' }, { type: 'merge', value: {} })
    await renew()
    // After a timer the loop reads answers before it reports completed writes.
    await systemClock.sleep(1)
    const renewed = renew()
    // The request proceeds without any outside event; then its answer arrives.
    for (let turns = 0; turns < 20; turns++) await new Promise<void>((resolve) => process.nextTick(resolve))
    Atomics.wait(answers, 0, 1, 5_000)
    await renewed
    expect((await renew())['connections']).toBe(1)
  })
})

describe('a kubeconfig of a person', () => {
  const text = async (server: KubeServer, file: string): Promise<string> => {
    await writeFile(`${file}.token`, 'tok')
    server.tokens.set('tok', 'alice')
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      clusters: [
        {
          name: 'c',
          cluster: {
            server: server.url,
            'certificate-authority-data': Buffer.from(server.authority.cert).toString('base64'),
          },
        },
        { name: 'loose', cluster: { server: server.url, 'insecure-skip-tls-verify': true } },
      ],
      users: [
        { name: 'file', user: { tokenFile: `${file}.token` } },
        {
          name: 'plugin',
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1',
              command: process.execPath,
              args: [
                '-e',
                `console.log(JSON.stringify({apiVersion:'client.authentication.k8s.io/v1',kind:'ExecCredential',status:{token:'tok'}}))`,
              ],
              interactiveMode: 'Never',
            },
          },
        },
        { name: 'password', user: { username: 'a', password: 'b' } },
      ],
      contexts: [
        { name: 'here', context: { cluster: 'c', user: 'file', namespace: 'ns' } },
        { name: 'exec', context: { cluster: 'c', user: 'plugin' } },
        { name: 'loose', context: { cluster: 'loose', user: 'file' } },
        { name: 'old', context: { cluster: 'c', user: 'password' } },
      ],
    })
  }

  it('with a token file, with a credential plugin and without TLS checks reaches the server, the last one loudly', async () => {
    const { server } = await world()
    const file = join(await tempDir(), 'config')
    await writeFile(file, await text(server, file))
    for (const context of ['here', 'exec', 'loose']) {
      const loaded = await loadKubeconfig({ files: [file], context })
      const kube = new HttpKubeClient(loaded.config)
      await kube.list(NODES)
      kube.close()
      expect(server.requests.at(-1)?.user).toBe('alice')
      expect(loaded.warnings.length).toBe(context === 'loose' ? 1 : 0)
    }
    expect((await loadKubeconfig({ files: [file] })).config.namespace).toBe('ns')
  })

  it('is refused with a number when it cannot be used', async () => {
    const { server } = await world()
    const file = join(await tempDir(), 'config')
    await writeFile(file, await text(server, file))
    await expect(loadKubeconfig({ files: [file], context: 'none' })).rejects.toThrow(
      /KN2015.*use one of: here, exec, loose, old/,
    )
    await expect(loadKubeconfig({ files: [file], context: 'old' })).rejects.toThrow('KN2019')
    await expect(loadKubeconfig({ files: [`${file}.missing`] })).rejects.toThrow('KN1301')
    await writeFile(file, 'clusters: [')
    await expect(loadKubeconfig({ files: [file] })).rejects.toThrow('KN1301')
  })
})
