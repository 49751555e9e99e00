// The attacker has the keys of a host (its agent, its kubelet) and delays the removal of its own Machine, by what they report and by what they leave out. Each attempt
// ends after a named time: the real decisions of Defender and controllers, asked before and after it.
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FIELD_MANAGERS, FINALIZERS, TAINTS } from '#api/names.ts'
import { plan } from '#controllers/machine/plan.ts'
import { DELETE_OWNER } from '#controllers/machine/actions.ts'
import type { Seen } from '#controllers/machine/seen.ts'
import { decide } from '#defender/plan.ts'
import { timestamp } from '#lib/clock.ts'
import type { Node } from '#nodes/objects.ts'
import {
  START_MS as NOW,
  aMachine,
  aPermit,
  aSnapshot,
  condition,
  machines,
  uidOf,
} from '#test/support/fleets/defender-objects.ts'

const MINUTE_MS = 60_000
const BEFORE = 59 * MINUTE_MS
const AFTER = 61 * MINUTE_MS

type Told = Partial<Parameters<typeof aMachine>[0]> & { readonly conditions?: readonly ReturnType<typeof condition>[] }

/** Whether the Defender lets the Machine go, which was deleted so long ago, among nine that are well. */
function isGranted(agoMs: number, { conditions = [condition('Ready', 'True')], ...told }: Told): boolean {
  const held = aMachine({ name: 'm-0', deletionTimestamp: timestamp(NOW - agoMs), ...told })
  const nodeRef = { name: 'm-0', uid: 'node-m-0' }
  const { permits } = decide(
    aSnapshot({
      permits: [aPermit({ name: 'a', targets: ['m-0'], operations: ['ScaleIn'] })],
      machines: [{ ...held, status: { ...held.status, nodeRef } }, ...machines(10).slice(1)],
      nodes: [{ apiVersion: 'v1', kind: 'Node', metadata: nodeRef, status: { conditions } }],
    }),
    undefined,
    { now: NOW, leader: 'a' },
  )
  return permits[0]?.targets[0]?.verdict.verdict === 'Granted'
}

describe('S26 a thief of the keys of a host keeps the Defender from judging its removal', () => {
  test.each<[string, Told]>([
    ['by leaving Ready out of its Node', { conditions: [], ready: 'False' }],
    ['by a Ready condition of no known status', { conditions: [condition('Ready', 'Maybe' as 'True')] }],
    ['by an agent that falls silent while the kubelet is heard', { reachable: 'False', ready: 'False' }],
    ['by writing AgentReachable of its Machine', { reachable: 'Unknown' }],
    ['by writing Ready of its Machine', { ready: 'Unknown' }],
  ])('%s: for an hour', (_, told) => {
    expect(isGranted(BEFORE, told)).toBe(false)
    expect(isGranted(AFTER, told)).toBe(true)
  })
})

const AGENT = { kind: 'Heard', agoMs: 1_000 } as const
const removal = {
  ...aPermit({
    name: 'remove',
    targets: ['m-0'],
    operations: ['ScaleIn'],
    requester: { manager: FIELD_MANAGERS.machine },
  }),
  status: { phase: 'Granted', verdicts: [{ target: uidOf('m-0'), gate: 'All', verdict: 'Granted' }] },
} as unknown as OperationPermit

/** A Machine in service that was deleted so long ago; its agent and its kubelet are heard. */
function removed(agoMs: number, { spec = {}, ...more }: { readonly spec?: object } & Partial<Seen> = {}): Seen {
  const made = aMachine({
    name: 'm-0',
    deletionTimestamp: timestamp(NOW - agoMs),
    inServiceSince: timestamp(NOW - 10 * AFTER),
    runs: { beacon: '1.0.0' },
  })
  const machine = {
    ...made,
    metadata: { ...made.metadata, finalizers: [FINALIZERS.machine] },
    spec: { ...made.spec, provider: { name: 'p' }, providerID: 'p://m-0', ...spec },
    status: { ...made.status, nodeRef: { name: 'm-0', uid: 'n' }, agent: { version: '0.1.0' } },
  } as Machine
  const node: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm-0', uid: 'n' }, spec: {}, status: {} }
  return {
    machine,
    node,
    agentHeartbeat: AGENT,
    nodeHeartbeat: AGENT,
    host: { kind: 'Gone' },
    isHostKept: false,
    hold: undefined,
    joinToken: undefined,
    claims: [],
    marks: [],
    refusedFor: new Map(),
    permits: [removal],
    definitions: [],
    pods: [],
    workloads: [],
    ...more,
  }
}
const CORDONED: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'm-0',
    uid: 'n',
    annotations: { [ANNOTATIONS.cordon]: JSON.stringify({ [DELETE_OWNER]: { reason: 'x' } }) },
  },
  spec: { taints: [{ key: TAINTS.cordon, effect: 'NoSchedule' }] },
  status: {},
}
/** Its permit is renewed meanwhile. */
const kinds = (seen: Seen): readonly string[] =>
  plan(seen, NOW)
    .actions.map((a) => a.kind)
    .filter((k) => k !== 'RenewPermit')

describe('S26 a thief of the keys of a host keeps the controllers from removing its Machine', () => {
  test('by heartbeats from elsewhere after its host was deleted: for an hour, then it is let go like a host that stays', () => {
    expect(plan(removed(BEFORE), NOW)).toMatchObject({ actions: [], waiting: { predicate: 'HostKnown' } })
    expect(kinds(removed(AFTER))).toEqual(['OrderToLeave'])
    expect(kinds(removed(AFTER, { permits: [] }))).toEqual(['RequestPermit'])
  })

  test('by never leaving, though it answers: for an hour after the order', () => {
    const ordered = (agoMs: number): Seen => {
      const seen = removed(AFTER, { spec: { leaving: true } })
      const waitingFor = { predicate: 'HandedBack', seen: 'x', since: timestamp(NOW - agoMs) }
      return { ...seen, machine: { ...seen.machine, status: { ...seen.machine.status, waitingFor } } }
    }
    expect(kinds(ordered(BEFORE))).not.toContain('RemoveFinalizer')
    expect(kinds(ordered(AFTER))).toEqual(expect.arrayContaining(['RecordAbandoned', 'RemoveFinalizer']))
  })

  test('by pods that never end: for an hour after their grace', () => {
    const host = { providerID: 'p://m-0', clientToken: 'c', machineUid: uidOf('m-0'), machine: 'm-0' } as const
    const ending = (agoMs: number): Seen => {
      const seen = removed(AFTER, {
        spec: { components: [] },
        host: { kind: 'Host', host: { ...host, state: 'Running', createdAt: timestamp(NOW) } },
        pods: [
          {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name: 'web', namespace: 'd', deletionTimestamp: timestamp(NOW - agoMs) },
          },
        ],
      })
      const { components: _, ...status } = seen.machine.status ?? {}
      return { ...seen, node: CORDONED, machine: { ...seen.machine, status } }
    }
    expect(kinds(ending(BEFORE))).toEqual([])
    expect(kinds(ending(AFTER))).toEqual(['DeleteHost'])
  })
})
