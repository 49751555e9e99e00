// Writes rules/history/example.jsonl.gz: two weeks of a small cluster, recorded by the recorder itself on a clock that jumps. Run it when the recorded form changes:
//   bin/with-node node test/support/tools/example-history.ts
import { join } from 'node:path'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { defined } from '#lib/defined.ts'
import { timestamp } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { exported } from '#history/lines/export.ts'
import { writeLines } from '#history/lines/file.ts'
import { nodeType } from '#nodes/objects.ts'
import { HistoryWorld } from '../worlds/history-world.ts'

const NODES = 24
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const OUT = join(import.meta.dirname, '../../../rules/history/example.jsonl.gz')
const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'

const w = new HistoryWorld({ startMs: Date.UTC(2026, 10, 9) })
const random = seededRandom(64)
const { kube, clock } = w
const api = { apiVersion: 'kubenode.io/v1alpha1' }
const at = () => timestamp(clock.now())
const name = (n: number) => `worker-${String(n).padStart(2, '0')}`
const uidOf = (n: string) => kube.peek(nodeType, { name: n })?.metadata.uid ?? ''

interface Set {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}
const conditions = new Map<string, Map<string, Set & { readonly lastTransitionTime: string }>>()

function report(node: string, ...changed: readonly Set[]): void {
  const own = conditions.get(node) ?? new Map()
  conditions.set(node, own)
  for (const c of changed) own.set(c.type, { ...c, lastTransitionTime: at() })
  kube.poke(nodeType, { name: node }, { status: { conditions: [...own.values()] } }, 'status')
}
const ready = (status: 'True' | 'False' | 'Unknown', reason: string, message: string): Set => ({
  type: 'Ready',
  status,
  reason,
  message,
})
const fine = ready('True', 'KubeletReady', 'kubelet is posting ready status')
const problem = (type: string, isThere: boolean, message: string): Set => ({
  type,
  status: isThere ? 'True' : 'False',
  reason: isThere ? type : `No${type}`,
  message,
})

function register(n: number): void {
  const node = name(n)
  const zone = `zone-${'abc'[n % 3]}`
  kube.plant(nodeType, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: node,
      labels: { 'kubernetes.io/hostname': node, 'topology.kubernetes.io/zone': zone, 'kubenode.io/pool': 'workers' },
    },
    spec: {},
    status: {
      nodeInfo: {
        kubeletVersion: 'v1.36.1',
        kernelVersion: '6.12.41',
        architecture: 'amd64',
        operatingSystem: 'linux',
        bootID: `boot-${n}`,
      },
    },
  })
  report(
    node,
    fine,
    problem('DiskPressure', false, 'kubelet has sufficient disk'),
    problem('KernelDeadlock', false, 'kernel has no deadlock'),
  )
  kube.plant(machine, {
    ...api,
    kind: 'Machine',
    metadata: { name: node, labels: { 'kubenode.io/pool': 'workers' } },
    spec: {
      pool: 'workers',
      zone,
      rack: `rack-${n % 4}`,
      components: [{ name: 'kubelet', version: '1.36.1', setRef: 'base', attempt: 1 }],
    },
  })
  machineStatus(n, {
    phase: 'Ready',
    nodeRef: { name: node, uid: uidOf(node) },
    components: [component('1.36.1', 'Healthy')],
  })
}
const component = (version: string, state: string, message?: string) => ({
  name: 'kubelet',
  version,
  state,
  since: at(),
  ...defined({ message }),
})
/** Rules are asked about nodes whose agent reports. */
const reachable = {
  type: 'AgentReachable',
  status: 'True',
  reason: 'Reachable',
  message: '',
  lastTransitionTime: at(),
}
const machineStatus = (n: number, status: object) =>
  kube.poke(machine, { name: name(n) }, { status: { conditions: [reachable], ...status } }, 'status')

