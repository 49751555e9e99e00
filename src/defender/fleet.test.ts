import { describe, expect, test } from 'vitest'
import { ANNOTATIONS, TAINTS } from '#api/names.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { type MachineWish, aMachine, condition, uidOf } from '#test/support/fleets/defender-objects.ts'
import { Fleet, fleetView } from './fleet.ts'
import { EVERYTHING } from './tally.ts'
import type { Health } from './unit.ts'
import { defined } from '#lib/defined.ts'

const AT = '2026-01-05T00:00:00Z'

const node = (name: string, ready?: Condition['status'], labels = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid: uidOf(`node-${name}`), labels },
  status: { conditions: ready === undefined ? [] : [condition('Ready', ready)] },
})

function healthOf(
  wish: Partial<MachineWish>,
  ready?: Condition['status'] | 'none',
  components: readonly (readonly [string, string])[] = [],
): Health {
  const made = aMachine({ name: 'm', ...wish })
  const listed = components.map(([name, state]) => ({ name, state, since: AT }))
  const status = {
    ...made.status,
    nodeRef: { name: 'n', uid: uidOf('node-n') },
    components: listed,
  } as typeof made.status
  const nodes = ready === 'none' ? [] : [node('n', ready)]
  const view = fleetView({ machines: [{ ...made, ...defined({ status }) }], nodes, clusters: [] })
  const found = view.find({ kind: 'Machine', name: 'm', uid: uidOf('m') })
  if (found.kind !== 'Found') throw new Error(found.kind)
  return found.unit.health
}

