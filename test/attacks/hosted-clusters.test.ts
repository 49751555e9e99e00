// A tenant's administrator owns a cluster whose programs the hub runs, down to its API server. The programs of another Cluster are in the same process at first.
// Whatever that server answers, they continue: an answer that breaks the process breaks it once.
import { MIB } from '#lib/bytes.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { ANNOTATIONS, hostedNamespace, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { leaseType } from '#runtime/lease.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import { hostedWorld, type HostedWorld, logOf, rawLogOf, type Replica } from '#test/support/worlds/hosted-world.ts'

const ESCAPES = '\u001b[2J\u001b]0;pwned\u0007'
const GIANT_BYTES = 320 * MIB
const CHUNK = Buffer.alloc(MIB, 'x')
const PAGE = 200

type Mode = 'Hangs' | 'Redirects' | 'Escapes' | 'Drips' | 'Giant' | 'Endless'

let world: HostedWorld
let good: HttpKubeClient
let replica: Replica
let evil: Server
let trap: Server
let mode: Mode = 'Hangs'
/** Requests in this mode. */
let asked = 0
/** Lists that the program began to read. */
let lists = 0
let trapped = 0
let writes = 1
const METADATA = { name: 'kubenode-approver', namespace: SYSTEM_NAMESPACE, uid: 'u' }
let lease: Record<string, unknown> = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: {} }
const open = new Set<ServerResponse>()

const json = (answer: ServerResponse, body: unknown, code = 200): void =>
  void answer.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** In modes Giant and Endless it gives the Lease to its client and permits everything, so that the program begins to read. */
async function serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
  asked++
  const { method = 'GET', url = '/' } = request
  answer.on('error', () => undefined)
  if (mode === 'Hangs') return void open.add(answer)
  if (mode === 'Redirects')
    return void answer
      .writeHead(302, { location: `https://127.0.0.1:${(trap.address() as AddressInfo).port}/api/v1/secrets` })
      .end()
  if (mode === 'Escapes')
    return json(answer, { kind: 'Status', status: 'Failure', reason: ESCAPES, message: ESCAPES }, 500)
  if (mode === 'Drips') {
    answer.writeHead(200, { 'content-type': 'application/json' })
    answer.write('{')
    return void open.add(answer)
  }
  const body = method === 'GET' ? undefined : await bodyOf(request)
  if (url.includes('/leases')) {
    if (body !== undefined) [lease, writes] = [body, writes + 1]
    return json(answer, { ...lease, metadata: { ...METADATA, resourceVersion: String(writes) } })
  }
  if (url.includes('accessreviews')) return json(answer, { ...body, status: { allowed: true } }, 201)
  if (body !== undefined) return json(answer, body, 201)
  lists++
  if (mode === 'Giant') return giant(answer)
  const items = Array.from({ length: PAGE }, (_, n) => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: {
      name: `m-${asked}-${n}`,
      uid: `${asked}-${n}`,
      resourceVersion: '1',
      annotations: { [ESCAPES]: 'x'.repeat(8_000) },
    },
    spec: {},
  }))
  json(answer, { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1', continue: `c-${asked}` }, items })
}

function giant(answer: ServerResponse): void {
  answer.writeHead(200, { 'content-type': 'application/json' })
  let sent = 0
  const more = (): void => {
    while (sent < GIANT_BYTES && !answer.destroyed) {
      sent += CHUNK.length
      if (!answer.write(CHUNK)) return void answer.once('drain', more)
    }
    answer.end()
  }
  answer.write('{"items":[{"metadata":{"name":"')
  more()
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>
}

const listening = (server: Server): Promise<void> =>
  new Promise((resolve) => void server.listen(0, '127.0.0.1', resolve))

beforeAll(async () => {
  world = await hostedWorld()
  const authority = await newAuthority()
  const pair = await authority.server()
  evil = createServer(pair, (request, answer) => void serve(request, answer).catch(() => answer.destroy()))
  trap = createServer(pair, (_, answer) => {
    trapped++
    json(answer, {})
  })
  await Promise.all([listening(evil), listening(trap)])
  await world.declare('good')
  await world.untilPhase('good', 'Ready')
  const admin = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
  const text = (await world.host.kubeconfig('kubenode-system.good', admin)) ?? ''
  good = new HttpKubeClient(parseSafeKubeconfig(text, 'test').config)
  const server = `https://127.0.0.1:${(evil.address() as AddressInfo).port}`
  const ca = Buffer.from(authority.cert).toString('base64')
  const kubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "${server}", certificate-authority-data: ${ca}}}]
