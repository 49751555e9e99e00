import type { Machine } from '#api/kinds/machine.ts'
import type { Host } from '#providers/port.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ORPHAN_GRACE_MS, type OrphanInput, mostOrphans, planOrphans } from './plan.ts'

const host = (id: string, extra: Partial<Host> = {}): Host => ({
  providerID: `cloud://${id}`,
  clientToken: `token-${id}`,
  machineUid: `uid-${id}`,
  machine: id,
  state: 'Running',
  createdAt: '2026-01-05T00:00:00Z',
  ...extra,
})
const machine = (id: string, providerID = `cloud://${id}`, token = `token-${id}`) =>
  ({ metadata: { name: id, uid: `uid-${id}` }, spec: { providerID }, status: { provisioning: { token } } }) as Machine
const OLD = new Map(['a', 'b', 'c', 'b2'].map((id) => [`cloud://${id}`, 0]))
const input = (i: Partial<OrphanInput>): OrphanInput => ({
  hosts: [host('a'), host('b')],
  machines: [machine('b')],
  lastSeenOf: () => undefined,
  since: OLD,
  now: ORPHAN_GRACE_MS,
  visibleWithinMs: 60_000,
  policy: 'Delete',
  isApproved: () => false,
  ...i,
})
const ids = (hosts: readonly Host[]) => hosts.map((h) => h.providerID.slice('cloud://'.length))
const planned = (i: Partial<OrphanInput>) => {
  const { orphans, remove, kept } = planOrphans(input(i))
  return { orphans: ids(orphans), remove: ids(remove), kept: kept.map((k) => `${k.host.machine}: ${k.why}`) }
}

describe('a host that no Machine has', () => {
  test('is deleted when its grace period is over, where the providers file says so', () => {
    expect(planned({})).toEqual({ orphans: ['a'], remove: ['a'], kept: [] })
    expect(planned({ policy: 'Report' })).toEqual({
      orphans: ['a'],
      remove: [],
      kept: ['a: reported only; kubenode provider orphans --delete cloud://a approves its deletion'],
    })
  })

  test('and whose id a shell would run is named in the command as one word', () => {
    const hosts = [host('a;$(id)'), host('b')]
    const since = new Map(hosts.map((h) => [h.providerID, 0]))
    expect(planned({ hosts, since, policy: 'Report' }).kept).toEqual([
      "a;$(id): reported only; kubenode provider orphans --delete 'cloud://a;$(id)' approves its deletion",
    ])
  })

  test('is deleted after its grace period once a person approved that, however many there are, but never while something of it was observed', () => {
    const isApproved = (h: Host) => h.providerID === 'cloud://a'
    const many = ['a', 'c', 'd', 'e', 'f', 'g'].map((id) => host(id))
    const since = new Map(many.map((h) => [h.providerID, 0]))
    expect(planned({ policy: 'Report', isApproved }).remove).toEqual(['a'])
    expect(planned({ policy: 'Report', isApproved, hosts: many, since }).remove).toEqual(['a'])
    expect(planned({ policy: 'Report', isApproved, now: ORPHAN_GRACE_MS - 1 }).remove).toEqual([])
    expect(planned({ isApproved, lastSeenOf: () => 'agent a ran on it' }).remove).toEqual([])
  })

  test('is reported from the first list, and stays for its grace period', () => {
    expect(planned({ now: ORPHAN_GRACE_MS - 1 })).toEqual({ orphans: ['a'], remove: [], kept: [] })
    expect(planned({ since: new Map() })).toEqual({ orphans: ['a'], remove: [], kept: [] })
  })

  test('stays for as long as the provider takes to show things, if that is longer', () => {
    const visibleWithinMs = 2 * ORPHAN_GRACE_MS
    expect(planned({ visibleWithinMs, now: visibleWithinMs - 1 }).remove).toEqual([])
    expect(planned({ visibleWithinMs, now: visibleWithinMs }).remove).toEqual(['a'])
  })

  test('is never deleted when a Node or an agent of it was observed', () => {
    expect(planned({ lastSeenOf: () => 'node a is on it', now: 1e12 })).toEqual({
      orphans: ['a'],
      remove: [],
      kept: ['a: node a is on it; adopt it or delete it at the provider'],
    })
  })

  test('and whose name was given to a new Machine has no owner either', () => {
    const again = { ...machine('a', 'cloud://a2'), metadata: { name: 'a', uid: 'another' } }
    expect(planned({ machines: [again, machine('b')] }).remove).toEqual(['a'])
  })

  test('but that a Machine names is never deleted: the provider may be mistaken about its owner', () => {
    const isApproved = () => true
    expect(planned({ hosts: [host('b', { machineUid: 'another' })], now: 1e12, isApproved })).toEqual({
      orphans: ['b'],
      remove: [],
      kept: ['b: machine b names it; delete that Machine or delete the host at the provider'],
    })
  })

  test('is left alone while it is being deleted', () => {
    expect(planned({ hosts: [host('a', { state: 'Deleting' })] }).orphans).toEqual([])
  })

  test('is one of many: then Machines were lost, and none is deleted', () => {
    const hosts = Array.from({ length: 4 }, (_, i) => host(`h${i}`))
    const since = new Map(hosts.map((h) => [h.providerID, 0]))
    const plan = planned({ hosts, machines: [], since })
    expect([plan.orphans.length, plan.remove]).toEqual([4, []])
    expect(plan.kept[0]).toBe('h0: 4 hosts without a Machine at once (limit 3); check whether Machines were lost')
    expect([mostOrphans(0), mostOrphans(300), mostOrphans(1_000)]).toEqual([3, 3, 10])
  })
})

