// Thieves of service accounts, with little right or none, who hold what a server has: memory for bodies and answers, watches, connections, places in
// queues. Whatever they hold, and however many they are, leaders renew, nodes report, administrators work, and the next client finds something.
// Time is never measured: the cases count answers, and bytes in memory.
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, test } from 'vitest'
import { createApiServer, type ApiServer, type ApiServerOptions } from '#apiserver/api-server.ts'
import { DEFAULT_LIMITS } from '#apiserver/flow/limits.ts'
import type { Held } from '#apiserver/flow/holdings.ts'
import { KIB, MIB } from '#lib/bytes.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { heldStorage } from '#test/support/servers/held-storage.ts'
import { Requests } from '#test/support/servers/api-requests.ts'

const THIEVES = 20
const NAMESPACE = '/api/v1/namespaces/default'
const MAPS = `${NAMESPACE}/configmaps`
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kubenode-system/leases'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

const closing: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface World {
  readonly server: ApiServer
  readonly admin: Requests
  readonly leader: Requests
  readonly node: Requests
  readonly person: Requests
  readonly thieves: readonly Requests[]
  readonly raw: (thief: number) => Promise<TLSSocket>
}

/** The same bounds, as many times smaller. */
const smaller = (what: Held, times: number) => {
  const { all, each, forNodes } = DEFAULT_LIMITS.held[what]
  const { leaders, nodes, administrators, others } = each
  return {
    all: all / times,
    forNodes,
    each: {
      leaders: leaders / times,
      nodes: nodes / times,
      administrators: administrators / times,
      others: others / times,
    },
  }
}

