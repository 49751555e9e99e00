// The rest of the world for machines: agents that join and do as their Machine says, a set that hands out slices, and a Defender that grants. No faults hit them.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { isSwitchOpen } from '#api/protocol/component-order.ts'
import { SYSTEM_NAMESPACE, TAINTS, agentLeaseName } from '#api/names.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { type Node, isNodeReady, nodeType } from '#nodes/objects.ts'
import type { MemoryHost } from '#test/doubles/providers/memory-provider.ts'
import { grantedAt } from '#test/support/permits/granted.ts'
import { leaseType } from '#runtime/lease.ts'
import type { World } from '../world.ts'

/** Goes back to the version before. */
export const BROKEN = '6.6.6'

const LOOK_MS = 1_000
const BEAT_MS = 20_000

type Components = NonNullable<NonNullable<Machine['status']>['components']>

/** Repeats a check, without faults, for as long as the world runs. */
export function every({ clock }: World, ms: number, look: () => void): void {
  const again = () => {
    look()
    clock.after(ms, again)
  }
  clock.after(ms, again)
}

/** Everything looks each second. `grants`: a Defender that allows everything; without it, one of the actors has to be the Defender. */
export function surround(
  world: World,
  hosts: ReadonlyMap<string, MemoryHost>,
  { grants = true }: { readonly grants?: boolean } = {},
): void {
  const machines = () => world.fake.all(machineType) as readonly Machine[]
  every(world, LOOK_MS, () => {
    for (const m of machines()) if (isUp(m, hosts)) runAgent(world, m)
    for (const m of machines()) if (!isUp(m, hosts)) noteSilence(world, m)
    if (grants) for (const p of world.fake.all(operationPermit)) grant(world, p as OperationPermit)
    for (const s of world.fake.all(machineComponentSet)) handOut(world, s as MachineComponentSet, machines())
  })
  every(world, BEAT_MS, () => {
    for (const m of machines()) if (isUp(m, hosts)) beat(world, m)
  })
}

const nameOf = (m: Machine): string => m.metadata.name ?? ''

const isUp = (m: Machine, hosts: ReadonlyMap<string, MemoryHost>): boolean =>
  hosts.get(`process://${nameOf(m)}`)?.machineUid === m.metadata.uid

/** What a controller manager does with a Node whose kubelet it does not hear. */
function noteSilence({ fake, clock }: World, m: Machine): void {
  const name = nameOf(m)
  const node = fake.peek(nodeType, { name })
  if (node === undefined || !isNodeReady(node)) return
  const at = timestamp(clock.now())
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: '', lastTransitionTime: at }
  fake.poke(nodeType, { name }, { status: { conditions: [unknown] } }, 'status')
}

function beat(world: World, m: Machine): void {
  const key = { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(nameOf(m)) }
  if (world.fake.peek(leaseType, key) !== undefined)
    world.fake.poke(leaseType, key, { spec: { renewTime: microTimestamp(world.clock.now()) } })
}

function runAgent(world: World, m: Machine): void {
  const { fake, clock } = world
  const name = nameOf(m)
  if (fake.peek(nodeType, { name }) === undefined) {
    // An agent does not come back while its machine goes.
    if (m.metadata.deletionTimestamp !== undefined) return
    const taints = [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }]
    fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints } })
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Up',
      message: '',
      lastTransitionTime: timestamp(clock.now()),
    }
    fake.poke(nodeType, { name }, { status: { conditions: [ready] } }, 'status')
  }
  const lease = { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(name) }
  if (fake.peek(leaseType, lease) === undefined && m.metadata.deletionTimestamp === undefined)
    fake.plant(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: lease,
      spec: { renewTime: microTimestamp(clock.now()) },
    })
  const before = m.status?.components ?? []
  const after = (m.spec.components ?? []).map((entry) =>
    reportOf(
      world,
      m,
      entry,
      before.find((r) => r.name === entry.name),
    ),
  )
  if (JSON.stringify(before) !== JSON.stringify(after))
    fake.poke(machineType, { name }, { status: { components: after } }, 'status')
}

