import { expect, test } from 'vitest'
import type { Pod } from '#nodes/objects.ts'
import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { dryRunText } from './dry-run.ts'

const pod = (name: string, spec: object = {}, more: object = {}): Pod =>
  ({ metadata: { name, namespace: 'ml', ...more }, spec: { containers: [{ name: 'c' }], ...spec } }) as never
const GPU = { containers: [{ name: 'c', resources: { limits: { 'nvidia.com/gpu': '1' } } }] }
const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
const pods = [
  pod('trains', GPU),
  pod('claims', { resourceClaims: [{ name: 'g' }] }),
  pod('web'),
  pod('dns'),
  pod('proxy', GPU, mirror),
]

function said(operations: readonly object[], message: string, read: readonly Pod[] | undefined): string {
  const conditions = [{ type: 'GPUNeedsReset', status: 'True', message, reason: 'R', lastTransitionTime: '' }]
  const ladder = [{ verify: { conditionCleared: 'GPUNeedsReset' } }]
  return dryRunText({
    job: { spec: repairSpec(operations, { dryRun: true }) },
    node: { metadata: { name: 'n' }, status: { conditions } },
    remedier: { spec: { ladder } },
    pods: read,
  } as never)
}

const evidence = { collectEvidence: { kinds: ['Devices'] } }
const users = [{ cordon: {} }, evidence, { drain: { usersOf: 'Device' } }]
const NAMED = '0000:3b:00.0: waits for a reset'
const PREFIX = 'dry run: no permit requested and no action taken'

test.each([
  ['nothing is drained', [{ reboot: {} }], NAMED, pods, ''],
  ['a whole node', [{ cordon: {} }, { drain: {} }], NAMED, pods, '; it would drain 4 pods of the node'],
  [
    'its pods cannot be read',
    [{ cordon: {} }, { drain: {} }],
    NAMED,
    undefined,
    '; it would drain all pods of the node',
  ],
  [
    'the users of one device',
    users,
    NAMED,
    pods,
    '; it would drain only the pods that may use 0000:3b, at most 2 of 4',
  ],
  [
    'the users of one device, whose pods cannot be read',
    users,
    NAMED,
    undefined,
    '; it would drain only the pods that may use 0000:3b',
  ],
  [
    'a device that has no name',
    users,
    '1 of 8 GPUs are gone',
    pods,
    '; it would drain 4 pods of the node: GPUNeedsReset does not name each faulty device',
  ],
  [
    'no evidence is collected after the cordon',
    [evidence, { cordon: {} }, { drain: { usersOf: 'Device' } }],
    NAMED,
    pods,
    '; it would drain 4 pods of the node: no evidence of devices is collected after a cordon',
  ],
] as const)('a dry run says what it would drain: %s', (_, operations, message, read, wanted) => {
  expect(said(operations, message, read)).toBe(`${PREFIX}${wanted}`)
})