describe('health of a machine', () => {
  test.each<readonly [string, Partial<MachineWish>, Condition['status'] | 'none' | undefined, Health]>([
    ['Ready, and its Node too: healthy', {}, 'True', 'Healthy'],
    ['Ready, its Node not seen: unknown', {}, 'none', 'Unknown'],
    ['its Node not Ready: down', {}, 'False', 'Unavailable'],
    ['its Node without a Ready condition: unknown', {}, undefined, 'Unknown'],
    ['its kubelet silent, its agent not: down', {}, 'Unknown', 'Unavailable'],
    ['both silent, not Lost yet: unknown', { reachable: 'False' }, 'Unknown', 'Unknown'],
    ['its agent silent: unknown', { reachable: 'Unknown' }, 'True', 'Unknown'],
    ['its agent silent, its Node not Ready: down', { reachable: 'False' }, 'False', 'Unavailable'],
    ['Lost: down', { phase: 'Lost', reachable: 'False', ready: 'False' }, 'Unknown', 'Unavailable'],
    ['being repaired: down', { phase: 'Repairing' }, 'True', 'Unavailable'],
    ['not Ready: down', { ready: 'False' }, 'True', 'Unavailable'],
    [
      'imported, its Node Ready: it serves',
      { phase: 'Importing', ready: 'False', reachable: 'Unknown' },
      'True',
      'Healthy',
    ],
    [
      'to be joined, its Node Ready: it serves',
      { phase: 'Joining', ready: 'False', reachable: 'Unknown' },
      'True',
      'Healthy',
    ],
    ['imported, its Node not Ready: down', { phase: 'Importing', ready: 'False' }, 'False', 'Unavailable'],
    ['imported, its kubelet silent: unknown', { phase: 'Importing', ready: 'False' }, 'Unknown', 'Unknown'],
    ['joining without a Node: down', { phase: 'Joining', ready: 'False' }, 'none', 'Unavailable'],
    ['installing, its Node Ready: down', { phase: 'Installing', ready: 'False' }, 'True', 'Unavailable'],
    ['deleted a moment ago: it serves', { deletionTimestamp: AT }, 'True', 'Healthy'],
    ['being deleted, not drained: it serves', { deletionTimestamp: AT, phase: 'Deleting' }, 'True', 'Healthy'],
    [
      'being deleted, drained: down',
      { deletionTimestamp: AT, phase: 'Deleting', ready: 'False' },
      'True',
      'Unavailable',
    ],
    [
      'being deleted, being drained: down',
      { deletionTimestamp: AT, phase: 'Draining', ready: 'False' },
      'True',
      'Unavailable',
    ],
    ['being deleted, its Node not Ready: down', { deletionTimestamp: AT, phase: 'Deleting' }, 'False', 'Unavailable'],
    [
      'being deleted, silent: unknown',
      { deletionTimestamp: AT, phase: 'Deleting', reachable: 'False' },
      'Unknown',
      'Unknown',
    ],
  ])('%s', (_, wish, ready, health) => {
    expect(healthOf(wish, ready)).toBe(health)
  })

  test.each<readonly [string, Partial<MachineWish>, Health]>([
    ['before its host is made', { phase: 'Pending', ready: 'False' }, 'NeverServed'],
    ['while it joins', { phase: 'Joining', ready: 'False' }, 'NeverServed'],
    ['when its host cannot be made', { phase: 'Failed', ready: 'False' }, 'NeverServed'],
    [
      'when it is deleted before it joined',
      { phase: 'Deleting', ready: 'False', deletionTimestamp: AT },
      'NeverServed',
    ],
    [
      'a machine that served before is unavailable',
      { phase: 'Joining', ready: 'False', inServiceSince: AT },
      'Unavailable',
    ],
  ])('without a Node, %s', (_, wish, health) => {
    const { units } = fleetView({ machines: [aMachine({ name: 'm', ...wish })], nodes: [], clusters: [] })
    expect(units.map((u) => u.health)).toEqual([health])
  })

  test.each<readonly [string, Partial<MachineWish>, Health]>([
    ['one that never served is no loss', {}, 'NeverServed'],
    ['one that served, and registered again, is down', { inServiceSince: AT }, 'Unavailable'],
  ])('a Node that still waiting for its components does not serve: %s', (_, wish, health) => {
    const made = aMachine({ name: 'm', phase: 'Joining', ready: 'False', ...wish })
    const waiting = {
      ...node('n', 'True'),
      spec: { taints: [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }] },
    }
    const status = { ...made.status, nodeRef: { name: 'n', uid: uidOf('node-n') } }
    const { units } = fleetView({ machines: [{ ...made, status }], nodes: [waiting], clusters: [] })
    expect(units.map((u) => u.health)).toEqual([health])
  })

  test.each([
    ['Joining', 'Unknown', 'True', false],
    ['Joining', 'Unknown', 'Unknown', true],
    ['Ready', 'Unknown', 'True', true],
  ] as const)('%s with its agent %s and its Node %s is silent: %s', (phase, reachable, ready, isSilent) => {
    const made = aMachine({ name: 'm', phase, reachable })
    const status = { ...made.status, nodeRef: { name: 'n', uid: uidOf('node-n') } }
    const { units } = fleetView({ machines: [{ ...made, status }], nodes: [node('n', ready)], clusters: [] })
    expect(units.map((u) => u.isSilent)).toEqual([isSilent])
  })

  test.each<readonly [string, Health]>([
    ['Staged', 'Healthy'],
    ['Fetching', 'Healthy'],
    ['RolledBack', 'Healthy'],
    ['Switching', 'Unavailable'],
    ['Probing', 'Unavailable'],
    ['Degraded', 'Unavailable'],
    ['Failed', 'Unavailable'],
  ])(
    'while updating, a component that is %s makes it %s: what is only staged must not be free to disrupt',
    (state, health) => {
      expect(healthOf({ phase: 'Updating', ready: 'False' }, 'True', [['kubelet', state]])).toBe(health)
    },
  )
})

