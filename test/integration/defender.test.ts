// The defender role against an API server over HTTPS, with the rights that it is shipped with: it decides, it explains, a freeze stops it, a restart resumes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type DefenderLedger, defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machine } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { run } from '#cli/program.ts'
import { defenderModule } from '#defender/role.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { permitAnswer, reportResults, requestPermit } from '#permits/permits.ts'
import { type Informers, createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { condition } from '#test/support/fleets/defender-objects.ts'

let server: RunningServer
let admin: KubeClient
let requester: KubeClient
let running: { readonly parts: readonly Part[]; readonly informers: Informers } | undefined
const uids = new Map<string, string>()

const connection = () => ({
  server: server.url,
  ca: { data: server.ca },
  clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
})
const as = (user: string): KubeClient =>
  new HttpKubeClient({ ...connection(), impersonate: { user, groups: ['system:authenticated'] } })

async function startDefender(): Promise<void> {
  const client = as('kubenode:defender')
  const informers = createInformers({
    client,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    startSpreadMs: 0,
  })
  const { parts = [] } = await defenderModule({ identity: 'test', cluster: 'test' }).setup({
    client,
    informers,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    metrics: createMetrics(),
  })
  informers.start()
  await informers.synced()
  for (const part of parts) await part.start(new AbortController().signal)
  running = { parts, informers }
}

async function stopDefender(): Promise<void> {
  for (const part of running?.parts ?? []) await part.stop(1_000)
  await running?.informers.stop()
  running = undefined
}

const objectOf = (type: ResourceType, name: string, spec: object) =>
  ({ apiVersion: API_GROUP_VERSION, kind: type.kind, metadata: { name }, spec }) as KubeObject

async function ask(name: string, ...targets: readonly string[]): Promise<void> {
  const outcome = await requestPermit({ client: requester, fieldManager: 'kubenode-remedyjob' }, name, {
    operations: ['Reboot'],
    targets: targets.map((t) => ({ kind: 'Machine', name: t, uid: uids.get(t) ?? '' })),
    requester: { manager: 'kubenode-remedyjob' },
    reason: 'a test',
    recovery: false,
    leaseSeconds: 120,
  })
  expect(outcome.kind).toBe('Applied')
}

const read = async (name: string): Promise<OperationPermit> => {
  const found = await requester.get(operationPermit, { name })
  if (found === undefined) throw new Error(`no permit ${name}`)
  return found
}

async function until<T>(look: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  const end = Date.now() + 8_000
  for (;;) {
    const value = await look()
    if (isSo(value)) return value
    if (Date.now() > end) throw new Error(`never so: ${JSON.stringify(value)}`)
    await systemClock.sleep(10)
  }
}
const decided = (name: string) =>
  until(
    () => read(name),
    (p) => p.status?.verdicts !== undefined,
  )
const reaches = (name: string, phase: string) =>
  until(
    () => read(name),
    (p) => p.status?.phase === phase,
  )
const ledger = async (): Promise<DefenderLedger | undefined> => admin.get(defenderLedger, { name: 'cluster' })

/** As a user at a terminal. */
async function kubenode(...argv: readonly string[]): Promise<string> {
  let out = ''
  const io = { out: (t: string) => void (out += t), err: () => undefined, cwd: '.', env: {}, isTerminal: false }
  expect(await run([...argv, '--kubeconfig', server.kubeconfig], io)).toBe(0)
  return out
}

beforeAll(async () => {
  server = await startEmbedded()
  admin = new HttpKubeClient(connection())
  requester = as('kubenode:controllers')
  await installAll(admin)
  for (let i = 0; i < 10; i++) {
    const name = `m-${i}`
    const made = await admin.create(machine, objectOf(machine, name, {}) as never)
    uids.set(name, made.metadata.uid ?? '')
    const status = { phase: 'Ready', conditions: [condition('Ready', 'True'), condition('AgentReachable', 'True')] }
    await admin.patch(machine, { name }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
  }
  await startDefender()
})
afterAll(async () => {
  await stopDefender()
  await server.stop()
})

test('the built-in policy grants one of ten, and says to the next what it waits for', async () => {
  await ask('one', 'm-0')
  const one = await reaches('one', 'Granted')
  expect(permitAnswer(one, uids.get('m-0') ?? '')).toEqual({ kind: 'Granted' })
  await ask('two', 'm-1')
  const two = await decided('two')
  expect(two.status).toMatchObject({
    phase: 'Requested',
    verdicts: [{ gate: 'Budget', verdict: 'Waiting', seen: '1 unavailable', limit: '1 (10%) per cluster' }],
  })
  expect(two.status?.gates?.map((g) => g.gate)).toEqual(['Target', 'Budget', 'Rate', 'Breaker'])
})

test('a result frees the slot for who waits', async () => {
  const tools = { client: requester, fieldManager: 'kubenode-remedyjob' } as const
  await reportResults(tools, await read('one'), { [uids.get('m-0') ?? '']: 'Succeeded' })
  await reaches('one', 'Released')
  await reaches('two', 'Granted')
  expect((await ledger())?.spec.counts).toMatchObject({ granted: 2, succeeded: 1 })
})

test('a defender that starts again knows what was granted', async () => {
  await stopDefender()
  await ask('three', 'm-2')
  await startDefender()
  expect((await decided('three')).status?.verdicts?.[0]).toMatchObject({ gate: 'Budget', verdict: 'Waiting' })
  await reportResults({ client: requester, fieldManager: 'kubenode-remedyjob' }, await read('two'), {
    [uids.get('m-1') ?? '']: 'Succeeded',
  })
  await reaches('three', 'Granted')
})

test('a freeze takes back what is granted, and a policy applies live', async () => {
  expect(await kubenode('freeze', '--reason', 'a test', '--for', '1h')).toMatch(
    /^frozen in context \S+ of \S+ until .* by .*: a test/,
  )
  await reaches('three', 'Revoked')
  await ask('four', 'm-3')
  expect((await decided('four')).status?.verdicts?.[0]).toMatchObject({ gate: 'Hold', verdict: 'Waiting' })
  await admin.create(
    defenderPolicy,
    objectOf(defenderPolicy, 'open', {
      budgets: [{ max: 5, of: 'concurrent' }],
      rates: [{ window: '1m', max: 50 }],
    }) as never,
  )
  expect(await kubenode('thaw')).toMatch(/^thawed in context \S+ of \S+: freeze-all\n$/)
  await reaches('four', 'Granted')
})

test('a burst of requests is decided by a few writes of the ledger', async () => {
  const before = (await ledger())?.spec.sequence ?? 0
  const names = Array.from({ length: 30 }, (_, i) => `burst-${i}`)
  await Promise.all(names.map((name, i) => ask(name, `m-${4 + (i % 6)}`)))
  await Promise.all(names.map(decided))
  const now = (await ledger())?.spec
  expect((now?.sequence ?? 0) - before).toBeLessThan(names.length / 2)
  expect(new Set(now?.grants?.map((g) => g.target)).size).toBe(5)
})