users: [{name: u, user: {token: secret-of-the-approver}}]
`
  await world.admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'cluster-evil',
      namespace: hostedNamespace('approver'),
      annotations: { [ANNOTATIONS.cluster]: 'kubenode-system/evil' },
    },
    data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
  })
  await world.admin.apply(
    clusterKind,
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'evil', namespace: SYSTEM_NAMESPACE },
      spec: { kubeconfigSecretRef: { name: 'cluster-evil' }, programs: 'Hub' },
    },
    { fieldManager: 'git', force: true },
  )
  replica = await world.replica('approver', '--hosted-heap', '96')
})
afterAll(async () => {
  for (const answer of open) answer.destroy()
  evil.closeAllConnections()
  evil.close()
  trap.close()
  good.close()
  await world.close()
})

const leaseOfGood = async () =>
  (await good.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: 'kubenode-approver' }))?.spec
const attack = (next: Mode): void => {
  mode = next
  asked = 0
  lists = 0
  for (const answer of open) answer.destroy()
  open.clear()
}

/** The lease was renewed after the attack had begun, and once more. */
async function leadsOn(): Promise<void> {
  for (const _ of [1, 2]) {
    const before = (await leaseOfGood())?.renewTime
    await world.until('the other Cluster has a leader that renews its Lease', async () => {
      const now = await leaseOfGood()
      return Boolean(now?.holderIdentity) && now?.renewTime !== before
    })
  }
}

test.each<[Mode, string]>([
  ['Hangs', 'never answers'],
  ['Redirects', 'sends its clients elsewhere'],
  ['Escapes', 'answers with sequences for terminals'],
  ['Drips', 'begins answers and never ends them'],
])('a server that %s: it %s, and the programs of the other Cluster keep their term', async (next) => {
  attack(next)
  await world.until('both are in one process', async () => {
    const clusters = new Set(logOf(replica).map((l) => l.cluster))
    return asked >= 2 && clusters.has('good')
  })
  await leadsOn()
  const { holderIdentity, leaseTransitions } = (await leaseOfGood()) ?? {}
  await world.until('it was asked again', async () => asked >= 4)
  await leadsOn()
  const after = await leaseOfGood()
  expect([after?.holderIdentity, after?.leaseTransitions]).toEqual([holderIdentity, leaseTransitions])
  expect(trapped).toBe(0)
})

/** The clusters of each hosted process that ended. */
const ends = () =>
  logOf(replica).flatMap((l) =>
    l.message.startsWith('a process of hosted programs ended') ? [[...(l.clusters ?? [])].toSorted()] : [],
  )

test('an answer of 320 MiB is refused, and the programs of the other Cluster keep their term', async () => {
  const { holderIdentity } = (await leaseOfGood()) ?? {}
  attack('Giant')
  await world.until('it was asked again and again', async () => lists >= 10)
  await leadsOn()
  expect((await leaseOfGood())?.holderIdentity).toBe(holderIdentity)
  expect(ends()).toEqual([])
})

test('lists without an end break the process of the other Cluster once: from then on each has its own', async () => {
  const { leaseTransitions = 0 } = (await leaseOfGood()) ?? {}
  attack('Endless')
  const [evilId, goodId] = ['kubenode-system/evil', 'kubenode-system/good']
  await world.until('the process of both ended, then that of the hostile one', async () => ends().length >= 2)
  expect(ends().slice(0, 2)).toEqual([[evilId, goodId], [evilId]])
  await leadsOn()
  expect(((await leaseOfGood())?.leaseTransitions ?? 0) - leaseTransitions).toBeLessThanOrEqual(1)
  const { holderIdentity } = (await leaseOfGood()) ?? {}
  await world.until('that of the hostile one ended again', async () => ends().length >= 3)
  await leadsOn()
  expect((await leaseOfGood())?.holderIdentity).toBe(holderIdentity)
})

test('what it answers reaches no terminal and no other credential', () => {
  const lines = logOf(replica)
  expect(lines.length).toBeGreaterThan(0)
  const text = JSON.stringify(lines)
  expect(text).not.toContain('secret-of-the-approver')
  // As it is in the file: a parser of JSON would undo the escapes.
  for (const character of ESCAPES.match(/[^ -~]/g) ?? []) expect(rawLogOf(replica)).not.toContain(character)
})
