// Which pods a drain moves that is limited to a device. What is unknown widens it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { defined } from '#lib/defined.ts'
import { drainScope, faultyBuses, usersOfFaulty } from './device-users.ts'
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
const held = (pod: string, bus?: string) => ({ pod, resource: 'r', device: 'd', ...defined({ bus }) })
const devices = [
  held('ml/a', '0000:3b'),
  held('ml/b', '0000:5e'),
  held('ml/b', '0000:3b'),
  held('ml/c', '0000:5e'),
  held('ml/rdma'),
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

test.each([
  ['a detector: one card', '00000000:3B:00.0: uncorrectable memory errors', ['0000:3b']],
  ['two cards', '00000000:3B:00.0: waits; 0000:5e:00.0: waits', ['0000:3b', '0000:5e']],
  ['an Xid', 'NVRM: Xid (PCI:0000:3b:00): 48, pid=7, name=python3; PCI:0000:99:00', ['0000:3b']],
  ['AMD', 'amdgpu 0000:c3:00.0: amdgpu: uncorrectable hardware errors detected', ['0000:c3']],
  ['fallen off the bus', 'NVRM: GPU at PCI:0000:3b:00: GPU has fallen off the bus.', ['0000:3b']],
  ['a card that is gone', '1 of 8 GPUs are gone', undefined],
  ['more than the message names', '0000:3b:00.0: a; 0000:5e:00.0: b; 0000:60:00.0: c and 2 more', undefined],
  ['a number in a serial number of DCGM', '3: uncorrectable memory errors', undefined],
  ['an address that was cut', '0000:3b', undefined],
  ['no message', '', undefined],
])('the devices that a condition names: %s', (_, message, buses) => {
  expect(faultyBuses(message)).toEqual(buses)
})

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
    const scope = drainScope(of, seen, 2)
    expect(scope.text).toBe(text)
    expect(scope.faulty).toEqual(text.includes('only') ? ['0000:3b'] : undefined)
  })
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
