// A page that applied all changes equals a freshly loaded one, over random changes of machines, repairs and blames.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { appliedAll } from '../delta.ts'
import { MACHINE_COLUMNS } from '../machine-columns.ts'
import type { Delta, MachinesTopic } from '../protocol.ts'
import type { ClusterState } from './cluster-cache.ts'
import { ClusterMachines } from './cluster-machines.ts'
import { isShownAlike, type MachineRow } from './machine-row.ts'

const row = (name: string, rack: string, phase: string, since = 1): MachineRow => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  place: { zone: '', rack, pool: '', class: '', labels: {} },
  state: {
    phase,
    versions: '',
    kernel: '',
    health: '',
    silent: 'No',
    reason: '',
    isFrozen: false,
    isReady: true,
    service: 'Healthy',
  },
  node: '',
  since,
  failures: [],
})

/** A cluster that tests modify. */
class World {
  readonly machines = new Map<string, MachineRow>()
  jobs: readonly object[] = []
  blames: readonly object[] = []
  readonly state = {
    name: 'test',
    list: (kind: string) => this.#listOf(kind),
    node: () => undefined,
    machine: (name: string) => this.machines.get(name),
  } as unknown as ClusterState

  #listOf(kind: string): readonly unknown[] {
    if (kind === 'machines') return [...this.machines.values()]
    if (kind === 'jobs') return this.jobs
    return kind === 'ledgers' ? [{ spec: { blames: this.blames } }] : []
  }
}

/** By name, as texts: pages may number words and machines in another order. */
const textsOf = ({ names, words, columns }: MachinesTopic): unknown =>
  Object.fromEntries(
    names.map((name, at) => [
      name,
      MACHINE_COLUMNS.map((column) => (column === 'since' ? columns.since[at] : words[columns[column][at] ?? 0])),
    ]),
  )

const NAMES = ['a', 'b', 'c', 'd'] as const
const aChange = fc.oneof(
  fc.record({
    kind: fc.constant('Put' as const),
    name: fc.constantFrom(...NAMES),
    rack: fc.constantFrom('', 'r1', 'r2'),
    phase: fc.constantFrom('Ready', 'Failed', 'Updating'),
  }),
  fc.record({ kind: fc.constant('Delete' as const), name: fc.constantFrom(...NAMES) }),
  fc.record({ kind: fc.constant('Repairs' as const), of: fc.subarray([...NAMES]) }),
  fc.record({ kind: fc.constant('Blame' as const), racks: fc.subarray(['r1', 'r2']) }),
  fc.record({ kind: fc.constant('Send' as const) }),
)
type Change = typeof aChange extends fc.Arbitrary<infer T> ? T : never

function change(world: World, machines: ClusterMachines, to: Exclude<Change, { kind: 'Send' }>): void {
  if (to.kind === 'Put') {
    const [old, now] = [world.machines.get(to.name), row(to.name, to.rack, to.phase)]
    world.machines.set(to.name, now)
    if (old === undefined || !isShownAlike(old, now)) machines.changed(to.name)
  } else if (to.kind === 'Delete') {
    if (world.machines.delete(to.name)) machines.changed(to.name)
  } else {
    if (to.kind === 'Repairs')
      world.jobs = to.of.map((name) => ({ spec: { machine: name, node: { name } }, status: { phase: 'Running' } }))
    else world.blames = to.racks.map((value) => ({ kind: 'Rack', component: '', value }))
    machines.touch()
  }
}

test('a page that applies every change shows what a new page reads', () =>
  fc.assert(
    fc.property(fc.array(aChange, { maxLength: 60 }), fc.constantFrom(0, 2), (changes, there) => {
      const world = new World()
      for (const name of NAMES.slice(0, there)) world.machines.set(name, row(name, 'r1', 'Ready'))
      const machines = new ClusterMachines(world.state, 'start', 'all')
      let page = machines.snapshot('start-1', 1)
      const send = (revision: number): void => {
        const taken = machines.takeChanges(`start-${revision}`, revision, revision)
        if (taken === 'Renewed') throw new Error('a few words do not fill the dictionary')
        if (taken !== 'Nothing')
          page = appliedAll(page, [JSON.parse(taken.json) as Delta], `start-${revision}`, revision)
        expect(textsOf(page)).toEqual(textsOf(machines.snapshot(`start-${revision}`, revision)))
      }
      changes.forEach((to, n) => (to.kind === 'Send' ? send(n + 2) : change(world, machines, to)))
      send(changes.length + 2)
      expect(machines.takeChanges('x', 999, 999)).toBe('Nothing')
    }),
  ))

test('too many words are begun again, and what is remembered begins there', () => {
  const world = new World()
  world.machines.set('a', row('a', '', 'Ready'))
  const machines = new ClusterMachines(world.state, 'start', 'all')
  const log = machines.logAt('start-1', 1)
  const put = (phase: string, n: number) => {
    world.machines.set('a', row('a', '', phase))
    machines.changed('a')
    return machines.takeChanges(`start-${n}`, n, n)
  }
  let n = 2
  while (put(`phase-${n}`, n) !== 'Renewed') n++
  expect(n).toBeGreaterThan(40_000)
  const fresh = machines.snapshot(`start-${n}`, n)
  expect(fresh.words.length).toBeLessThan(10)
  expect(log.since(n - 1)).toBeUndefined()
  expect(log.since(n)).toEqual([])
  expect(textsOf(log.at(n) as MachinesTopic)).toEqual(textsOf(fresh))
})
