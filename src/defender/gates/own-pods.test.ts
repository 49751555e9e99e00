// Machines that host replicas of the same program are never disrupted together, however many permits request them. Other machines do not wait.
import { defined } from '#lib/defined.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { hostsOf, leadingNodes } from '#nodes/own-pods.ts'
import { START_MS, aMachine, aPermit, aPolicy, aSnapshot, condition } from '#test/support/fleets/defender-objects.ts'
import { grantsOf } from '../ledger.ts'
import { decide, type Decision } from '../plan.ts'

/** Permits everything except what this gate blocks. */
const GENEROUS = aPolicy({ budgets: [{ max: '100%', of: 'unavailable', per: 'cluster' }] })
const onNode = (machine: Machine): Machine => ({
  ...machine,
  status: {
    ...machine.status,
    nodeRef: { name: `node-${machine.metadata.name}`, uid: `node-${machine.metadata.name}` },
  },
})
const nodeOf = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `node-${name}`, uid: `node-${name}` },
  status: { conditions: [condition('Ready', 'True')] },
})
const hostedOn = (hosts: Readonly<Record<string, readonly string[]>>) =>
  new Map(Object.entries(hosts).map(([name, roles]) => [`node-${name}`, new Set(roles)]))

interface Wish {
  readonly machines: readonly string[]
  readonly hosts: Readonly<Record<string, readonly string[]>>
  /** Targets by permit name. */
  readonly permits: Readonly<Record<string, readonly string[]>>
}
const ask = ({ machines, hosts, permits }: Wish, ledger?: LedgerSpec): Decision =>
  decide(
    aSnapshot({
      machines: machines.map((name) => onNode(aMachine({ name }))),
      nodes: machines.map(nodeOf),
      hosts: hostedOn(hosts),
      permits: Object.entries(permits).map(([name, targets]) => aPermit({ name, targets })),
      policies: [GENEROUS],
    }),
    ledger,
    { now: START_MS, leader: 'a' },
  )
const granted = ({ ledger }: Decision): readonly string[] => grantsOf(ledger).map((g) => g.name)
const gateOf = (decision: Decision, target: string): string | undefined =>
  decision.permits.flatMap((p) => p.targets).find((t) => t.target.endsWith(target))?.verdict.gate

describe('two hosts of one program', () => {
  const two = { machines: ['m-0', 'm-1', 'm-2'], hosts: { 'm-0': ['defender'], 'm-1': ['defender', 'sync'] } }

  test('in one permit: the second waits for the first, others do not wait', () => {
    const decision = ask({ ...two, permits: { a: ['m-0', 'm-1', 'm-2'] } })
    expect(granted(decision)).toEqual(['m-0', 'm-2'])
    expect(gateOf(decision, 'm-1')).toBe('OwnPods')
  })

  test('in two permits, also when the first was granted long before', () => {
    const first = ask({ ...two, permits: { a: ['m-1'] } })
    const second = ask({ ...two, permits: { a: ['m-1'], b: ['m-0'] } }, first.ledger)
    expect(gateOf(second, 'm-0')).toBe('OwnPods')
  })

  test('of different programs go together', () => {
    const hosts = { 'm-0': ['defender'], 'm-1': ['sync'] }
    expect(granted(ask({ ...two, hosts, permits: { a: ['m-0', 'm-1'] } }))).toEqual(['m-0', 'm-1'])
  })
})

test('whatever is asked, no program loses two machines at once, and machines without our pods never wait for this', () => {
  const names = Array.from({ length: 6 }, (_, i) => `m-${i}`)
  const subset = fc.subarray(names, { minLength: 1 })
  const roles = fc.subarray(['defender', 'controllers', 'sync'])
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...names), roles),
      fc.array(subset, { minLength: 1, maxLength: 4 }),
      (hosts, asked) => {
        const permits = Object.fromEntries(asked.map((targets, n) => [`p-${n}`, targets]))
        const decision = ask({ machines: names, hosts, permits })
        const machines = [...new Set(granted(decision))]
        const disrupted = machines.flatMap((name) => hosts[name] ?? [])
        expect(disrupted.toSorted()).toEqual([...new Set(disrupted)].toSorted())
        const free = names.filter((name) => (hosts[name] ?? []).length === 0)
        expect(free.filter((name) => gateOf(decision, name) === 'OwnPods')).toEqual([])
        // It serializes, and does not stop.
        expect(machines.length).toBeGreaterThan(0)
      },
    ),
  )
})

describe('hosts are read from pods', () => {
  const pod = (name: string, role: string, more: { phase?: string; deleted?: boolean; node?: string } = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { 'app.kubernetes.io/name': 'kubenode', 'app.kubernetes.io/component': role },
      ...(more.deleted === true && { deletionTimestamp: '2026-01-31T12:00:00Z' }),
    },
    spec: { containers: [], ...defined({ nodeName: more.node }) },
    status: { phase: more.phase ?? 'Running' },
  })
  test('one that ended, is being deleted or has no node does not count', () => {
    const pods = [
      pod('a', 'sync', { node: 'n-1' }),
      pod('b', 'defender', { node: 'n-1' }),
      pod('c', 'sync', { node: 'n-2', phase: 'Failed' }),
      pod('d', 'sync', { node: 'n-3', deleted: true }),
      pod('e', 'sync'),
    ]
    expect(hostsOf(pods)).toEqual(new Map([['n-1', new Set(['sync', 'defender'])]]))
  })
  test('the leader is found by the name of its pod before the separator', () => {
    const pods = [pod('kubenode-sync-x', 'sync', { node: 'n-1' }), pod('kubenode-sync-xy', 'sync', { node: 'n-2' })]
    expect(leadingNodes(pods, ['kubenode-sync-x_1-abc', 'laptop'])).toEqual(new Set(['n-1']))
  })
})
