import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FINALIZERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { tokenExpiresAt } from '#identity/join-token.ts'
import type { Node, Pod, Secret } from '#nodes/objects.ts'
import type { Lease } from '#runtime/lease.ts'
import { plan } from '../plan.ts'
import type { Seen } from '../seen.ts'
import { earlierMachineOf, isAbandoned, whyLeft } from './leftover-node.ts'

const NOW = Date.UTC(2026, 0, 5)
const node = (uid?: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'm', uid: 'node', ...(uid !== undefined && { annotations: { [ANNOTATIONS.machineUid]: uid } }) },
})
const machine = (more: Partial<Machine> = {}): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: 'm', uid: 'new', finalizers: [FINALIZERS.machine] },
  spec: { channel: 'Agent', provider: { name: 'p' } },
  ...more,
})
const token = {
  data: { expiration: Buffer.from(timestamp(NOW + 600_000)).toString('base64') },
} as unknown as Secret

const pod = (phase: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: {}, status: { phase } }) as Pod

type Looked = Parameters<typeof earlierMachineOf>[0]
const look = (more: Partial<Looked> = {}): Looked => ({
  machine: machine(),
  node: node('old'),
  agentHeartbeat: { kind: 'None' },
  isHostKept: false,
  ...more,
})

describe('S26 a Node of the name of a machine', () => {
  test.each<[string, Looked, string | undefined]>([
    ['that names an earlier machine is asked about', look(), 'old'],
    ['that names this one is ours', look({ node: node('new') }), undefined],
    ['without a mark is a kubelet’s', look({ node: node() }), undefined],
    ['of a host that was there before is left to it', look({ isHostKept: true }), undefined],
    ['whose agent is heard is ours', look({ agentHeartbeat: { kind: 'Heard', agoMs: 1 } }), undefined],
    [
      'that was ours once stays ours',
      look({ machine: machine({ status: { nodeRef: { name: 'm', uid: 'node' } } }) }),
      undefined,
    ],
    [
      'of a machine that is only observed is not touched',
      look({ machine: machine({ spec: { channel: 'Observe' } }) }),
      undefined,
    ],
    [
      'of a machine that goes is left to how it goes',
      look({ machine: machine({ metadata: { name: 'm', uid: 'new', deletionTimestamp: timestamp(NOW) } }) }),
      undefined,
    ],
  ])('%s', (_, seen, earlier) => {
    expect(earlierMachineOf(seen)).toBe(earlier)
  })

  test.each<[string, Parameters<typeof isAbandoned>[0], boolean]>([
    ['no machine is behind it', { isListed: true, host: undefined, pods: [pod('Pending')] }, true],
    ['the host of the earlier machine lives', { isListed: true, host: 'p://old', pods: [] }, false],
    ['the provider cannot be asked', { isListed: false, host: undefined, pods: [] }, false],
    ['a kubelet runs a pod on it', { isListed: true, host: undefined, pods: [pod('Running')] }, false],
  ])('is abandoned or not: %s', (_, evidence, expected) => {
    expect(isAbandoned(evidence)).toBe(expected)
  })
})

const seen = (more: Partial<Seen>): Seen => ({
  machine: machine(),
  node: undefined,
  agentHeartbeat: { kind: 'None' },
  nodeHeartbeat: { kind: 'None' },
  host: { kind: 'Gone' },
  isHostKept: false,
  hold: undefined,
  joinToken: token,
  claims: [],
  marks: [],
  refusedFor: new Map(),
  permits: [],
  definitions: [],
  pods: undefined,
  workloads: [],
  ...more,
})
const kinds = (s: Seen) => plan(s, NOW).actions.map((a) => a.kind)

describe('S26 a Node of an earlier machine that may have its host', () => {
  test.each([
    [{ isListed: false, host: undefined, pods: [] }, 'the provider does not say whether its host is there'],
    [{ isListed: true, host: 'p://old', pods: [] }, 'whose host p://old is there'],
    [{ isListed: true, host: undefined, pods: [pod('Running')] }, 'pods count as running on it'],
    [{ isListed: true, host: undefined, pods: [] }, 'whose host is gone by one list'],
  ])('is left alone, and the machine says why: %j', (evidence, why) => {
    const earlierNode = whyLeft(node('old'), evidence)
    const planned = plan(seen({ earlierNode }), NOW)
    expect([planned.actions, planned.waiting?.seen]).toEqual([[], expect.stringContaining(why)])
  })
})

describe('S26 what the agent of an earlier machine left', () => {
  const lease = { metadata: { name: 'agent-m' } } as Lease
  test('the token of these tests is valid', () => {
    expect(tokenExpiresAt(token)).toBeGreaterThan(NOW)
  })
  test.each<[string, Partial<Seen>, readonly string[]]>([
    [
      'a Node is deleted, and keeps no machine from joining',
      { leftoverNode: node('old') },
      ['Provision', 'DeleteLeftoverNode'],
    ],
    ['nor does a heartbeat', { leftoverLease: lease }, ['Provision', 'DeleteLeftoverLease']],
    [
      'nor both',
      { leftoverLease: lease, leftoverNode: node('old') },
      ['Provision', 'DeleteLeftoverLease', 'DeleteLeftoverNode'],
    ],
    [
      'a heartbeat goes before anything is concluded about a machine that joined before',
      {
        leftoverLease: lease,
        node: node('new'),
        machine: machine({ status: { nodeRef: { name: 'm', uid: 'node' } } }),
      },
      ['DeleteLeftoverLease'],
    ],
  ])('%s', (_, more, expected) => {
    expect(kinds(seen(more))).toEqual(expected)
  })
})

test('S26 a host that is kept joins again although the record of it was lost with the controllers', () => {
  const readmitted: Partial<Seen> = {
    machine: machine({
      spec: { channel: 'Agent', provider: { name: 'static' }, providerID: 'static://m' },
      status: { agent: { version: '0.1.0' } },
    }),
    isHostKept: true,
    joinToken: { ...token, metadata: {} },
  }
  expect(kinds(seen(readmitted))).toContain('Provision')
  expect(kinds(seen({ ...readmitted, joinToken: undefined }))).not.toContain('Provision')
})