/** As the shared table has it: first installs at once, everything else staged until an order under a granted permit. */
function reportOf(
  { fake, clock }: World,
  m: Machine,
  { name, version, attempt, switch: order }: NonNullable<Machine['spec']['components']>[number],
  before: Components[number] | undefined,
): Components[number] {
  const base = { name, desired: version, attempt, since: timestamp(clock.now()) }
  const node = fake.peek(nodeType, { name: nameOf(m) }) as Node
  const isPending = node.spec?.taints?.some((t) => t.key === TAINTS.componentsPending) === true
  if (before?.version === undefined && isPending) return { ...base, version, state: 'Healthy' }
  const isNew = before === undefined || before.desired !== version || before.attempt !== attempt
  const inUse = defined({ version: before?.version })
  if (isNew) return { ...base, ...inUse, state: before?.version === version ? 'Healthy' : 'Staged' }
  if (before.state !== 'Staged' || order?.attempt !== attempt) return before
  const permit = fake.peek(operationPermit, { name: order.permit }) as OperationPermit | undefined
  if (permit?.status?.phase !== 'Granted') return before
  return version === BROKEN ? { ...base, ...inUse, state: 'RolledBack' } : { ...base, version, state: 'Healthy' }
}

function grant({ fake, clock }: World, permit: OperationPermit): void {
  const { spec, status } = permit
  const name = permit.metadata.name ?? ''
  const at = timestamp(clock.now())
  const areResultsIn = spec.targets.every((t) => spec.results?.[t.uid] !== undefined)
  if (status?.phase === undefined && !areResultsIn) {
    fake.poke(operationPermit, { name }, { status: grantedAt(clock.now(), permit) }, 'status')
  } else if (areResultsIn && status?.phase !== 'Released') {
    fake.poke(operationPermit, { name }, { status: { phase: 'Released', endedAt: at } }, 'status')
  }
}

/**
 * The agent tried the version and reported how that ended. Its order alone is no sign: with an old copy of the set, the machine controller takes a version
 * that failed back and, with a slice that is over, orders it again. The machine then waits with the version staged.
 */
function hasEnded({ spec, status }: Machine, version: string | undefined): boolean {
  const [entry] = spec.components ?? []
  const [report] = status?.components ?? []
  if (entry === undefined || report === undefined || isSwitchOpen(entry, report)) return false
  if (report.attempt !== entry.attempt || report.desired !== version) return false
  return report.state === 'Healthy' || report.state === 'RolledBack'
}

/** One machine at a time: the smallest rollout that uses every field of the protocol. */
function handOut({ fake, clock }: World, set: MachineComponentSet, machines: readonly Machine[]): void {
  const { name = '', generation = 0 } = set.metadata
  const [declared] = set.spec.components
  if (declared === undefined) return
  const [slice] = set.status?.slices ?? []
  const publish = (slices: readonly object[]) =>
    void fake.poke(machineComponentSet, { name }, { status: { observedGeneration: generation, slices } }, 'status')
  const moving = machines.find((m) => nameOf(m) === slice?.machines[0])
  const isOver = moving === undefined || (slice?.version !== undefined && hasEnded(moving, slice.version))
  if (slice !== undefined && (isOver || slice.version !== declared.version)) {
    const permit = fake.peek(operationPermit, { name: slice.permit ?? '' }) as OperationPermit | undefined
    const uid = permit?.spec.targets[0]?.uid ?? ''
    if (permit !== undefined)
      fake.poke(operationPermit, { name: slice.permit ?? '' }, { spec: { results: { [uid]: 'Succeeded' } } })
    return publish([])
  }
  if (slice !== undefined) return
  if (set.status?.observedGeneration !== generation) return publish([])
  const next = machines.find(
    (m) => m.status?.phase === 'Ready' && m.metadata.deletionTimestamp === undefined && !hasEnded(m, declared.version),
  )
  if (next === undefined) return
  const permit = `${nameOf(next)}-${generation}-${clock.now()}`
  fake.plant(operationPermit, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: permit },
    spec: {
      operations: ['SwitchComponent'],
      component: { name: declared.name, version: declared.version },
      targets: [{ kind: 'Machine', name: nameOf(next), uid: next.metadata.uid ?? '' }],
      requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name },
      reason: 'a slice',
    },
  })
  const planned = {
    component: declared.name,
    version: declared.version,
    step: 0,
    number: 0,
    phase: 'AwaitingPermit',
    permit,
    machines: [nameOf(next)],
    startedAt: timestamp(clock.now()),
  }
  publish([planned])
}
