// Compares packed machines with a plain Map, and measures the size of one.
import { randomUUID } from 'node:crypto'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type MachineRow, machineRow } from './machine-row.ts'
import { PackedMachines } from './packed-machines.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'node-10', 'node-9', 'ä'] as const

const aRow = fc
  .record({
    name: fc.constantFrom(...NAMES),
    uid: fc.oneof(fc.uuid(), fc.constantFrom('', 'not-a-uid', 'AAAAAAAA-0000-0000-0000-000000000000')),
    resourceVersion: fc.oneof(
      fc.bigInt({ min: 0n, max: 9_999_999_999_999_999_999n }).map(String),
      fc.constantFrom('', 'abc', '007', '99999999999999999999999'),
    ),
    zone: fc.constantFrom('', 'zone-a', 'zone-b'),
    labels: fc.constantFrom({}, { pool: 'x' }, { pool: 'x', tier: 'y' }),
    phase: fc.constantFrom('Ready', 'Failed'),
    isReady: fc.boolean(),
    node: fc.constantFrom('', 'another'),
    since: fc.constantFrom(0, 1, 2 ** 32 - 1),
    failures: fc.constantFrom([], [{ component: 'kubelet', isRolledBack: false, set: 's', text: 'Failed', since: '' }]),
  })
  .map(({ name, uid, resourceVersion, zone, labels, phase, isReady, ...row }): MachineRow => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name, uid, resourceVersion },
    place: { zone, rack: '', pool: '', class: '', labels },
    state: {
      phase,
      versions: '',
      kernel: '',
      health: '',
      silent: 'No',
      reason: '',
      isFrozen: false,
      isReady,
      service: 'Healthy',
    },
    ...row,
  }))

const steps = fc.array(fc.oneof({ weight: 2, arbitrary: aRow }, fc.constantFrom(...NAMES)), { maxLength: 200 })

const listed = (rows: Iterable<MachineRow>): readonly MachineRow[] =>
  [...rows]
    .map((row) => ({ ...row, metadata: { name: row.metadata.name ?? '' } }))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))

test('what was set is there until it is deleted, as in a Map', () =>
  fc.assert(
    fc.property(steps, (all) => {
      const [packed, plain] = [new PackedMachines(), new Map<string, MachineRow>()]
      for (const step of all) {
        const name = typeof step === 'string' ? step : (step.metadata.name ?? '')
        for (const objects of [packed, plain])
          if (typeof step === 'string') objects.delete(name)
          else objects.set(name, step)
        expect([packed.size, NAMES.map((each) => packed.get(each)), packed.values()]).toEqual([
          plain.size,
          NAMES.map((each) => plain.get(each)),
          listed(plain.values()),
        ])
      }
      for (const name of packed.keys()) packed.delete(name)
      expect([packed.size, packed.values()]).toEqual([0, []])
    }),
  ))

/** As an agent with four components reports it, in one of 300 racks. */
const machine = (n: number): Machine =>
  JSON.parse(
    JSON.stringify({
      apiVersion: API_GROUP_VERSION,
      kind: 'Machine',
      metadata: {
        name: `ip-10-0-${n % 256}-${n}`,
        uid: randomUUID(),
        resourceVersion: String(1_000_000 + n),
        labels: { pool: `pool-${n % 4}` },
      },
      spec: { zone: `zone-${n % 3}`, rack: `rack-${n % 300}`, pool: `pool-${n % 4}` },
      status: {
        phase: n % 50 === 0 ? 'Updating' : 'Ready',
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'AllWell',
            message: '',
            lastTransitionTime: new Date(Date.UTC(2026, 0, 31) + n * 1_000).toISOString(),
          },
        ],
        components: ['kubelet', 'containerd', 'cni', 'problem-detector'].map((name) => ({
          name,
          version: `1.0.${n % 5}`,
          state: 'Healthy',
          since: '2026-01-31T12:00:00Z',
        })),
      },
    }),
  ) as Machine

test('a machine takes at most 100 bytes, with its name and what it shares with others', () => {
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const used = (): number => {
    collect()
    const { used_heap_size: heap, external_memory: outside } = getHeapStatistics()
    return heap + outside
  }
  const filled = (count: number): PackedMachines => {
    const packed = new PackedMachines()
    for (let n = 0; n < count; n++) {
      const row = machineRow(machine(n))
      packed.set(row.metadata.name ?? '', row)
    }
    return packed
  }
  // Memory for compiling this code does not belong to a machine.
  const warm = filled(3_000)
  const count = 10_000
  const kept = [warm]
  // Other code in this process, such as the test runner, may allocate meanwhile: use the minimum of several runs.
  const each = [1, 2, 3].map(() => {
    const before = used()
    kept.push(filled(count))
    return (used() - before) / count
  })
  expect(Math.min(...each)).toBeLessThanOrEqual(100)
  expect(kept.map(({ size }) => size)).toEqual([3_000, count, count, count])
})
