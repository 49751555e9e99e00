// What gates read from a cluster: a machine counts as consistent only with its declared components, ordered or not.
import { expect, test } from 'vitest'
import { machineComponentSet, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { failingMachines, readingsOf } from './readings.ts'

type Entry = NonNullable<Machine['spec']['components']>[number]
const entry = (name: string, version: string, more: Partial<Entry> = {}): Entry => ({
  name,
  version,
  attempt: 1,
  setRef: 'base',
  ...more,
})

function aMachine(ordered: readonly Entry[], runs: Readonly<Record<string, string>>, channel = 'Agent'): Machine {
  const since = '2026-01-31T12:00:00Z'
  return {
    ...machine.example,
    metadata: { name: 'm1', uid: 'u-m1', labels: { pool: 'workers' } },
    spec: { channel, components: ordered },
    status: {
      phase: 'Ready',
      components: Object.entries(runs).map(([name, version]) => ({ name, version, state: 'Healthy', since })),
    },
  } as unknown as Machine
}

function aSet(name: string, wanted: Readonly<Record<string, string>>, more: object = {}): MachineComponentSet {
  const components = Object.entries(wanted).map(([n, version]) => ({ name: n, version }))
  const spec = { selector: { matchLabels: { pool: 'workers' } }, priority: 0, components, ...more }
  return { ...machineComponentSet.example, metadata: { name, generation: 2 }, spec } as unknown as MachineComponentSet
}

async function reading(m: Machine, ...sets: readonly MachineComponentSet[]) {
  const lists = new Map<string, readonly object[]>([
    [machine.kind, [m]],
    [machineComponentSet.kind, sets],
  ])
  const list = async ({ kind }: { kind: string }) => ({ metadata: {}, items: lists.get(kind) ?? [] })
  const connection = { program: { list } } as unknown as ClusterConnection
  return (await readingsOf(connection, { machines: true, repairs: false }, undefined)).machines
}

const NEW = { containerd: '2.0.0' }
const OLD = { containerd: '1.0.0' }
const ordered = [entry('containerd', '1.0.0')]

test.each<[string, Machine, readonly MachineComponentSet[], boolean]>([
  ['runs what is declared', aMachine(ordered, OLD), [aSet('base', OLD)], true],
  ['has not been ordered the declared version yet', aMachine(ordered, OLD), [aSet('base', NEW)], false],
  ['was ordered nothing yet', aMachine([], {}), [aSet('base', NEW)], false],
  ['has the order and has not switched', aMachine([entry('containerd', '2.0.0')], OLD), [aSet('base', NEW)], false],
  [
    'still has what its set has dropped',
    aMachine([...ordered, entry('node-agent', '1.0.0')], { ...OLD, 'node-agent': '1.0.0' }),
    [aSet('base', OLD)],
    false,
  ],
  [
    'has a component of a set that is gone, which other rules take back',
    aMachine([...ordered, entry('node-agent', '1.0.0', { setRef: 'gone' })], { ...OLD, 'node-agent': '1.0.0' }),
    [aSet('base', OLD)],
    true,
  ],
  [
    'is of another pool',
    aMachine(ordered, OLD),
    [aSet('base', NEW, { selector: { matchLabels: { pool: 'x' } } })],
    true,
  ],
  ['is only observed', aMachine([], {}, 'Observe'), [aSet('base', NEW)], true],
  [
    'follows the set of higher priority',
    aMachine(ordered, OLD),
    [aSet('base', OLD), aSet('z', NEW, { priority: 1 })],
    false,
  ],
  ['keeps the set that decides, among equals', aMachine(ordered, OLD), [aSet('a', NEW), aSet('base', OLD)], true],
  [
    'tries the version of a canary',
    aMachine([entry('containerd', '3.0.0', { canaryRef: 'try' })], { containerd: '3.0.0' }),
    [aSet('base', NEW)],
    true,
  ],
])('a machine that %s', async (_, m, sets, isConsistent) => {
  expect(await reading(m, ...sets)).toMatchObject({ total: 1, inconsistent: isConsistent ? [] : ['u-m1'] })
})

test('a skipped machine is left out by its name, and only as long as its set speaks of what is declared now', async () => {
  const skipped = (observedGeneration: number): MachineComponentSet => ({
    ...aSet('base', NEW),
    status: { observedGeneration, skipped: [{ machine: 'm1', reason: 'silent' }] },
  })
  expect((await reading(aMachine(ordered, OLD), skipped(2)))?.skipped).toEqual(['u-m1'])
  expect((await reading(aMachine(ordered, OLD), skipped(1)))?.skipped).toEqual([])
})

test.each<[string, object, readonly object[]]>([
  ['a machine that waits for its turn', {}, [{ state: 'InProgress', reason: 'Inconsistent' }]],
  ['a machine that is being switched', { phase: 'Updating' }, [{ state: 'InProgress' }]],
  ['a component that failed', { state: 'Failed' }, [{ state: 'Failed', reason: 'Inconsistent' }]],
  ['a machine that is not Ready', { phase: 'Degraded' }, [{ state: 'Failed', reason: 'NotReady' }]],
])(
  'before a release, %s',
  async (_, { phase = 'Ready', state = 'Healthy' }: { phase?: string; state?: string }, is) => {
    const m = aMachine([entry('containerd', '2.0.0')], OLD)
    const components = m.status?.components?.map((c) => ({ ...c, state }))
    const list = async () => ({ metadata: {}, items: [{ ...m, status: { ...m.status, phase, components } }] })
    const connection = { program: { list } } as unknown as ClusterConnection
    expect(await failingMachines(connection, undefined)).toMatchObject(is)
  },
)
