// Which pods a drain moves that is limited to a device. What is unknown widens it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { defined } from '#lib/defined.ts'
import { drainScope, needsPlaces, usersOfFaulty } from './device-users.ts'
import { drainPlan, podName } from './drain.ts'
import type { Node, Pod } from './objects.ts'

const CORDONED = '2026-03-01T10:00:00Z'
const BEFORE = '2026-03-01T08:00:00Z'
const DURING = '2026-03-01T09:59:30Z'

const node = (...messages: readonly string[]): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: {
    conditions: messages.map((message, i) => ({
      type: i === 0 ? 'GPUNeedsReset' : 'GPUFaulty',
      status: 'True',
      reason: 'Reported',
      lastTransitionTime: BEFORE,
      message,
    })),
  },
})
type Step = NonNullable<NonNullable<RemedyOperationJob['status']>['steps']>[number]
const at = (index: number, operation: Step['operation'], more: Partial<Step> = {}): Step => ({
  index,
  operation,
  executor: 'Agent',
  attempts: 1,
  startedAt: CORDONED,
  finishedAt: CORDONED,
  outcome: 'Succeeded',
  ...more,
})
const held = (pod: string, bus?: string, resource = 'nvidia.com/gpu') => ({
  pod,
  resource,
  device: 'd',
  ...defined({ bus }),
})
const devices = [
  held('ml/a', '0000:3b'),
  held('ml/b', '0000:5e'),
  held('ml/b', '0000:3b'),
  held('ml/c', '0000:5e'),
  held('ml/rdma'),
  held('ml/claim', '0000:5e', 'gpu.nvidia.com'),
]
const job = (...steps: readonly Step[]) => ({ status: { steps } }) as unknown as RemedyOperationJob
const known = job(at(0, 'cordon'), at(1, 'collectEvidence', { devices }))
const pod = (
  name: string,
  { created = BEFORE, ...spec }: { created?: string } & Partial<NonNullable<Pod['spec']>> = {},
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'ml', name, creationTimestamp: created },
  spec: { containers: [{ name: 'c' }], ...spec },
})

const GPU = { name: 'g', resources: { limits: { 'nvidia.com/gpu': '1' } } }
const visible = (value: string) => ({ name: 'c', env: [{ name: 'NVIDIA_VISIBLE_DEVICES', value }] })

describe('the scope of a drain', () => {
  const XID = '0000:3b:00.0: waits for a reset'
  test.each([
    ['evidence after the cordon', node(XID), known, 'moves only the pods that may use 0000:3b'],
    ['no condition', node(), known, 'moves all pods of the node: no condition names a faulty device'],
    [
      'a second fault without an address',
      node(XID, '1 of 8 GPUs are gone'),
      known,
      'moves all pods of the node: GPUFaulty does not name each faulty device',
    ],
    ['no node', undefined, known, 'moves all pods of the node: no condition names a faulty device'],
    [
      'no cordon',
      node(XID),
      job(at(1, 'collectEvidence', { devices })),
      'moves all pods of the node: the repair did not cordon it',
    ],
    [
      'evidence before the cordon',
      node(XID),
      job(at(0, 'collectEvidence', { devices }), at(1, 'cordon')),
      'moves all pods of the node: no evidence was collected after the cordon',
    ],
    [
      'evidence without devices',
      node(XID),
      job(at(0, 'cordon'), at(1, 'collectEvidence')),
      'moves all pods of the node: which pods use devices was not collected',
    ],
    [
      'evidence that was skipped',
      node(XID),
      job(at(0, 'cordon'), at(1, 'collectEvidence', { devices, outcome: 'Skipped' })),
      'moves all pods of the node: which pods use devices was not collected',
    ],
  ])('%s', (_, seen, of, text) => {
    const scope = drainScope({ job: of, node: seen, verify: { conditionCleared: 'GPUNeedsReset' } }, 2)
    expect(scope.text).toBe(text)
    expect(scope.faulty).toEqual(text.includes('only') ? ['0000:3b'] : undefined)
  })
})

test.each([
  [
    'another condition is Unknown',
    'GPUFaulty',
    'Unknown',
    { conditionCleared: 'GPUNeedsReset' },
    'GPUFaulty is Unknown',
  ],
  ['an FPGA is faulty', 'FPGAFaulty', 'True', {}, 'FPGAFaulty does not name each faulty device'],
  [
    'the repaired condition is not true',
    'GPUFaulty',
    'False',
    { conditionCleared: 'GPUFaulty' },
    'GPUFaulty names no device',
  ],
  ['the rule is gone', 'GPUFaulty', 'False', undefined, 'what the repair has to clear is not known'],
] as const)('all pods move if %s', (_, type, status, verify, why) => {
  const seen = node('0000:3b:00.0: waits for a reset', 'fpga0: write error')
  const [first, second] = seen.status?.conditions ?? []
  if (first === undefined || second === undefined) throw new Error('two conditions')
  const other = { ...seen, status: { conditions: [first, { ...second, type, status }] } }
  const scope = drainScope({ job: known, node: other, verify }, 2)
  expect(scope).toEqual({ text: `moves all pods of the node: ${why}` })
})

