// An administrator, or an attacker with that access for a minute, deletes what guards the cluster: all admission policies, the list of revoked agents, the Secrets of metrics. They
// come back within seconds, with the rights that the programs have, and what they guarded is refused again.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defenderLedger, LEDGER_NAME } from '#api/kinds/defender-ledger.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { InstalledShells, shellsOf } from '#programs/run/installed-shells.ts'
import { ROLE_NAMES } from '#programs/all.ts'
import { PolicyKeeper } from '#defender/policy-keeper.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import { policiesIn, POLICY_TYPES } from '#kube/admission-policies.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { ApiError } from '#kube/errors.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { createInformers } from '#runtime/informers.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'

let server: RunningServer
let admin: KubeClient
const clients: HttpKubeClient[] = []

function asUser(user?: string): HttpKubeClient {
  const client = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    ...(user !== undefined && { impersonate: { user, groups: ['system:authenticated'] } }),
  })
  clients.push(client)
  return client
}

beforeAll(async () => {
  server = await startEmbedded()
  admin = asUser()
  await installAll(admin)
})
afterAll(async () => {
  for (const client of clients) client.close()
  await server.stop()
})

async function codeOf(act: Promise<unknown>): Promise<number> {
  try {
    await act
    return 200
  } catch (e) {
    if (e instanceof ApiError) return e.status
    throw e
  }
}

const CONFIG_MAP = coreKind('ConfigMap')
const SECRET = coreKind('Secret')

test('S25 all admission policies are deleted, to delete the ledger next: they are back within seconds, and it is refused', async () => {
  const defender = asUser('kubenode:defender')
  const named = { name: LEDGER_NAME }
  const ledger = { apiVersion: 'kubenode.io/v1alpha1', kind: 'DefenderLedger', metadata: named, spec: { sequence: 1 } }
  await defender.create(defenderLedger, ledger as never)
  const informers = createInformers({
    client: defender,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  })
  informers.start()
  const shipped = policiesIn(releaseManifests().rest)
  const events = createEventRecorder({
    client: defender,
    clock: systemClock,
    controller: 'kubenode.io/defender',
    instance: 'test',
  })
  const keeper = new PolicyKeeper({
    client: defender,
    informers,
    clock: systemClock,
    log: silentLogger,
    events,
    shipped,
  })
  const all = async (): Promise<number> => {
    const lists = await Promise.all(POLICY_TYPES.map((type) => admin.list(type)))
    return lists.flatMap((l) => l.items).length
  }
  keeper.start()
  try {
    for (const { kind, metadata } of shipped) {
      const type = POLICY_TYPES.find((t) => t.kind === kind)
      if (type !== undefined) await codeOf(admin.delete(type, { name: metadata.name ?? '' }))
    }
    await eventually(all, (n) => n === shipped.length)
    await eventually(
      () => codeOf(admin.delete(defenderLedger, named)),
      (code) => code === 403,
    )
    expect(await admin.get(defenderLedger, named)).toBeDefined()
  } finally {
    await keeper.stop()
    await informers.stop()
  }
})

test('S26 the list of revoked agents and the Secrets of metrics are deleted: empty ones are back within seconds', async () => {
  const shells = shellsOf(ROLE_NAMES)
  const shipped = releaseManifests().rest.filter(
    ({ kind, metadata, ...o }) =>
      (kind === 'Secret' || kind === 'ConfigMap') && metadata.namespace === SYSTEM_NAMESPACE && o['data'] === undefined,
  )
  const named = (o: KubeObject): string => `${o.kind} ${o.metadata.name} ${String(o['type'])}`
  expect(shells.map(named).toSorted()).toEqual(shipped.map(named).toSorted())
  const part = new InstalledShells({
    client: asUser('kubenode:controllers'),
    clock: systemClock,
    log: silentLogger,
    shells,
  })
  const left = async (): Promise<number> => {
    const found = await Promise.all(
      shells.map(({ kind, metadata: { name = '' } }) =>
        admin.get(kind === 'Secret' ? SECRET : CONFIG_MAP, { namespace: SYSTEM_NAMESPACE, name }),
      ),
    )
    return found.filter((o) => o !== undefined).length
  }
  await part.check()
  expect(await left()).toBe(shells.length)
  for (const {
    kind,
    metadata: { name = '' },
  } of shells)
    await admin.delete(kind === 'Secret' ? SECRET : CONFIG_MAP, { namespace: SYSTEM_NAMESPACE, name })
  expect(await left()).toBe(0)
  // Secrets of metrics are read in every twelfth check.
  await eventually(
    async () => {
      await part.check()
      return left()
    },
    (n) => n === shells.length,
  )
})

test('S26 a cluster without an installation gets none of its objects', async () => {
  const bare = await startEmbedded()
  const client = new HttpKubeClient({
    server: bare.url,
    ca: { data: bare.ca },
    clientCertificate: { cert: { data: bare.cert }, key: { data: bare.key } },
  })
  try {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } }
    await client.create(coreKind('Namespace'), namespace)
    const shells = shellsOf(ROLE_NAMES)
    await new InstalledShells({ client, clock: systemClock, log: silentLogger, shells }).check()
    expect((await client.list(SECRET, { namespace: SYSTEM_NAMESPACE })).items).toEqual([])
  } finally {
    client.close()
    await bare.stop()
  }
})
