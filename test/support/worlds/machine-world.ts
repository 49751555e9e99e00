// A cluster in memory with the machine controllers in it, and what agents and the Defender do there, by hand. For tests.
import { KINDS } from '#api/kinds.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { NODE_LEASES, SYSTEM_NAMESPACE, TAINTS, agentLeaseName } from '#api/names.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { type Logger, silentLogger } from '#lib/log.ts'
import { componentObjectName } from '#lib/names.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { nodeType } from '#nodes/objects.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import type { Provider } from '#providers/port.ts'
import { asLeader } from '#test/support/servers/as-leader.ts'
import { createInformers } from '#runtime/informers.ts'
import { leaseType } from '#runtime/lease.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { grantedAt } from '#test/support/permits/granted.ts'
import { approverModule } from '#controllers/approver/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerContext, ControllerModule } from '#controllers/module.ts'

const kinds: readonly FakeKind[] = KINDS.map((k) => ({
  type: k,
  schema: k.schema,
  status: k.definition.status !== undefined,
}))

const stops: (() => void)[] = []

/** For `afterEach`. */
export function endWorlds(): void {
  for (const stop of stops.splice(0)) stop()
}

export interface WorldOptions {
  /** Beside the one called process, which keeps its hosts in memory. */
  readonly providers?: Readonly<Record<string, Provider>>
  /** Also what lists hosts and listens to providers. */
  readonly withParts?: boolean
  /** Beside machine and machineset. */
  readonly modules?: readonly ControllerModule[]
  readonly log?: Logger
  /** What join bundles still wait for; may change. */
  readonly ground?: { readonly waitsFor: string | undefined }
}

export async function machineWorld({
  providers = {},
  withParts = false,
  modules = [],
  log = silentLogger,
  ground,
}: WorldOptions = {}) {
  const clock = new VirtualClock()
  const random = seededRandom(7)
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  const client = fake.client({ actor: 'controllers' })
  const informers = createInformers({ client, clock, random, log })
  const hosts = new Map<string, MemoryHost>()
  const cloud = new MemoryProvider({ clock, name: 'process', hosts })
  let refusal: string | undefined
  const provider = overridden(cloud, {
    create: async (request) => (refusal === undefined ? cloud.create(request) : { kind: 'Refused', reason: refusal }),
  })
  const context: ControllerContext = {
    client,
    informers,
    clock,
    random,
    log,
    metrics: createMetrics(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'test',
      providers: { process: provider, ...providers },
      orphans: { process: 'Delete' },
      join: {
        server: 'https://api',
        caData: 'Q0E=',
        artifactBase: 'file:///a/',
        trust: { sequence: 1, threshold: 1, keys: [] },
        get waitsFor() {
          return ground?.waitsFor
        },
      },
    },
  }
  const fenced = asLeader(client)
  const running = [approverModule, machineModule, machineSetModule, ...modules].map((module) =>
    module.setup({ ...context, client: fenced }),
  )
  for (const c of running.flatMap((r) => r.controllers)) c.start()
  informers.start()
  stops.push(() => void informers.stop())
  await clock.advance(100)
  const parts = withParts ? running.flatMap((r) => r.parts ?? []) : []
  for (const part of parts) await part.start(new AbortController().signal)
  stops.push(() => {
    for (const part of parts) void part.stop(0)
  })
  const machine = (name: string) => fake.peek(machineType, { name }) as Machine | undefined
  return { clock, fake, hosts, client, machine, refuse: (why: string | undefined) => void (refusal = why) }
}
export type TestWorld = Awaited<ReturnType<typeof machineWorld>>

export const setOf = (replicas: number) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineSet',
  metadata: { name: 'workers' },
  spec: {
    replicas,
    selector: { matchLabels: { pool: 'workers' } },
    template: { metadata: { labels: { pool: 'workers' } }, spec: { provider: { name: 'process' }, pool: 'workers' } },
  },
})

export const components = (version: string, status?: object) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponentSet',
  metadata: { name: 'base' },
  spec: { selector: { matchLabels: { pool: 'workers' } }, components: [{ name: 'beacon', version }] },
  ...defined({ status }),
})

export const definition = (version: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponent',
  metadata: { name: componentObjectName('beacon', version) },
  spec: { ...machineComponent.example.spec, component: 'beacon', version, requires: [], disruption: 'Restart' },
})

/** What the agent of a machine does, in one go: lease, Node, and a report of what it runs. */
export const beat = (world: TestWorld, name: string): void =>
  renew(world, name, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(name) })

/** What the kubelet of a machine does, with or without its agent. */
export const nodeBeat = (world: TestWorld, name: string): void => renew(world, name, { namespace: NODE_LEASES, name })

function renew({ fake, clock }: TestWorld, name: string, key: { namespace: string; name: string }): void {
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTimestamp(clock.now()) }
  if (fake.peek(leaseType, key)) fake.poke(leaseType, key, { spec })
  else fake.plant(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: key, spec })
}

export function register({ fake, clock }: TestWorld, name: string): void {
  const taints = [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }]
  fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints } })
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'AgentReady',
    message: '',
    lastTransitionTime: timestamp(clock.now()),
  }
  fake.poke(nodeType, { name }, { status: { conditions: [ready] } }, 'status')
}

export function report({ fake, clock }: TestWorld, name: string, state: string, extra: object = {}): void {
  const m = fake.peek(machineType, { name }) as Machine
  const list = (m.spec.components ?? []).map((c) => ({
    name: c.name,
    version: c.version,
    desired: c.version,
    attempt: c.attempt,
    state,
    since: timestamp(clock.now()),
    ...extra,
  }))
  fake.poke(machineType, { name }, { status: { components: list } }, 'status')
}

/** A machine that has joined, installed and is Ready. */
export async function readyMachine(w: TestWorld): Promise<string> {
  w.fake.plant(machineComponent, definition('1.0.0'))
  w.fake.plant(machineComponentSet, components('1.0.0'))
  w.fake.plant(machineSet, setOf(1))
  await w.clock.advance(1_000)
  const name = w.fake.all(machineType)[0]?.metadata.name ?? ''
  beat(w, name)
  register(w, name)
  await w.clock.advance(1_000)
  report(w, name, 'Healthy')
  await w.clock.advance(1_000)
  return name
}

/** What the Defender does. */
export function grant({ fake, clock }: TestWorld, name: string): void {
  const permit = fake.peek(operationPermit, { name }) as OperationPermit
  fake.poke(operationPermit, { name }, { status: grantedAt(clock.now(), permit) }, 'status')
}