describe('targets', () => {
  const made = aMachine({ name: 'm', rack: 'r1' })
  const machines = [{ ...made, status: { ...made.status, nodeRef: { name: 'n', uid: uidOf('node-n') } } }]
  const view = fleetView({
    machines,
    nodes: [node('n', 'True', { 'topology.kubernetes.io/zone': 'z1' }), node('x', 'True')],
    clusters: [],
  })
  const find = (kind: 'Machine' | 'Node', name: string, uid: string) => view.find({ kind, name, uid })

  test('a Node and its Machine are one unit, with the domains of both', () => {
    const [asMachine, asNode] = [find('Machine', 'm', uidOf('m')), find('Node', 'n', uidOf('node-n'))]
    expect(asNode).toEqual(asMachine)
    expect(asMachine).toMatchObject({ kind: 'Found', unit: { id: uidOf('m'), zone: 'z1', rack: 'r1' } })
  })

  test('F3 a Node that was drained for removal is no healthy machine once its Machine is gone', () => {
    const metadata = {
      ...node('n').metadata,
      annotations: { [ANNOTATIONS.cordon]: '{"machine/delete":{"reason":"r"}}' },
    }
    const drained = { ...node('n', 'True'), metadata, spec: { taints: [{ key: TAINTS.cordon, effect: 'NoSchedule' }] } }
    expect(fleetView({ machines: [], nodes: [drained], clusters: [] }).units.map((u) => u.health)).toEqual([
      'Unavailable',
    ])
  })

  test('of a Node that is Ready and is not Ready, it is unknown whether it serves', () => {
    const both = { conditions: [condition('Ready', 'True'), condition('Ready', 'False')] }
    const nodes = [{ ...node('n'), status: both }]
    expect(fleetView({ machines: [], nodes, clusters: [] }).units.map((u) => u.health)).toEqual(['Unknown'])
  })

  test('F4 a machine whose Node is another one by now is no healthy machine', () => {
    const made = aMachine({ name: 'm' })
    const machine = { ...made, status: { ...made.status, nodeRef: { name: 'n', uid: uidOf('node-n') } } }
    const again = { ...node('n', 'True'), metadata: { name: 'n', uid: 'again' } }
    const health = (...nodes: readonly KubeObject[]) =>
      fleetView({ machines: [machine], nodes, clusters: [] }).units.map((u) => u.health)
    expect(health(node('n', 'True'))).toEqual(['Healthy'])
    expect(health()).toEqual(['Unknown'])
    expect(health(again)).toEqual(['Unknown', 'Healthy'])
  })

  test('F3 a Node whose Machine was removed is no healthy machine until something new is heard of it', () => {
    const made = aMachine({ name: 'm', deletionTimestamp: AT })
    const fleet = new Fleet()
    const health = () => fleet.units.map((u) => u.health)
    fleet.putNode('n', node('n', 'True'))
    fleet.putMachine('m', { ...made, status: { ...made.status, nodeRef: { name: 'n', uid: uidOf('node-n') } } })
    expect(health()).toEqual(['Healthy'])
    fleet.putMachine('m', undefined)
    expect(health()).toEqual(['Unavailable'])
    fleet.putNode('n', node('n', 'True'))
    expect(health()).toEqual(['Healthy'])
  })

  test('a Node that no Machine names yet, and that waits for its components, is no machine more', () => {
    const waiting = {
      ...node('n', 'True'),
      spec: { taints: [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }] },
    }
    const view = fleetView({ machines: [aMachine({ name: 'm' })], nodes: [waiting], clusters: [] })
    expect(view.tally(EVERYTHING, 'machines').total).toBe(1)
  })

  test('a Node without a Machine is a unit of its own', () => {
    expect(find('Node', 'x', uidOf('node-x'))).toMatchObject({ unit: { id: uidOf('node-x'), name: 'x' } })
  })

  test('F4 another UID is another object, also under the same name', () => {
    expect([find('Machine', 'm', 'other').kind, find('Machine', 'q', 'other').kind]).toEqual(['Replaced', 'Absent'])
  })
})
