import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aMachine, condition, uidOf } from '#test/support/fleets/defender-objects.ts'
import { cohortKey } from './blame/cohorts.ts'
import { Fleet, fleetView } from './fleet.ts'
import { EVERYTHING, type Selecting } from './tally.ts'
import type { Unit } from './unit.ts'
import { defined } from '#lib/defined.ts'

const NAMES = ['a', 'b', 'c', 'd'] as const
const RACKS = ['', 'r1', 'r2'] as const
const STATUS = ['True', 'False', 'Unknown'] as const

const someName = fc.constantFrom(...NAMES)
const someMachine = fc
  .record({
    rack: fc.constantFrom(...RACKS),
    ready: fc.constantFrom(...STATUS),
    reachable: fc.constantFrom(...STATUS),
    life: fc.constantFrom('1', '2'),
    node: fc.option(fc.record({ name: someName, life: fc.constantFrom('1', '2') })),
    component: fc.constantFrom('Healthy', 'Failed'),
  })
  .map(({ node, life, component, ...wish }) => (name: string) => {
    const made = aMachine({ name, runs: { kubelet: '1' }, ...wish })
    const nodeRef = node === null ? undefined : { name: node.name, uid: uidOf(`${node.name}-${node.life}`) }
    const components = made.status?.components?.map((c) => ({ ...c, state: component as 'Healthy' }))
    const status = { ...made.status, components, ...defined({ nodeRef }) } as typeof made.status
    return { ...made, metadata: { ...made.metadata, uid: uidOf(`${name}-m${life}`) }, ...defined({ status }) }
  })
const someNode = fc
  .record({ rack: fc.constantFrom(...RACKS), ready: fc.constantFrom(...STATUS), life: fc.constantFrom('1', '2') })
  .map(({ rack, ready, life }) => (name: string) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: uidOf(`${name}-${life}`), labels: { 'topology.kubernetes.io/rack': rack } },
    status: { conditions: [condition('Ready', ready)] },
  }))
const step = fc.oneof(
  fc.record({ name: someName, machine: fc.option(someMachine) }),
  fc.record({ name: someName, node: fc.option(someNode) }),
)

const RACK_1: Selecting = { selects: (u) => u.rack === 'r1' }

const lookOf = (
  fleet: Fleet,
  all: readonly { readonly kind: 'Machine' | 'Node'; readonly name: string; readonly uid: string }[],
) => ({
  units: fleet.units.map(told).toSorted(),
  found: all.map((target) => {
    const found = fleet.find(target)
    return found.kind === 'Found' ? told(found.unit) : found.kind
  }),
  tallies: [EVERYTHING, RACK_1].map((selecting) => {
    const tally = fleet.tally(selecting, 'machines')
    const { total, silent, troubled } = tally
    return [total, silent, [...troubled].map(told).toSorted(), RACKS.map((r) => tally.countIn('rack', r))]
  }),
  cohorts: [fleet.cohorts.total, RACKS.map((value) => fleet.cohorts.of(cohortKey({ kind: 'Rack', value })))],
})

const told = ({ id, health, isSilent, rack, nodeName }: Unit): string =>
  JSON.stringify([id, health, isSilent, rack, nodeName])

test('a fleet that is kept as objects come, change and go is the fleet that is made of what there is', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const kept = new Fleet()
      const machines = new Map<string, ReturnType<typeof aMachine>>()
      const nodes = new Map<string, { readonly metadata: { readonly name: string; readonly uid: string } }>()
      // Counted from the start, so that every change must be counted as well.
      for (const selecting of [EVERYTHING, RACK_1]) kept.tally(selecting, 'machines')
      expect(kept.cohorts.total.all).toBe(0)
      for (const one of steps) {
        const before = kept.version
        if ('machine' in one) {
          const machine = one.machine?.(one.name)
          if (machine === undefined) machines.delete(one.name)
          else machines.set(one.name, machine)
          kept.putMachine(one.name, machine)
          expect(machine === undefined || kept.version > before).toBe(true)
        } else {
          const node = one.node?.(one.name)
          if (node === undefined) nodes.delete(one.name)
          else nodes.set(one.name, node)
          kept.putNode(one.name, node)
        }
        const all = NAMES.flatMap((name) =>
          ['1', '2'].flatMap((life) => [
            { kind: 'Machine' as const, name, uid: uidOf(`${name}-m${life}`) },
            { kind: 'Node' as const, name, uid: uidOf(`${name}-${life}`) },
          ]),
        )
        const made = fleetView({ machines: [...machines.values()], nodes: [...nodes.values()] as never, clusters: [] })
        expect(lookOf(kept, all)).toEqual(lookOf(made, all))
      }
    }),
    { numRuns: 150 },
  )
})
