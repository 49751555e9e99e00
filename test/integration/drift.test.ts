// A component that was modified on a node, from the change to its repair: the real agent reports it and touches nothing, the set requests a
// slice, the Defender grants it, the machine gets a switch order, and the installed version runs again.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { programUser } from '#api/names.ts'
import { MAX_HEALS } from '#agent/drift/plan.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { defenderModule } from '#defender/role.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { installAll } from '#test/support/servers/installed.ts'
import type { Provider } from '#providers/port.ts'
import { createProcessProvider } from '#providers/process/provider.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { processesWith } from '#test/support/tools/processes.ts'
import { until } from '../e2e/rollout-replay/cluster.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { programFile } from '#test/support/tools/own-build.ts'
import { sha256Hex } from '#lib/sha256.ts'

const NAME = 'node-1'
const SET = 'base'
const POOL = { 'kubenode.io/pool': 'workers' }
/** A busy machine takes minutes for what an idle one does in seconds. */
const WITHIN_MS = 250_000
const PROGRAM = '/opt/sleeper/bin/sleeper'
/** Tells our processes from those of other tests; longer than any of them. */
const SECONDS = String(100_000 + process.pid)

const own = { clock: systemClock, random: systemRandom, log: silentLogger }
const stop = new AbortController()
const parts: Part[] = []
const clients: HttpKubeClient[] = []
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-drift-')))
let server: RunningServer
let admin: HttpKubeClient
let provider: Provider & { run(signal: AbortSignal): Promise<void> }

function clientAs(user?: string): HttpKubeClient {
  const config = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  }
  const client = new HttpKubeClient(user === undefined ? config : { ...config, impersonate: { user } })
  clients.push(client)
  return client
}

const program = (): Buffer => readFileSync('/bin/sleep')

async function publish(artifacts: string) {
  const publisher = newPublisher()
  const sleeper = release(publisher, {
    component: 'sleeper',
    version: '1.0.0',
    entries: [{ name: 'bin/sleeper', content: program(), mode: 0o755 }],
    spec: { service: { exec: PROGRAM, args: [SECONDS], restart: 'Always', killMode: 'Group' } },
  })
  mkdirSync(artifacts, { recursive: true })
  writeFileSync(join(artifacts, sleeper.url), sleeper.artifact)
  writeFileSync(join(artifacts, 'trust.json'), JSON.stringify(publisher.trust()))
  await admin.create(machineComponent, sleeper.object)
  return publisher.anchor
}

beforeAll(async () => {
  server = await startEmbedded()
  admin = clientAs()
  await installAll(admin)
  const artifacts = join(folder, 'artifacts')
  const trust = await publish(artifacts)
  provider = (await createProcessProvider({
    dir: join(folder, 'nodes'),
    agent: ({ dir }) => [execPath, programFile('agent-main'), '--root', dir],
    agentConfig: async () => JSON.stringify({ lease: '2s' }),
    ...own,
  })) as typeof provider
  await admin.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'open' },
    spec: { budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }], mode: 'Enforce' },
  } as never)
  const caData = Buffer.from(server.ca).toString('base64')
  const config = {
    cluster: 'drift',
    providers: { process: provider },
    join: { server: server.url, caData, artifactBase: pathToFileURL(artifacts).href, trust },
  }
  const events = { record: () => undefined, flush: () => Promise.resolve() }
  const controllers = { client: clientAs(programUser('controllers')), ...own, metrics: createMetrics(), events, config }
  const informers = createInformers({ client: controllers.client, ...own, startSpreadMs: 0 })
  for (const module of [machineModule, componentSetModule]) {
    const running = module.setup({ ...controllers, informers })
    parts.push(...running.controllers, ...(running.parts ?? []))
  }
  const defender = { client: clientAs(programUser('defender')), ...own, metrics: createMetrics() }
  const seenByDefender = createInformers({ client: defender.client, ...own, startSpreadMs: 0 })
  const running = await defenderModule({ identity: 'test' }).setup({ ...defender, informers: seenByDefender })
  parts.push(...(running.parts ?? []))
  for (const all of [informers, seenByDefender]) {
    all.start()
    await all.synced()
  }
  parts.push(await startApprover(clientAs(programUser('approver')), own))
  void provider.run(stop.signal)
  for (const part of parts) await part.start(stop.signal)
})