describe('two hosts of one Machine', () => {
  const second = host('b2', { machineUid: 'uid-b', machine: 'b' })

  test('the one that is written down is kept, the other is an orphan', () => {
    expect(planned({ hosts: [host('b'), second] })).toEqual({ orphans: ['b2'], remove: ['b2'], kept: [] })
  })

  test('made with one token: the other is an orphan, and stays while the agent of the Machine may be on it', () => {
    const twin = { ...second, clientToken: 'token-b' }
    expect(planned({ hosts: [host('b'), twin] }).orphans).toEqual(['b2'])
    expect(planned({ hosts: [host('b'), twin], lastSeenOf: () => 'agent b ran on it' })).toEqual({
      orphans: ['b2'],
      remove: [],
      kept: ['b: agent b ran on it; adopt it or delete it at the provider'],
    })
  })

  test('the one with the recorded token is no orphan, and neither is one whose sibling is not listed', () => {
    expect(planned({ hosts: [host('b'), second], machines: [machine('b', 'cloud://b', 'token-b2')] }).orphans).toEqual(
      [],
    )
    expect(planned({ hosts: [second] }).orphans).toEqual([])
    const unnamed = { ...machine('b'), spec: {} } as Machine
    expect(planned({ hosts: [host('b'), second], machines: [unnamed] }).orphans).toEqual([])
  })
})

test('whatever is listed, no host is deleted that a Machine names or that was observed', () => {
  const name = fc.constantFrom<string[]>('a', 'b', 'c', 'd')
  fc.assert(
    fc.property(
      fc.uniqueArray(name),
      fc.uniqueArray(name),
      fc.uniqueArray(name),
      fc.nat(2 * ORPHAN_GRACE_MS),
      (hosts, machines, lastSeen, now) => {
        const { remove } = planOrphans(
          input({
            hosts: hosts.map((h) => host(h)),
            machines: machines.map((m) => machine(m)),
            lastSeenOf: (h) => (lastSeen.includes(h.machine) ? 'x' : undefined),
            now,
          }),
        )
        for (const h of remove) {
          expect(machines).not.toContain(h.machine)
          expect(lastSeen).not.toContain(h.machine)
          expect(now - (OLD.get(h.providerID) ?? now)).toBeGreaterThanOrEqual(ORPHAN_GRACE_MS)
        }
      },
    ),
    { numRuns: 300 },
  )
})
