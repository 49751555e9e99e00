import type { Node } from '#nodes/objects.ts'
import type { Host } from '#providers/port.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MOST_ORPHANS, ORPHAN_GRACE_MS, type OrphanInput, planOrphans } from './orphans.ts'

const host = (id: string, extra: Partial<Host> = {}): Host => ({
  providerID: `cloud://${id}`,
  clientToken: `uid-${id}`,
  machineUid: `uid-${id}`,
  machine: id,
  state: 'Running',
  createdAt: '2026-01-05T00:00:00Z',
  ...extra,
})
const machine = (id: string) => ({ metadata: { name: id, uid: `uid-${id}` } })
const node = (isReady: boolean): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: {
    conditions: [
      { type: 'Ready', status: isReady ? 'True' : 'Unknown', reason: '', message: '', lastTransitionTime: '' },
    ],
  },
})
const OLD = new Map(['a', 'b', 'c'].map((id) => [`cloud://${id}`, 0]))
const input = (i: Partial<OrphanInput>): OrphanInput => ({
  hosts: [host('a'), host('b')],
  machines: [machine('b')],
  nodeNamed: () => undefined,
  since: OLD,
  now: ORPHAN_GRACE_MS,
  ...i,
})
const ids = (hosts: readonly Host[]) => hosts.map((h) => h.machine)
const told = (i: Partial<OrphanInput>) => {
  const { orphans, remove, kept } = planOrphans(input(i))
  return { orphans: ids(orphans), remove: ids(remove), kept: kept.map((k) => `${k.host.machine}: ${k.why}`) }
}

describe('a host that no machine names', () => {
  test('goes when its grace is over', () => {
    expect(told({})).toEqual({ orphans: ['a'], remove: ['a'], kept: [] })
  })

  test('is reported from the first reconcile, and stays for its grace period', () => {
    expect(told({ now: ORPHAN_GRACE_MS - 1 })).toEqual({ orphans: ['a'], remove: [], kept: [] })
    expect(told({ since: new Map() })).toEqual({ orphans: ['a'], remove: [], kept: [] })
  })

  test('stays while a Node lives on it', () => {
    expect(told({ nodeNamed: () => node(true) })).toEqual({ orphans: ['a'], remove: [], kept: ['a: node a is Ready'] })
    expect(told({ nodeNamed: () => node(false) }).remove).toEqual(['a'])
  })

  test('of a machine that was created again under the same name has no owner either', () => {
    expect(told({ machines: [{ metadata: { name: 'a', uid: 'another' } }, machine('b')] }).remove).toEqual(['a'])
  })

  test('that is on its way out is left to go', () => {
    expect(told({ hosts: [host('a', { state: 'Deleting' })] }).orphans).toEqual([])
  })

  test('is one of many: then the Machines were lost, and none is deleted', () => {
    const hosts = Array.from({ length: MOST_ORPHANS + 1 }, (_, i) => host(`h${i}`))
    const since = new Map(hosts.map((h) => [h.providerID, 0]))
    const plan = told({ hosts, machines: [], since })
    expect([plan.orphans.length, plan.remove]).toEqual([MOST_ORPHANS + 1, []])
    expect(plan.kept[0]).toBe('h0: 11 hosts without a Machine at once')
  })

  test('never takes a host with it that a machine names', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd')
    fc.assert(
      fc.property(fc.uniqueArray(name), fc.uniqueArray(name), fc.nat(2 * ORPHAN_GRACE_MS), (hosts, machines, now) => {
        const { remove } = planOrphans(
          input({ hosts: hosts.map((h) => host(h)), machines: machines.map(machine), now }),
        )
        for (const h of remove) {
          expect(machines).not.toContain(h.machine)
          expect(now - (OLD.get(h.providerID) ?? now)).toBeGreaterThanOrEqual(ORPHAN_GRACE_MS)
        }
      }),
      { numRuns: 300 },
    )
  })
})
