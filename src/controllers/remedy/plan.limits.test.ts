import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { expect, test } from 'vitest'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { RuleBook } from '#nodes/faults/active-rule.ts'
import { plan } from './plan.ts'
import type { NodeSeen } from './seen.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const ago = (minutes: number) => timestamp(NOW - minutes * 60_000)
const { spec } = nodeRemedier.example
const remedier = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'NodeRemedier',
  metadata: { name: 'r', uid: 'r', generation: 1 },
  spec: {
    ...spec,
    mode: 'Enforce',
    share: 100,
    for: '0s',
    limits: { ...spec.limits, perNodePerDay: 2, perHour: 100, perDay: 100 },
  },
} as unknown as NodeRemedier

/** A finished repair of the Node that the machine was then. */
const before = (node: string, minutes: number, machineUid = 'machine') =>
  ({
    metadata: {
      name: node,
      uid: node,
      creationTimestamp: ago(minutes),
      annotations: { [ANNOTATIONS.machineUid]: machineUid },
    },
    spec: repairSpec([{ cordon: {} }], { node: { name: 'n', uid: node } }),
    status: { phase: 'Done', outcome: 'Superseded', startedAt: ago(minutes), finishedAt: ago(minutes - 1) },
  }) as unknown as RemedyOperationJob

function reasonAfter(...jobs: readonly RemedyOperationJob[]) {
  const reading = new RuleBook().read(remedier, [])
  const node: NodeSeen = {
    name: 'n',
    uid: 'now',
    machine: 'm',
    machineUid: 'machine',
    labels: {},
    standing: { kind: 'Readable' },
    matches: new Map([['r', NOW - 3_600_000]]),
  }
  const seen = {
    rules: [reading],
    revisions: [],
    nodes: [node],
    counts: new Map([['r', { selected: 10, silent: 0, joining: 0, bad: 1 }]]),
    jobs,
    holds: [],
    maintained: new Map(),
    isTimed: false,
  }
  const [fault] = plan(seen, NOW).verdicts[0]?.faults ?? []
  return fault?.reason ?? (fault?.job === undefined ? undefined : 'a repair')
}

test('a host that registers as a new Node after each reboot does not begin its day again', () => {
  expect(reasonAfter()).toBe('a repair')
  expect(reasonAfter(before('one', 90))).toBe('a repair')
  expect(reasonAfter(before('one', 90), before('two', 60))).toBe('PerNodeLimit')
  expect(reasonAfter(before('one', 90, 'other'), before('two', 60))).toBe('a repair')
})
