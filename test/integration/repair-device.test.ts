// A repair of one faulty GPU moves only the pods that may use it, by the conditions of the node and the agent's evidence.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { nodeType, podType } from '#nodes/objects.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { resetDevice } from '../../rules/hardware/reset-device.ts'

const NODES = ['one-card', 'unnamed']
let bench: RepairBench

beforeAll(async () => {
  bench = await RepairBench.start()
  for (const name of NODES) {
    await bench.addNode(name)
    for (const pod of ['trains', 'serves', 'web']) await addPod(name, pod)
  }
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule])
  const { ladder, ...rest } = resetDevice({ component: 'gpu-reset', version: '1.0.0' })
  const [reset] = ladder
  if (reset === undefined) throw new Error('a ladder without rungs')
  await bench.rule('gpu-needs-reset', { ...rest, for: '0s', when: { all: [ofGpu] }, ladder: [reset] })
})
afterAll(() => bench.close())

const ofGpu = { fact: 'conditions', path: '/GPUNeedsReset/status', operator: 'equal', value: 'True' } as const

/** Bound long before the repair. */
async function addPod(node: string, pod: string): Promise<void> {
  const name = { namespace: 'default', name: `${node}-${pod}` }
  const spec = { nodeName: node, terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] }
  await bench.admin.create(podType, { apiVersion: 'v1', kind: 'Pod', metadata: name, spec })
  const at = timestamp(systemClock.now() - 3_600_000)
  const status = { phase: 'Running', conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: at }] }
  await bench.admin.patch(podType, name, { type: 'merge', value: { status } }, { subresource: 'status' })
}

async function breakGpu(node: string, message: string): Promise<void> {
  const at = timestamp(systemClock.now())
  const told = { type: 'GPUNeedsReset', status: 'True', reason: 'GPUNeedsReset', message, lastTransitionTime: at }
  const value = { status: { conditions: [told] } }
  await bench.admin.patch(nodeType, { name: node }, { type: 'strategic', value }, { subresource: 'status' })
}

/** As the agent of the node reports its first step. */
async function reportEvidence(node: string): Promise<void> {
  const job = await bench.until(
    () => bench.jobOf(node),
    (j) => j?.status?.steps?.some((s) => s.operation === 'cordon' && s.outcome === 'Succeeded') === true,
  )
  if (job === undefined) throw new Error('no job')
  const at = timestamp(systemClock.now())
  const device = (pod: string, id: string, bus: string) => ({
    pod: `default/${node}-${pod}`,
    resource: 'nvidia.com/gpu',
    device: id,
    bus,
  })
  const step = {
    index: 1,
    operation: 'collectEvidence',
    executor: 'Agent',
    attempts: 1,
    startedAt: at,
    finishedAt: at,
    outcome: 'Succeeded',
    devices: [device('trains', 'GPU-1', '0000:3b'), device('serves', 'GPU-2', '0000:5e')],
  }
  const metadata = { name: nameOf(job) }
  const object = { apiVersion: API_GROUP_VERSION, kind: 'RemedyOperationJob', metadata, status: { steps: [step] } }
  const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
  await (await bench.agentOf(node)).apply(remedyOperationJob, object, options)
}

async function drained(node: string) {
  const job = await bench.until(
    () => bench.jobOf(node),
    (j) => j?.status?.steps?.some((s) => s.operation === 'drain' && s.outcome === 'Succeeded') === true,
  )
  const left = (await bench.admin.list(podType)).items.filter((p) => p.spec?.nodeName === node)
  return { scope: job?.status?.steps?.find((s) => s.operation === 'drain')?.scope, left: left.map(nameOf).toSorted() }
}

test.each([
  ['one-card', '00000000:3B:00.0: waits for a reset', 'moves only the pods that may use 0000:3b', ['serves', 'web']],
  ['unnamed', 'a GPU waits', 'moves all pods of the node: GPUNeedsReset does not name each faulty device', []],
])('%s: %s', async (node, message, scope, left) => {
  await breakGpu(node, message)
  await reportEvidence(node)
  expect(await drained(node)).toEqual({ scope, left: left.map((pod) => `${node}-${pod}`) })
  // A limited drain asks for the same permit.
  const { permitRef = '' } = (await bench.jobOf(node))?.status ?? {}
  expect(permitRef).not.toBe('')
})