/** A kernel that hangs: condition, job, permit, reboot, verified. */
async function deadlock(n: number, id: string): Promise<void> {
  const node = name(n)
  report(node, problem('KernelDeadlock', true, 'task kworker/3:1 blocked for more than 120 seconds'))
  await clock.advance(30_000)
  const job = `kernel-deadlock-${id}-0`
  const operations = [{ cordon: {} }, { drain: { timeout: '10m' } }, { reboot: { timeout: '10m' } }]
  kube.plant(remedyOperationJob, {
    ...api,
    kind: 'RemedyOperationJob',
    metadata: { name: job },
    spec: {
      machine: node,
      node: { name: node, uid: uidOf(node) },
      remedierRef: { name: 'kernel-deadlock', generation: 1 },
      incident: id.padEnd(16, '0'),
      rung: 0,
      operations,
      commit: COMMIT,
    },
  })
  kube.poke(remedyOperationJob, { name: job }, { status: { phase: 'AwaitingPermit' } }, 'status')
  kube.plant(operationPermit, {
    ...api,
    kind: 'OperationPermit',
    metadata: { name: job },
    spec: {
      operations: ['Cordon', 'Drain', 'Reboot'],
      targets: [{ kind: 'Node', name: node, uid: uidOf(node) }],
      requester: { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: job },
      reason: 'kernel deadlock',
      commit: COMMIT,
    },
  })
  await clock.advance(2_000)
  kube.poke(operationPermit, { name: job }, { status: { phase: 'Granted', decidedAt: at(), granted: 1 } }, 'status')
  const steps: object[] = []
  kube.poke(
    remedyOperationJob,
    { name: job },
    { status: { phase: 'Running', startedAt: at(), permitRef: job } },
    'status',
  )
  for (const [index, operation] of ['cordon', 'drain', 'reboot'].entries()) {
    const step = {
      index,
      operation,
      executor: operation === 'reboot' ? 'Agent' : 'Controller',
      attempts: 1,
      startedAt: at(),
    }
    kube.poke(remedyOperationJob, { name: job }, { status: { steps: [...steps, step] } }, 'status')
    if (operation === 'reboot') report(node, ready('False', 'KubeletNotReady', 'node is shutting down'))
    await clock.advance(operation === 'drain' ? 4 * MINUTE : operation === 'reboot' ? 90_000 : 1_000)
    steps.push({
      ...step,
      finishedAt: at(),
      outcome: 'Succeeded',
      output: operation === 'drain' ? 'no pods left to evict' : 'done',
    })
  }
  report(node, fine, problem('KernelDeadlock', false, 'kernel has no deadlock'))
  kube.poke(remedyOperationJob, { name: job }, { status: { phase: 'Verifying', steps } }, 'status')
  await clock.advance(5 * MINUTE)
  kube.poke(
    remedyOperationJob,
    { name: job },
    { status: { phase: 'Done', outcome: 'Succeeded', finishedAt: at(), message: 'condition KernelDeadlock cleared' } },
    'status',
  )
  kube.poke(operationPermit, { name: job }, { status: { phase: 'Released', endedAt: at() } }, 'status')
}

/** A version that goes through the machines, and stops at one. */
async function rollout(): Promise<void> {
  const set = kube.peek(machineComponentSet, { name: 'base' })
  const spec = set?.['spec'] as { readonly components: readonly object[] }
  kube.poke(
    machineComponentSet,
    { name: 'base' },
    { spec: { components: spec.components.map((c) => ({ ...c, version: '1.36.2' })) } },
  )
  for (let n = 1; n <= 6; n++) {
    kube.poke(
      machine,
      { name: name(n) },
      { spec: { components: [{ name: 'kubelet', version: '1.36.2', setRef: 'base', attempt: 1 }] } },
    )
    machineStatus(n, { phase: 'Updating', components: [component('1.36.1', 'Switching')] })
    await clock.advance(40_000)
    const failed = n === 6
    machineStatus(n, {
      phase: failed ? 'Failed' : 'Ready',
      components: [
        failed
          ? component('1.36.1', 'RolledBack', 'exited with code 1; last output: unknown flag')
          : component('1.36.2', 'Healthy'),
      ],
    })
    await clock.advance(10 * MINUTE)
  }
  kube.plant(operationalHold, {
    ...api,
    kind: 'OperationalHold',
    metadata: { name: 'kubelet-1-36-2' },
    spec: {
      target: { kind: 'MachineComponentSet', name: 'base' },
      effect: 'Pause',
      reason: 'kubelet 1.36.2 does not know a flag of ours',
      author: 'ada@example.org',
      until: timestamp(clock.now() + 24 * HOUR),
    },
  })
  await clock.advance(2 * HOUR)
  machineStatus(6, { phase: 'Ready', components: [component('1.36.1', 'Healthy')] })
}

