// The embedded API server as a process that dies: nothing acknowledged is lost, versions never go back, watchers find their way (F22).
import { cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { HttpKubeClient } from '#kube/http/client.ts'
import { createInformer } from '#kube/informer.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom, type Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { inFull, onlyInFull } from '#test/support/tools/full.ts'
import { Requests, type WatchLine } from '#test/support/servers/api-requests.ts'
import { startApiServer, startedApiServer, type ServerProcess } from '#test/support/servers/apiserver-process.ts'
import { CONFIG_MAPS } from '#test/support/servers/kube-contract.ts'
import { testSeed } from '#test/support/tools/seed.ts'

const PATH = '/api/v1/namespaces/default/configmaps'
const WRITERS = 8
const NAMES_A_WRITER = 5
const ROUNDS = inFull(5, 2)

let folder = ''
let data = ''
const running = new Set<ServerProcess>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-kill-'))
  data = join(folder, 'data')
})
afterEach(async () => {
  for (const server of running) await server.end('SIGKILL')
  running.clear()
  rmSync(folder, { recursive: true, force: true })
})

async function start(port = 0): Promise<ServerProcess> {
  const server = await startedApiServer(data, port)
  running.add(server)
  return server
}
async function end(server: ServerProcess, signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT') {
  running.delete(server)
  return server.end(signal)
}

/** What a writer knows of one name: the last acknowledged write, and the one that may or may not have happened. */
interface Known {
  readonly acknowledged: number | 'absent'
  readonly attempted: number | 'absent' | undefined
}

const NEVER: Known = { acknowledged: 'absent', attempted: undefined }
/** Every part of an object follows from its number: half an object would show. */
const content = (n: number) => ({ n: String(n), fill: `${n},`.repeat(300) })
const configMap = (name: string, n: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { n: String(n) } },
  data: content(n),
})

class Writer {
  readonly known = new Map<string, Known>()
  highest = 0
  acknowledgements = 0
  readonly #prefix: string
  readonly #random: Random
  #counter = 0

  constructor(prefix: string, random: Random) {
    this.#prefix = prefix
    this.#random = random
  }

  async write(requests: Requests, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const name = `${this.#prefix}-${Math.floor(this.#random.next() * NAMES_A_WRITER)}`
      const { acknowledged } = this.known.get(name) ?? NEVER
      const goes = acknowledged !== 'absent' && this.#random.next() < 0.2
      const n = goes ? ('absent' as const) : ++this.#counter
      this.known.set(name, { acknowledged, attempted: n })
      try {
        const { code, body } =
          n === 'absent'
            ? await requests.delete(`${PATH}/${name}`)
            : acknowledged === 'absent'
              ? await requests.post(PATH, configMap(name, n))
              : await requests.put(`${PATH}/${name}`, configMap(name, n))
        if (code >= 300) throw new Error(`${name} was answered ${code}: ${body.message ?? ''}`)
        this.highest = Math.max(this.highest, Number(body.metadata.resourceVersion ?? 0))
        this.acknowledgements++
        this.known.set(name, { acknowledged: n, attempted: undefined })
      } catch (e) {
        // the connection broke: the write may have happened or not
        if (isOver()) return
        throw e
      }
    }
  }

  /** After a restart the truth of each name is what is read, so that the next round begins with no doubt. */
  settle(found: ReadonlyMap<string, number>): void {
    for (const name of this.known.keys())
      this.known.set(name, { acknowledged: found.get(name) ?? 'absent', attempted: undefined })
  }
}

/** The acknowledgements of each writer since it had those of `before`. */
const sinceStart = (writers: readonly Writer[], before: readonly number[]): readonly number[] =>
  writers.map((w, i) => w.acknowledgements - (before[i] ?? 0))

const numberOf = (o: KubeObject): number => Number((o['data'] as { readonly n: string }).n)

function lost(writers: readonly Writer[], found: ReadonlyMap<string, number>): readonly string[] {
  return writers.flatMap((w) =>
    [...w.known].flatMap(([name, { acknowledged, attempted }]) => {
      const is = found.get(name) ?? 'absent'
      return is === acknowledged || is === attempted ? [] : [`${name} is ${is}, acknowledged was ${acknowledged}`]
    }),
  )
}

const seed = testSeed