afterAll(async () => {
  stop.abort()
  for (const part of parts.toReversed()) await part.stop(1_000)
  for (const host of (await provider?.list())?.hosts ?? []) await provider.delete(host.providerID)
  for (const client of clients) client.close()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const machine = () => admin.get(machineType, { name: NAME })
const reportOf = (m: Machine | undefined) => m?.status?.components?.find((c) => c.name === 'sleeper')
const set = async () => (await admin.get(machineComponentSet, { name: SET }))?.status
const digest = (bytes: Buffer): string => sha256Hex(bytes)
const pids = (): readonly number[] => processesWith('sleeper', SECONDS).map((p) => p.pid)
const digestOfRunning = (): readonly string[] => pids().map((pid) => digest(readFileSync(`/proc/${pid}/exe`)))
/** The current path of the installed program; a fresh copy has another one. */
const place = (): string => realpathSync(join(folder, 'nodes', NAME, 'root', PROGRAM))

/** The same program with a byte more: it would run, and is another one. */
function exchange(): void {
  const path = place()
  writeFileSync(`${path}.new`, Buffer.concat([program(), Buffer.of(0)]), { mode: 0o755 })
  renameSync(`${path}.new`, path)
}

test('a program that is replaced again and again is restored a few times, then reported, and brought back in a slice with a permit', async () => {
  await admin.create(machineComponentSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponentSet',
    metadata: { name: SET },
    spec: {
      selector: { matchLabels: POOL },
      components: [{ name: 'sleeper', version: '1.0.0' }],
      rollout: { steps: [1], maxUnavailable: 1, soak: '0s' },
    },
  } as never)
  await admin.create(machineType, {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name: NAME, labels: POOL },
    spec: { channel: 'Agent', provider: { name: 'process' }, pool: 'workers' },
  })
  await until(
    'the machine',
    machine,
    (m) => m?.status?.phase === 'Ready' && reportOf(m)?.state === 'Healthy',
    WITHIN_MS,
  )
  await until('the set', set, (s) => s?.phase === 'Complete', WITHIN_MS)
  const asked = async () =>
    (await admin.list(operationPermit)).items.filter((p) => p.spec.component?.name === 'sleeper')
  const before = (await asked()).length
  const installed = digest(program())
  expect(digestOfRunning()).toEqual([installed])

  const [pid] = pids()
  for (let n = 0; n < MAX_HEALS; n++) {
    exchange()
    await until(
      'the correction',
      async () => digest(readFileSync(place())),
      (d) => d === installed,
      WITHIN_MS,
    )
  }
  exchange()
  const drifted = await until('the report', machine, (m) => reportOf(m)?.drifted !== undefined, WITHIN_MS)
  expect(reportOf(drifted)?.drifted).toMatch(/bin\/sleeper has different content; not repaired again after 3 repairs/)
  await until('the end', machine, (m) => m?.spec.components?.[0]?.attempt === 2 && isWell(m), WITHIN_MS)
  expect(digestOfRunning()).toEqual([installed])
  expect(digest(readFileSync(place()))).toBe(installed)
  expect(pids()).not.toEqual([pid])
  expect((await machine())?.spec.components).toMatchObject([{ name: 'sleeper', version: '1.0.0', fresh: 1 }])
  await until('the set', set, (s) => s?.phase === 'Complete', WITHIN_MS)
  const permits = (await asked()).slice(before)
  expect(permits.map((p) => [p.spec.operations, p.spec.targets.map((t) => t.name)])).toEqual([
    [['SwitchComponent'], [NAME]],
  ])
  await until(
    'the result',
    asked,
    (all) => Object.values(all.at(-1)?.spec.results ?? {}).join() === 'Succeeded',
    WITHIN_MS,
  )
}, 900_000)

const isWell = (m: Machine): boolean =>
  reportOf(m)?.state === 'Healthy' &&
  reportOf(m)?.drifted === undefined &&
  reportOf(m)?.attempt === 2 &&
  !hasOpenSwitch(m)
