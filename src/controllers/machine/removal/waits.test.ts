// Pods that ask for time get it from the removal of their machine too: as long as its sets allow, and not on a machine that is lost or replaced.
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FINALIZERS, TAINTS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import { DELETE_OWNER } from '../actions.ts'
import type { Seen } from '../seen.ts'
import { planDelete } from './plan.ts'

const NOW = Date.UTC(2026, 4, 5)
const MINUTE_MS = 60_000
const at = (minutes: number): string => timestamp(NOW + minutes * MINUTE_MS)

const pod = (annotations: Record<string, string>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'train', namespace: 'ml', uid: 'pod', annotations },
  status: { phase: 'Running' },
})

const permit = (operation: string): OperationPermit =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p' },
    spec: {
      operations: [operation],
      targets: [{ kind: 'Machine', name: 'm', uid: 'uid' }],
      requester: { manager: operation === 'Replace' ? 'kubenode-remedy' : 'kubenode-machine', name: 'm' },
      reason: 'x',
      leaseSeconds: 600,
    },
    status: {
      phase: 'Granted',
      expiresAt: at(10),
      verdicts: [{ target: 'uid', gate: 'Ledger', verdict: 'Granted' }],
    },
  }) as unknown as OperationPermit

const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'm',
    uid: 'node',
    annotations: { [ANNOTATIONS.cordon]: JSON.stringify({ [DELETE_OWNER]: { reason: 'x', since: at(-5) } }) },
  },
  spec: { taints: [{ key: TAINTS.cordon, effect: 'NoSchedule' }] },
} as Node

const seen = (more: Partial<Seen> = {}): Seen =>
  ({
    machine: {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: 'm', uid: 'uid', finalizers: [FINALIZERS.machine], deletionTimestamp: at(-5) },
      spec: { channel: 'Agent', provider: { name: 'p' }, providerID: 'p://m' },
      status: { nodeRef: { name: 'm', uid: 'node' }, agent: { version: '0.1.0' } },
    } as Machine,
    node,
    pods: [pod({ [ANNOTATIONS.drainWait]: '20m' })],
    host: { kind: 'Host', host: { providerID: 'p://m', machine: 'm', machineUid: 'uid', state: 'Running' } },
    isHostKept: false,
    agentHeartbeat: { kind: 'Heard', agoMs: 1 },
    nodeHeartbeat: { kind: 'Heard', agoMs: 1 },
    claims: [{ podWaitMs: 30 * MINUTE_MS }],
    permits: [permit('ScaleIn')],
    marks: [],
    definitions: [],
    endedFor: new Map(),
    refusedFor: new Map(),
    hold: undefined,
    ...more,
  }) as unknown as Seen

const waitOf = (s: Seen): readonly unknown[] => {
  const { actions, waiting } = planDelete(s, NOW)
  const drain = actions.find((a) => a.kind === 'Drain')
  return [drain?.waits?.mostMs, waiting?.seen]
}
const WAITS = 'waiting for the next checkpoint of ml/train (1 pod here), at most 15m more'

describe('a machine that is removed', () => {
  test('waits for a pod that asks, and says so', () => {
    expect(waitOf(seen())).toEqual([30 * MINUTE_MS, WAITS])
  })

  test('waits no longer than its sets allow', () => {
    expect(waitOf(seen({ claims: [{ podWaitMs: 10 * MINUTE_MS }] as unknown as Seen['claims'] }))[1]).toMatch(
      /at most 5m more$/,
    )
  })

  test.each<[string, Partial<Seen>]>([
    ['where no set allows it', { claims: [{ podWaitMs: 0 }] as unknown as Seen['claims'] }],
    [
      'where its work was saved since',
      { pods: [pod({ [ANNOTATIONS.drainWait]: '20m', [ANNOTATIONS.checkpointedAt]: at(-1) })] },
    ],
    ['under the permit of a repair that replaces it', { permits: [permit('Replace')] }],
    [
      'where its host is lost',
      { agentHeartbeat: { kind: 'Heard', agoMs: 9e9 }, nodeHeartbeat: { kind: 'Heard', agoMs: 9e9 } },
    ],
  ])('does not wait %s', (_, more) => {
    expect(waitOf(seen(more))[1]).toBe('1 pod left, such as ml/train')
  })
})