async function world(options: ApiServerOptions = {}): Promise<World> {
  const server = await createApiServer({ loops: 'none', ...options })
  await server.listen()
  closing.push(() => server.close())
  const of = (commonName: string, organizations: readonly string[]) => {
    const subject = { commonName, organizations }
    const validity = { now: Date.now(), days: 1 }
    const { certificate: cert, key } = issueCertificate(server.credentials.authority, {
      subject,
      validity,
      usage: 'client',
    })
    return { url: server.url, ca: server.ca, cert, key }
  }
  const requests = (...who: Parameters<typeof of>): Requests => {
    const made = new Requests(of(...who))
    closing.push(() => made.close())
    return made
  }
  const thief = (i: number) => of(`system:serviceaccount:tenant-${i}:thief`, ['system:serviceaccounts', 'thieves'])
  const admin = requests('root', ['system:masters'])
  const bound = async (name: string, kind: 'Group' | 'User', subject: string, rules: readonly object[]) => {
    await admin.made(`${RBAC}/clusterroles`, { metadata: { name }, rules })
    await admin.made(`${RBAC}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind, name: subject, apiGroup: 'rbac.authorization.k8s.io' }],
    })
  }
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] }
  const maps = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }
  await bound('leads', 'User', 'kubenode:controllers', [leases, maps])
  await bound('persons', 'User', 'ada', [maps])
  await admin.made('/api/v1/namespaces', { metadata: { name: 'kubenode-system' } })
  for (const name of ['kubenode-controllers', 'kubenode-sync'])
    await admin.made(LEASES, { metadata: { name }, spec: { holderIdentity: 'x' } })
  await admin.made('/api/v1/nodes', { metadata: { name: 'n-1' } })
  return {
    server,
    admin,
    leader: requests('kubenode:controllers', []),
    node: requests('system:node:n-1', ['system:nodes']),
    person: requests('ada', []),
    thieves: Array.from({ length: THIEVES }, (_, i) => {
      const made = new Requests(thief(i))
      closing.push(() => made.close())
      return made
    }),
    raw: async (i) => {
      const { url, ca, cert, key } = thief(i)
      const { hostname, port } = new URL(url)
      const socket = connect({ host: hostname, port: Number(port), ca, cert, key })
      socket.on('error', () => undefined)
      closing.push(() => void socket.destroy())
      await once(socket, 'secureConnect')
      return socket
    },
  }
}

/** The rights of the thieves, where the case gives them some. */
async function mayWriteMaps({ admin }: World): Promise<void> {
  await admin.made(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'thieves' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'persons' },
    subjects: [{ kind: 'Group', name: 'thieves', apiGroup: 'rbac.authorization.k8s.io' }],
  })
}

const head = (path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`

let round = 0
/** What each of the honest gets for one write or report. */
async function honest({ admin, leader, node, person }: World): Promise<Readonly<Record<string, number>>> {
  const map = { metadata: { generateName: 'honest-' }, data: { fill: 'x'.repeat(4 * KIB) } }
  const renewTime = new Date(++round * 1_000).toISOString().replace('Z', '000Z')
  const status = { conditions: [{ type: 'Ready', status: 'True', message: `round ${round}` }] }
  const answers = {
    leader: leader.patch('merge', `${LEASES}/kubenode-controllers`, { spec: { renewTime } }),
    heartbeat: node.patch('merge', '/api/v1/nodes/n-1/status', { status }),
    administrator: admin.post(MAPS, map),
    person: person.post(MAPS, map),
  }
  const codes = await Promise.all(
    Object.entries(answers).map(async ([who, answer]) => [who, (await answer).code] as const),
  )
  return Object.fromEntries(codes)
}
const SERVED = { leader: 200, heartbeat: 200, administrator: 201, person: 201 }

/** All that came, until it is enough or the connection ends. */
function answerOn(socket: TLSSocket, isEnough: (text: string) => boolean): Promise<string> {
  let text = ''
  socket.setEncoding('latin1')
  return new Promise((resolve) => {
    socket.on('data', (part: string) => {
      text += part
      if (isEnough(text)) resolve(text)
    })
    socket.once('close', () => resolve(text))
  })
}

describe('S24 bodies of service accounts', () => {
  test('without a right cost what has arrived, not what they declare', async () => {
    const w = await world()
    // ever smaller, so that nothing would be left
    for (const length of [3 * MIB - 1, 64 * KIB, 2 * KIB, 64, 2])
      for (let i = 0; i < 50; i++) (await w.raw(i % THIEVES)).write(`${head(REVIEWS, length)}{`)
    for (let i = 0; i < 5; i++) expect(await honest(w)).toEqual(SERVED)
  })

  test('declared larger than a review can be are refused before they are read', async () => {
    const w = await world()
    const socket = await w.raw(0)
    const answer = answerOn(socket, (t) => t.includes('limit is'))
    socket.write(head(REVIEWS, 65 * KIB))
    expect(await answer).toMatch(/^HTTP\/1.1 413 [^]*limit is 65536/)
    const small = { spec: { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } } }
    expect((await w.thieves[0]?.post(REVIEWS, small))?.code).toBe(201)
  })

  test.each([
    ['in large parts', 256 * KIB],
    ['byte by byte', 1],
  ])('with a right, that arrive %s and never end, leave room for all others', async (_, part) => {
    const w = await world({
      limits: { held: { ...DEFAULT_LIMITS.held, bodyBytes: smaller('bodyBytes', 16) }, bodyWindowMs: 600_000 },
    })
    await mayWriteMaps(w)
    const sent = part === 1 ? 100 : MIB
    for (let thief = 0; thief < THIEVES; thief++)
      for (let i = 0; i < 8; i++) {
        const socket = await w.raw(thief)
        socket.write(head(MAPS, 3 * MIB - 1))
        for (let n = 0; n < sent; n += part) socket.write(Buffer.alloc(part, ' '))
      }
    for (let i = 0; i < 5; i++) expect(await honest(w)).toEqual(SERVED)
  })

  test('that stop on the way are given up, with the connection', async () => {
    const w = await world({ limits: { bodyWindowMs: 100 } })
    await mayWriteMaps(w)
    const socket = await w.raw(0)
    const answer = answerOn(socket, () => false)
    socket.write(`${head(MAPS, MIB)}{`)
    expect(await answer).toMatch(/^HTTP\/1.1 408 /)
  })
})

describe('S24 what service accounts hold open', () => {
  test('watches leave room for those of all others', async () => {
    const w = await world({ limits: { held: { ...DEFAULT_LIMITS.held, watches: smaller('watches', 200) } } })
    await mayWriteMaps(w)
    const opened = async (who: Requests): Promise<boolean> => {
      const watch = await who.watch(`${MAPS}?watch=1`).catch(() => undefined)
      if (watch !== undefined) closing.push(() => watch.close())
      return watch !== undefined
    }
    let held = 0
    for (const thief of w.thieves) while (await opened(thief)) held++
    expect(held).toBeGreaterThan(20)
    expect(await Promise.all([w.admin, w.leader, w.person].map(opened))).toEqual([true, true, true])
  })

  test('idle connections of one are bounded, and twenty leave room for all others', async () => {
    const w = await world({ limits: { held: { ...DEFAULT_LIMITS.held, connections: smaller('connections', 160) } } })
    const get = 'GET /version HTTP/1.1\r\nhost: x\r\n\r\n'
    const servedOf = async (thief: number): Promise<number> => {
      const all = Array.from({ length: 8 }, async () => {
        const socket = await w.raw(thief)
        socket.write(get)
        return answerOn(socket, (t) => t.includes('\r\n\r\n'))
      })
      return (await Promise.all(all)).filter((t) => t.startsWith('HTTP/1.1 200')).length
    }
    const served = await Promise.all(Array.from({ length: THIEVES }, (_, thief) => servedOf(thief)))
    expect(Math.max(...served)).toBeLessThan(8)
    expect(served.reduce((n, s) => n + s, 0)).toBeGreaterThan(20)
    expect(await honest(w)).toEqual(SERVED)
  })

  test('places in the queue are bounded, and twenty leave room for all others', async () => {
    const disk = heldStorage()
    const w = await world({
      storage: disk.storage,
      limits: { held: { ...DEFAULT_LIMITS.held, waiting: smaller('waiting', 32) }, seats: 1, seatsPerFlow: 1 },
    })
    const review = JSON.stringify({
      spec: { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
    })
    disk.hold()
    // it has the only seat until the disk answers
    const first = w.person.post(MAPS, { metadata: { name: 'first' } })
    const EACH = 60
    const answers = w.thieves.map(async (_, thief) => {
      const socket = await w.raw(thief)
      const answer = answerOn(socket, (t) => (t.match(/HTTP\/1.1 /g) ?? []).length >= EACH)
      socket.write(`${head(REVIEWS, review.length)}${review}`.repeat(EACH))
      return answer
    })
    for (let i = 0; i < 20; i++) expect((await w.admin.get('/readyz')).code).toBe(200)
    const served = honest(w)
    for (let i = 0; i < 20; i++) expect((await w.admin.get('/readyz')).code).toBe(200)
    disk.release()
    expect([await served, (await first).code]).toEqual([SERVED, 201])
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 201 [^]*HTTP\/1.1 429 /)
  })
})

describe('S24 answers that nobody reads', () => {
  const LARGE = 900 * KIB
  const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

  async function largeMaps({ admin }: World, count: number): Promise<void> {
    for (let i = 0; i < count; i++)
      await admin.made(MAPS, { metadata: { name: `large-${i}` }, data: { fill: 'x'.repeat(LARGE) } })
  }

  /** Only the head of the answer is read. */
  async function unread({ raw }: World, thief: number, path: string, accept = 'application/json'): Promise<string> {
    const socket = await raw(thief)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\naccept: ${accept}\r\n\r\n`)
    const [part] = (await once(socket, 'data')) as [Buffer]
    socket.pause()
    return part.toString('latin1', 0, 12)
  }

  /** Without garbage, of which a loaded machine has more. */
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const held = (): number => {
    collect()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return arrayBuffers + heapUsed
  }

  test.each([
    ['tables with their objects', `${MAPS}?includeObject=Object`, TABLE],
    ['lists', MAPS, 'application/json'],
  ])('%s share their bytes', async (_, path, accept) => {
    const w = await world()
    await mayWriteMaps(w)
    await largeMaps(w, 45)
    const before = held()
    for (let i = 0; i < 11; i++) expect(await unread(w, i % 2, path, accept)).toBe('HTTP/1.1 200')
    // eleven times 40 MB, if each had its own
    expect((held() - before) / MIB).toBeLessThan(100)
  })

  test('a table read at last is whole, and what it says of each object is what a get says', async () => {
    const w = await world()
    await mayWriteMaps(w)
    await largeMaps(w, 3)
    const { body } = (await w.thieves[0]?.get(`${MAPS}?includeObject=Object`, { headers: { accept: TABLE } })) ?? {}
    const { rows } = body as unknown as { rows: readonly { cells: readonly unknown[]; object: object }[] }
    const objects = await Promise.all([0, 1, 2].map(async (i) => (await w.admin.get(`${MAPS}/large-${i}`)).body))
    expect(rows.map((r) => r.object)).toEqual(objects)
    expect(rows.map((r) => r.cells.slice(0, 2))).toEqual([0, 1, 2].map((i) => [`large-${i}`, 1]))
  })

  test('of one are bounded: it gets no more until it reads, and all others are served', async () => {
    const w = await world({ limits: { held: { ...DEFAULT_LIMITS.held, unreadBytes: smaller('unreadBytes', 16) } } })
    await mayWriteMaps(w)
    await largeMaps(w, 12)
    const statuses: string[] = []
    for (let i = 0; i < 24; i++) statuses.push(await unread(w, 0, MAPS))
    expect(statuses).toContain('HTTP/1.1 200')
    expect(statuses.at(-1)).toBe('HTTP/1.1 429')
    expect((await w.thieves[0]?.get(`${MAPS}/large-0`))?.code).toBe(429)
    expect((await w.thieves[1]?.get(`${MAPS}/large-0`))?.code).toBe(200)
    expect(await honest(w)).toEqual(SERVED)
  })
})
