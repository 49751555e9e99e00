// A repair of one faulty GPU moves only the pods that may use it, by the conditions of the node and the agent's evidence. Where the server has taints of devices, no new
// pod gets it until the repair is verified.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { servedResources } from '#kube/served-resources.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { nodeType, podType } from '#nodes/objects.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { resetDevice } from '../../rules/hardware/reset-device.ts'

const NODES = ['one-card', 'unnamed', 'claims']
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
  const verify = { conditionCleared: 'GPUNeedsReset', stableFor: '1s' }
  const limits = { perNodePerDay: 9, perHour: 99, maxInFlight: 9 }
  await bench.rule('gpu-needs-reset', {
    ...rest,
    limits,
    for: '0s',
    when: { all: [ofGpu] },
    ladder: [{ ...reset, verify }],
  })
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

async function breakGpu(node: string, message: string, status: 'True' | 'False' = 'True'): Promise<void> {
  const at = timestamp(systemClock.now())
  const told = { type: 'GPUNeedsReset', status, reason: 'GPUNeedsReset', message, lastTransitionTime: at }
  const value = { status: { conditions: [told] } }
  await bench.admin.patch(nodeType, { name: node }, { type: 'strategic', value }, { subresource: 'status' })
}

type Held = NonNullable<NonNullable<NonNullable<RemedyOperationJob['status']>['steps']>[number]['devices']>[number]
const pluginDevice = (pod: string, device: string, bus: string): Held => ({
  pod: `default/${pod}`,
  resource: 'nvidia.com/gpu',
  device,
  bus,
})

/** As the agent of the node reports its first step. */
async function reportEvidence(node: string, devices: readonly Held[]): Promise<object> {
  const job = await bench.until(
    () => bench.jobOf(node),
    (j) => j?.status?.steps?.some((s) => s.operation === 'cordon' && s.outcome === 'Succeeded') === true,
  )
  if (job === undefined) throw new Error('no job')
  const evidence = { index: 1, operation: 'collectEvidence', devices }
  await reportSteps(job, evidence)
  return evidence
}

/** All that the agent did. */
async function reportSteps(job: RemedyOperationJob, ...own: readonly object[]): Promise<void> {
  const at = timestamp(systemClock.now())
  const done = { executor: 'Agent', attempts: 1, startedAt: at, finishedAt: at, outcome: 'Succeeded' }
  const steps = own.map((step) => ({ ...done, ...step }))
  const metadata = { name: nameOf(job) }
  const object = { apiVersion: API_GROUP_VERSION, kind: 'RemedyOperationJob', metadata, status: { steps } }
  const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
  await (await bench.agentOf(job.spec.node.name)).apply(remedyOperationJob, object, options)
}

async function drained(node: string) {
  const job = await bench.until(
    () => bench.jobOf(node),
    (j) => j?.status?.steps?.some((s) => s.operation === 'drain' && s.outcome === 'Succeeded') === true,
  )
  const left = (await bench.admin.list(podType)).items.filter((p) => p.spec?.nodeName === node)
  const stepOf = (name: string) => job?.status?.steps?.find((s) => s.operation === name)
  const { outcome, output } = stepOf('isolateDevice') ?? {}
  return { isolated: `${outcome}: ${output}`, scope: stepOf('drain')?.scope, left: left.map(nameOf).toSorted() }
}

const GPU_3B = '00000000:3B:00.0: waits for a reset'
const NO_RULES = 'Skipped: no device isolated: the API server has no DeviceTaintRules'
const UNNAMED = 'GPUNeedsReset does not name each faulty device'

test.each([
  ['one-card', GPU_3B, NO_RULES, 'moves only the pods that may use 0000:3b', ['serves', 'web']],
  ['unnamed', 'a GPU waits', `Skipped: no device isolated: ${UNNAMED}`, `moves all pods of the node: ${UNNAMED}`, []],
])('%s: %s', async (node, message, isolated, scope, left) => {
  await breakGpu(node, message)
  await reportEvidence(node, [
    pluginDevice(`${node}-trains`, 'GPU-1', '0000:3b'),
    pluginDevice(`${node}-serves`, 'GPU-2', '0000:5e'),
  ])
  expect(await drained(node)).toEqual({ isolated, scope, left: left.map((pod) => `${node}-${pod}`) })
  // A limited drain asks for the same permit.
  const { permitRef = '' } = (await bench.jobOf(node))?.status ?? {}
  expect(permitRef).not.toBe('')
  // Half of the nodes at once would count as one cause.
  await breakGpu(node, 'all GPUs work', 'False')
})

const resource = (kind: string, plural: string, version: string) => ({
  group: 'resource.k8s.io',
  version,
  kind,
  plural,
  namespaced: false,
})
const slices = resource('ResourceSlice', 'resourceslices', 'v1')
const taintRules = resource('DeviceTaintRule', 'devicetaintrules', 'v1beta2')

/** As a server of 1.36 with the API version and the feature switched on. */
async function serveTaintRules(): Promise<void> {
  const { group, version, kind, plural } = taintRules
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  await bench.admin.create(coreKind('CustomResourceDefinition'), {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements/issues/5055' },
    },
    spec: {
      group,
      scope: 'Cluster',
      names: { kind, listKind: `${kind}List`, plural, singular: 'devicetaintrule' },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  })
  await bench.until(
    () => servedResources(bench.admin, `${group}/${version}`, undefined),
    (served) => served?.some((r) => r.plural === plural) === true,
  )
}

test('a device of a claim: its users move, no new pod gets it, and it is free again once the repair is verified', async () => {
  const node = 'claims'
  const driver = 'gpu.nvidia.com'
  const at = (name: string, address: string) => ({
    name,
    attributes: { 'resource.kubernetes.io/pciBusID': { string: address } },
  })
  const devices = [at('gpu-1', '0000:3b:00.0'), at('gpu-2', '0000:5e:00.0')]
  const pool = { name: node, generation: 1, resourceSliceCount: 1 }
  const slice = { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name: 'claims-gpus' } }
  await bench.admin.create(slices, { ...slice, spec: { driver, nodeName: node, pool, devices } } as never)
  await serveTaintRules()
  await breakGpu(node, GPU_3B)
  const claimed = (pod: string, device: string): Held => ({ pod: `default/${node}-${pod}`, resource: driver, device })
  const evidence = await reportEvidence(node, [claimed('trains', `${node}/gpu-1`), claimed('serves', `${node}/gpu-2`)])
  expect(await drained(node)).toEqual({
    isolated: `Succeeded: no new pods on ${driver}/${node}/gpu-1 at 0000:3b`,
    scope: 'moves only the pods that may use 0000:3b',
    left: ['claims-serves', 'claims-web'],
  })
  const taints = async () => (await bench.admin.list(taintRules)).items.map((rule) => rule['spec' as never])
  expect(await taints()).toEqual([
    {
      deviceSelector: { driver, pool: node, device: 'gpu-1' },
      taint: { key: 'kubenode.io/faulty', value: 'GPUNeedsReset', effect: 'NoSchedule' },
    },
  ])
  const job = await bench.jobOf(node)
  if (job === undefined) throw new Error('no job')
  await reportSteps(job, evidence, { index: 4, operation: 'runScript' })
  await breakGpu(node, 'all GPUs work', 'False')
  await bench.until(taints, (left) => left.length === 0)
  expect((await bench.jobOf(node))?.status?.outcome).toBe('Succeeded')
  expect(bench.forbidden()).toEqual([])
})