describe('the users of the device 0000:3b', () => {
  const isUser = usersOfFaulty(known, { index: 2, faulty: ['0000:3b'] })
  test.each([
    ['holds it', pod('a'), true],
    ['holds it and another', pod('b'), true],
    ['holds another', pod('c'), false],
    ['holds a device of unknown place', pod('rdma'), true],
    ['holds none', pod('web'), false],
    ['is privileged', pod('web', { containers: [{ name: 'c', securityContext: { privileged: true } }] }), true],
    ['sees /dev of the host', pod('web', { volumes: [{ name: 'v', hostPath: { path: '/dev/nvidia0' } }] }), true],
    ['sees the root of the host', pod('web', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }), true],
    [
      'sees another folder of the host',
      pod('web', { volumes: [{ name: 'v', hostPath: { path: '/devices' } }] }),
      false,
    ],
    ['was bound around the cordon', pod('web', { created: DURING }), true],
    ['has no time', pod('web', { created: 'never' }), true],
    ['asked for a GPU that the kubelet lists', pod('c', { containers: [GPU] }), false],
    ['asked for a GPU that the kubelet does not list', pod('web', { containers: [GPU] }), true],
    ['asked for a GPU besides a device that it holds', pod('claim', { containers: [GPU] }), true],
    ['has a GPU in a container before the others', pod('c', { containers: [GPU], initContainers: [GPU] }), true],
    [
      'asked for huge pages',
      pod('web', { containers: [{ name: 'c', resources: { limits: { 'hugepages-2Mi': '4Mi' } } }] }),
      false,
    ],
    ['has a claim that the kubelet lists', pod('claim', { resourceClaims: [{ name: 'g' }] }), false],
    [
      'has a claim that the kubelet does not list',
      pod('c', { containers: [GPU], resourceClaims: [{ name: 'g' }] }),
      true,
    ],
    ['has the runtime of NVIDIA, and no device', pod('web', { runtimeClassName: 'nvidia-cdi' }), true],
    ['has the runtime of NVIDIA, and another device', pod('c', { runtimeClassName: 'nvidia' }), false],
    ['asks the runtime for all GPUs', pod('c', { containers: [visible('all')] }), true],
    ['asks the runtime for none', pod('c', { containers: [visible('void')] }), false],
  ])('a pod that %s: %s', (_, of, expected) => {
    expect(isUser?.(of)).toBe(expected)
  })

  test('a drain without a recorded device moves all pods', () => {
    expect(usersOfFaulty(known, { index: 2 })).toBeUndefined()
    expect(usersOfFaulty(job(), { index: 2, faulty: ['0000:3b'] })).toBeUndefined()
  })
})

test('never a pod that holds only sound devices, and always every pod that holds a faulty one', () => {
  const bus = fc.constantFrom('0000:01', '0000:02', '0000:03', undefined)
  const holds = fc.array(fc.record({ name: fc.integer({ min: 0, max: 9 }), bus }), { maxLength: 20 })
  fc.assert(
    fc.property(holds, fc.subarray(['0000:01', '0000:02', '0000:03'], { minLength: 1 }), (list, faulty) => {
      const of = job(
        at(0, 'cordon'),
        at(1, 'collectEvidence', { devices: list.map((h) => held(`ml/p${h.name}`, h.bus)) }),
      )
      const pods = Array.from({ length: 10 }, (_, i) => pod(`p${i}`))
      const only = usersOfFaulty(of, { index: 2, faulty })
      if (only === undefined) throw new Error('limited')
      const evicted = drainPlan(pods, { only }).evict.map(podName)
      const users = list.filter((h) => h.bus === undefined || faulty.includes(h.bus)).map((h) => `ml/p${h.name}`)
      expect(new Set(evicted)).toEqual(new Set(users))
    }),
    { seed: 68 },
  )
})

test('a device of a claim is where its driver publishes it, and without that its pod uses any', () => {
  const claim = (name: string) => ({ pod: `ml/${name}`, resource: 'gpu.nvidia.com', device: `n/gpu-${name}` })
  const evidence = at(1, 'collectEvidence', { devices: [claim('a'), claim('b'), claim('c')] })
  const of = job(at(0, 'cordon'), evidence)
  const step = { index: 2, faulty: ['0000:3b'] }
  expect(needsPlaces(of, step)).toBe(true)
  expect(needsPlaces(of, { index: 2 })).toBe(false)
  const place = (name: string, bus: string) => ({ driver: 'gpu.nvidia.com', pool: 'n', device: `gpu-${name}`, bus })
  const elsewhere = { driver: 'gpu.other', pool: 'n', device: 'gpu-c', bus: '0000:5e' }
  const moves = (places: Parameters<typeof usersOfFaulty>[2]) => {
    const isUser = usersOfFaulty(of, step, places)
    const pods = ['a', 'b', 'c'].map((name) => pod(name, { resourceClaims: [{ name: 'g' }] }))
    return pods.filter((p) => isUser?.(p) === true).map((p) => p.metadata.name)
  }
  expect(moves([place('a', '0000:3b'), place('b', '0000:5e'), elsewhere])).toEqual(['a', 'c'])
  expect(moves([])).toEqual(['a', 'b', 'c'])
})
