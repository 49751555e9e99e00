// A Machine on an embedded server becomes a real systemd machine of this host, whose real agent joins it; deleted, nothing of it is left. Needs root.
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, type TestContext, vi } from 'vitest'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import type { ControllerContext } from '#controllers/module.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { nodeType } from '#nodes/objects.ts'
import { hasTree } from '#providers/nspawn/tree.ts'
import type { Provider } from '#providers/port.ts'
import { parseProviders } from '#providers/providers-file.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { grantedAt } from '#test/support/permits/granted.ts'

const TREES = process.env['KUBENODE_TREES'] ?? '/var/lib/kubenode/trees'
const ROOT = join(import.meta.dirname, '../..')
const NAME = 'sd-1'

let server: RunningServer
let admin: KubeClient
let defender: KubeClient
let base: string
let providers: readonly Provider[] = []
let whyNot: string | undefined
const stops: (() => unknown)[] = []

beforeAll(async () => {
  if (process.getuid?.() !== 0) whyNot = 'systemd machines need root'
  else if (process.env['KUBENODE_TEST_FULL'] !== '1' && !(await hasTree({ cache: TREES, log: silentLogger })))
    whyNot = `there is no tree in ${TREES}; a full run builds one`
  if (whyNot !== undefined) return
  base = await mkdtemp('/var/tmp/machine-nspawn-')
  server = await startEmbedded()
  const connection = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  }
  admin = new HttpKubeClient(connection)
  await installAll(admin)
  const tools = { clock: systemClock, random: systemRandom, log: silentLogger }
  const text = JSON.stringify({
    providers: [{ name: 'nspawn', options: { dir: join(base, 'machines'), trees: TREES } }],
  })
  const entries = { agent: join(ROOT, 'src/cli/agent-main.ts'), hollow: '' }
  const served = parseProviders(join(base, 'providers.json'), text, PROVIDERS)
  providers = await Promise.all(
    served.map((p) => p.create({ ...tools, node: process.execPath, entries, env: {}, userData: () => '' })),
  )
  const as = (user: string) =>
    new HttpKubeClient({ ...connection, impersonate: { user, groups: ['system:authenticated'] } })
  defender = as('kubenode:defender')
  const client = as('kubenode:controllers')
  const informers = createInformers({ client, ...tools, startSpreadMs: 0 })
  const context: ControllerContext = {
    client,
    informers,
    ...tools,
    metrics: createMetrics(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'test',
      providers: Object.fromEntries(providers.map((p) => [p.name, p])),
      join: {
        server: server.url,
        caData: Buffer.from(server.ca).toString('base64'),
        artifactBase: 'file:///nowhere/',
        trust: { sequence: 1, threshold: 1, keys: [] },
      },
    },
  }
  for (const c of machineModule.setup(context).controllers) {
    c.start()
    stops.unshift(() => c.stop(1_000))
  }
  informers.start()
  await informers.synced()
  stops.push(() => informers.stop())
  const approver = await startApprover(as('kubenode:approver'), tools)
  stops.unshift(() => approver.stop(1_000))
}, 300_000)

afterAll(async () => {
  for (const stop of stops) await stop()
  for (const provider of providers)
    for (const host of (await provider.list()).hosts) await provider.delete(host.providerID)
  await server?.stop()
  if (base !== undefined) await rm(base, { recursive: true, force: true, maxRetries: 5 })
})

const machine = () => admin.get(machineType, { name: NAME })

async function untilMachine(what: string, holds: (m: Machine | undefined) => boolean): Promise<Machine | undefined> {
  for (const began = systemClock.monotonic(); systemClock.monotonic() - began < 90_000;) {
    const m = await machine()
    if (holds(m)) return m
    await systemClock.sleep(100)
  }
  throw new Error(`never ${what}: ${JSON.stringify((await machine())?.status)}`)
}

/** What the Defender does. */
async function grantRemoval(): Promise<void> {
  const permit = await vi.waitFor(
    async () => {
      const [asked] = await listAll(admin, operationPermit)
      expect(asked?.spec.operations).toEqual(['ScaleIn'])
      return asked as OperationPermit
    },
    { timeout: 90_000, interval: 100 },
  )
  const status = grantedAt(systemClock.now(), permit)
  await defender.update(operationPermit, { ...permit, status }, { subresource: 'status' })
}

test('a Machine becomes a systemd machine whose agent joins and registers its Node, and leaves nothing when it is deleted', async (context: TestContext) => {
  if (whyNot !== undefined) context.skip(whyNot)
  await admin.create(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: NAME },
    spec: { channel: 'Agent', provider: { name: 'nspawn' }, labels: { made: 'here' } },
  })
  const ready = await untilMachine('Ready', (m) => m?.status?.phase === 'Ready')
  expect(ready?.spec.providerID).toBe(`nspawn://${NAME}`)
  const node = await admin.get(nodeType, { name: NAME })
  expect(node?.metadata.labels).toMatchObject({ made: 'here' })
  const host = await providers.find((p) => p.name === 'nspawn')?.get(`nspawn://${NAME}`)
  expect(ready?.status?.bootID).toBe(host?.bootID)
  expect(existsSync(join(base, 'machines', NAME, 'root/var/lib/kubenode/join.json'))).toBe(false)

  await admin.delete(machineType, { name: NAME })
  await grantRemoval()
  await untilMachine('gone', (m) => m === undefined)
  expect(await admin.get(nodeType, { name: NAME })).toBeUndefined()
  expect(await readdir(join(base, 'machines'))).toEqual([])
}, 240_000)
