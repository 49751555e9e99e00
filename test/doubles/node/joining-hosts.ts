// Agents that do no more than join and report, for machines whose hosts are only simulated, and what a controller manager does once they are silent.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE, TAINTS, agentLeaseName } from '#api/names.ts'
import { type Clock, microTimestamp, timestamp } from '#lib/clock.ts'
import { isNodeReady, nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import type { FakeKube } from '../kube/fake-kube.ts'

interface JoiningWorld {
  readonly fake: FakeKube
  readonly clock: Pick<Clock, 'now' | 'after'>
}

const JOIN_LOOK_MS = 5_000
const BEAT_MS = 20_000

export const machinesIn = ({ fake }: Pick<JoiningWorld, 'fake'>): readonly Machine[] =>
  fake.all(machineType) as readonly Machine[]

const nameOf = (m: Machine): string => m.metadata.name ?? ''
const leaseOf = (m: Machine) => ({ namespace: SYSTEM_NAMESPACE, name: agentLeaseName(nameOf(m)) })

function join({ fake, clock }: JoiningWorld, m: Machine): void {
  const name = nameOf(m)
  if (m.metadata.deletionTimestamp !== undefined || m.spec.providerID === undefined) return
  if (fake.peek(nodeType, { name }) === undefined) {
    const taints = [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }]
    fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints } })
    const at = timestamp(clock.now())
    const ready = { type: 'Ready', status: 'True', reason: 'Up', message: '', lastTransitionTime: at }
    fake.poke(nodeType, { name }, { status: { conditions: [ready] } }, 'status')
  }
  const metadata = leaseOf(m)
  const spec = { renewTime: microTimestamp(clock.now()) }
  if (fake.peek(leaseType, metadata) === undefined)
    fake.plant(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec })
}

function beat({ fake, clock }: JoiningWorld, m: Machine): void {
  const key = leaseOf(m)
  if (fake.peek(leaseType, key) !== undefined)
    fake.poke(leaseType, key, { spec: { renewTime: microTimestamp(clock.now()) } })
}

function silence({ fake, clock }: JoiningWorld, m: Machine): void {
  const key = { name: nameOf(m) }
  const node = fake.peek(nodeType, key)
  if (node === undefined || !isNodeReady(node)) return
  const at = timestamp(clock.now())
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: '', lastTransitionTime: at }
  fake.poke(nodeType, key, { status: { conditions: [unknown] } }, 'status')
}

/** From now on, for as long as the clock runs. `up` answers the uids of the machines whose hosts run. */
export function joinHosts(world: JoiningWorld, up: () => ReadonlySet<string>): void {
  const every = (ms: number, act: (m: Machine, isUp: boolean) => void) => {
    const hosts = up()
    for (const m of machinesIn(world)) act(m, hosts.has(m.metadata.uid ?? ''))
    world.clock.after(ms, () => every(ms, act))
  }
  every(JOIN_LOOK_MS, (m, isUp) => (isUp ? join(world, m) : silence(world, m)))
  every(BEAT_MS, (m, isUp) => isUp && beat(world, m))
}