async function zoneOutage(): Promise<void> {
  const lost = Array.from({ length: NODES }, (_, i) => i + 1).filter((n) => n % 3 === 1)
  for (const n of lost) report(name(n), ready('Unknown', 'NodeStatusUnknown', 'kubelet stopped posting node status'))
  await clock.advance(7 * MINUTE)
  for (const n of lost) report(name(n), fine)
}

async function maintenance(n: number): Promise<void> {
  const event = 'firmware-worker-11'
  const from = clock.now() + 6 * HOUR
  kube.plant(maintenanceEvent, {
    ...api,
    kind: 'MaintenanceEvent',
    metadata: { name: event },
    spec: {
      machine: name(n),
      source: 'People',
      eventId: event,
      kind: 'Stop',
      state: 'Scheduled',
      notBefore: timestamp(from),
      notAfter: timestamp(from + 2 * HOUR),
      description: 'new firmware',
      plannedBy: 'grace@example.org',
    },
  })
  const phase = (p: string, more: object = {}) =>
    kube.poke(maintenanceEvent, { name: event }, { status: { phase: p, phaseSince: at(), ...more } }, 'status')
  phase('Announced')
  await clock.advance(5 * HOUR)
  phase('Preparing', { drainStartedAt: at() })
  await clock.advance(20 * MINUTE)
  phase('Prepared', { drainedAt: at() })
  await clock.advance(40 * MINUTE)
  phase('InProgress')
  report(name(n), ready('Unknown', 'NodeStatusUnknown', 'kubelet stopped posting node status'))
  await clock.advance(90 * MINUTE)
  report(name(n), fine)
  phase('Verifying')
  await clock.advance(5 * MINUTE)
  phase('Done', { endedAt: at() })
}

for (const kind of [nodeRemedier, defenderPolicy, machineComponentSet]) {
  const example = kind.example as { readonly metadata: object; readonly spec: object }
  // Its repairs are no dry runs.
  const spec = kind === nodeRemedier ? { ...example.spec, mode: 'Enforce' } : example.spec
  kube.plant(kind, { ...api, kind: kind.kind, metadata: example.metadata, spec })
}
for (let n = 1; n <= NODES; n++) register(n)
const part = await w.recorder()
await clock.advance(9 * HOUR)
await rollout()
await clock.advance(30 * HOUR)
await deadlock(17, '4be0643f1d98573b')
for (let day = 0; day < 6; day++) {
  await clock.advance(20 * HOUR)
  const node = name(1 + random.below(NODES))
  // A disk that fills and is emptied by itself: nothing had to be done.
  report(node, problem('DiskPressure', true, 'kubelet has disk pressure'))
  await clock.advance((3 + random.below(30)) * MINUTE)
  report(node, problem('DiskPressure', false, 'kubelet has sufficient disk'))
}
await zoneOutage()
await clock.advance(26 * HOUR)
await maintenance(11)
await clock.advance(8 * HOUR)
await deadlock(17, '9c01d2aa73b5e6f1')
await clock.advance(20 * HOUR)
await part.stop()
const reader = w.reader()
const span = reader.span()
const whole = await writeLines(exported(reader, { from: span?.begins ?? 0, to: (span?.ends ?? 0) + 1 }), OUT)
reader.close()
await w.end()
if (!whole) throw new Error('the example is cut off')