describe('killed while many write', () => {
  test(`no acknowledged write is lost and no version goes back, ${ROUNDS} times (seed ${seed})`, async () => {
    const random = seededRandom(seed)
    const writers = Array.from({ length: WRITERS }, (_, i) => new Writer(`w${i}`, seededRandom(seed + i + 1)))
    let server = await start()
    const { port } = server
    const client = new HttpKubeClient({
      server: server.url,
      ca: { data: server.ca },
      clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    })
    const stop = new AbortController()
    const informer = createInformer({ client, type: CONFIG_MAPS, clock: systemClock, random: seededRandom(seed) })
    void informer.run(stop.signal)
    await informer.synced()
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const requests = new Requests(server)
        let over = false
        const before = writers.map((w) => w.acknowledgements)
        const writing = writers.map((w) => w.write(requests, () => over))
        // on a loaded machine the first answers take a while; a kill before them would show nothing
        await vi.waitFor(() => expect(Math.min(...sinceStart(writers, before))).toBeGreaterThan(0), 60_000)
        await sleep(random.next() * 400)
        over = true
        await end(server, 'SIGKILL')
        await Promise.all(writing)
        requests.close()

        server = await start(port)
        const again = new Requests(server)
        const { body } = await again.get(PATH)
        const items = (body.items ?? []).filter((o) => /^w\d-/.test(o.metadata.name ?? ''))
        const found = new Map(items.map((o) => [o.metadata.name ?? '', numberOf(o)]))
        expect(lost(writers, found)).toEqual([])
        expect(items.filter((o) => JSON.stringify(o['data']) !== JSON.stringify(content(numberOf(o))))).toEqual([])
        const highest = Math.max(
          ...writers.map((w) => w.highest),
          ...items.map((o) => Number(o.metadata.resourceVersion)),
        )
        expect(Number(body.metadata.resourceVersion)).toBeGreaterThanOrEqual(highest)
        const next = await again.made(PATH, configMap(`after-${round}`, 1))
        expect(Number(next.metadata.resourceVersion)).toBeGreaterThan(highest)
        for (const w of writers) w.settle(found)
        again.close()
      }
      const requests = new Requests(server)
      const { body } = await requests.get(PATH)
      requests.close()
      const named = (objects: readonly KubeObject[]) =>
        objects
          .filter((o) => o.metadata.namespace === 'default')
          .map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)
          .toSorted()
      await vi.waitFor(() => expect(named(informer.store.list())).toEqual(named(body.items ?? [])), 60_000)
    } finally {
      stop.abort(new Error('test over'))
      client.close()
    }
  })

  test('a watch goes on after the restart from where it was, when nothing was missed', async (context) => {
    onlyInFull(context)
    const first = await start()
    const before = new Requests(first)
    const made = await before.made(PATH, configMap('one', 1))
    before.close()
    await end(first, 'SIGKILL')
    const second = await start()
    const after = new Requests(second)
    const watch = await after.watch(`${PATH}?watch=true&resourceVersion=${made.metadata.resourceVersion}`)
    await after.put(`${PATH}/one`, configMap('one', 2))
    // the server's own writes are among them: it puts its authority into each namespace
    const isOurs = (l: WatchLine) => l.type === 'ERROR' || l.object.metadata?.name === 'one'
    const line = (await watch.until((lines) => lines.some(isOurs))).find(isOurs)
    watch.close()
    after.close()
    // versions before the restart are unknown when later ones were issued: the client gets a 410, not silence
    expect(line?.type === 'MODIFIED' ? numberOf(line.object) : line?.object.code).toBe(
      line?.type === 'MODIFIED' ? 2 : 410,
    )
  })

  test('tokens and certificates stay good over a restart', async () => {
    const first = await start()
    const before = new Requests(first)
    await before.made('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } })
    const { body } = await before.post('/api/v1/namespaces/default/serviceaccounts/robot/token', { spec: {} })
    const token = (body['status'] as { readonly token: string }).token
    before.close()
    await end(first, 'SIGKILL')
    const second = await start()
    const after = new Requests({ ...first, url: second.url })
    expect((await after.get('/api/v1/namespaces')).code).toBe(200)
    const who = await after.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { token })
    expect(who.body['status']).toMatchObject({ userInfo: { username: 'system:serviceaccount:default:robot' } })
    after.close()
  })
})

describe('an end that was asked for', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s ends with code 0 and not a word', async (signal) => {
    const server = await start()
    const requests = new Requests(server)
    await requests.made(PATH, configMap('one', 1))
    const watch = await requests.watch(`${PATH}?watch=true`)
    const { code, err } = await end(server, signal)
    await watch.ended
    requests.close()
    expect({ code, err: err.split('\n').filter((l) => !l.startsWith('serving ')) }).toEqual({ code: 0, err: [''] })
  })

  test('a server that has written nothing ends as cleanly', async (context) => {
    onlyInFull(context)
    await end(await start(), 'SIGTERM')
    const { code, err } = await end(await start(), 'SIGTERM')
    expect({ code, warned: err.includes('Warning') }).toEqual({ code: 0, warned: false })
  })
})

describe('a data folder that cannot be served', () => {
  const refused = async (): Promise<string> => {
    const started = await startApiServer(data)
    if ('server' in started) {
      await started.server.end('SIGKILL')
      return 'it serves'
    }
    return `${started.failed.code} ${started.failed.err}`
  }

  test('a second server on it is refused, and the first goes on; after a kill the folder is free at once', async () => {
    const server = await start()
    expect(await refused()).toMatch(/^2 KN6103: .*another server is running on it/)
    const requests = new Requests(server)
    expect((await requests.get('/readyz')).code).toBe(200)
    requests.close()
    await end(server, 'SIGKILL')
    expect((await start()).port).toBeGreaterThan(0)
  })

  let sound = ''
  beforeAll(async () => {
    sound = mkdtempSync(join(tmpdir(), 'kubenode-sound-'))
    await (await startedApiServer(sound)).end('SIGTERM')
  })
  afterAll(() => rmSync(sound, { recursive: true, force: true }))

  test.each([
    [
      'objects that are no database',
      (d: string) => writeFileSync(join(d, 'objects.db'), 'garbage '.repeat(1_000)),
      /^2 KN6102: /,
    ],
    ['objects cut in half', (d: string) => truncateSync(join(d, 'objects.db'), 4_096 * 3), /^2 KN6102: /],
    ['a key that is missing', (d: string) => rmSync(join(d, 'pki/ca.key')), /^2 KN6104: .*ca.key/],
    [
      'a certificate that is none',
      (d: string) => writeFileSync(join(d, 'pki/server.crt'), 'nothing'),
      /^2 KN6\d{3}: .*server.crt/,
    ],
  ])('%s: refused with a number', async (_, spoil, message) => {
    cpSync(sound, data, { recursive: true })
    spoil(data)
    expect(await refused()).toMatch(message)
  })

  test('a port that is taken is refused with what to do', async () => {
    const server = await start()
    data = join(folder, 'other')
    const started = await startApiServer(data, server.port)
    expect('failed' in started ? started.failed.err : 'it serves').toMatch(/^KN1206: .*choose another port/)
  })
})
