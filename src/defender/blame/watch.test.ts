// F19 and F20 from the Defender's view: what it observes, what it writes into the ledger, and what a second Defender reads there.
import { expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { LABELS } from '#api/names.ts'
import { aMachine, aSnapshot, START_MS } from '#test/support/fleets/defender-objects.ts'
import { fleetView } from '../fleet.ts'
import { decide } from '../plan.ts'
import { EVERYTHING } from '../tally.ts'
import { cohortOf } from './latch.ts'
import { BlameWatch } from './watch.ts'

const MINUTE = 60_000

/** A hundred machines in racks of ten and zones of fifty. The given ones are silent. */
const machinesWith = (silent: ReadonlySet<number>) =>
  Array.from({ length: 100 }, (_, i) =>
    aMachine({
      name: `m-${i}`,
      rack: `r${Math.trunc(i / 10)}`,
      zone: `z${Math.trunc(i / 50)}`,
      ...(silent.has(i) && { reachable: 'Unknown' }),
    }),
  )

class Story {
  minute = 0
  ledger: LedgerSpec | undefined
  #watch = this.#newWatch()

  #newWatch(): BlameWatch {
    return new BlameWatch({ monotonic: () => this.minute * MINUTE } as ConstructorParameters<typeof BlameWatch>[0])
  }

  restart(): void {
    this.#watch = this.#newWatch()
  }

  /** The blame after one decision per minute, for this many minutes, with these machines silent. */
  pass(minutes: number, silent: readonly number[]): readonly string[] {
    const machines = machinesWith(new Set(silent))
    const fleet = fleetView({ machines, nodes: [], clusters: [] })
    for (let m = 0; m < minutes; m++) {
      this.minute++
      const now = START_MS + this.minute * MINUTE
      const open = (this.ledger?.blames ?? []).map(cohortOf)
      const suspicions = this.#watch.observe({ permits: () => [], grants: [], fleet, wall: now, maintenance: [] }, open)
      const decision = decide(aSnapshot({ machines, suspicions }), this.ledger, { now, leader: 'a' })
      this.ledger = decision.ledger ?? this.ledger
    }
    return (this.ledger?.blames ?? []).map((b) => `${b.kind} ${b.value}`)
  }
}

const upTo = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i)

test('a rack that fails as one is named with its machines, and is well only half an hour after its last failure', () => {
  const story = new Story()
  expect(story.pass(1, [])).toEqual([])
  expect(story.pass(1, [0, 1, 2, 3])).toEqual(['Rack r0'])
  expect(story.ledger?.blames).toMatchObject([{ machines: ['m-0', 'm-1', 'm-2', 'm-3'], failing: 4, members: 10 }])
  // One in ten is more than one in twenty, so it stays blamed however long it takes.
  expect(story.pass(60, [0])).toEqual(['Rack r0'])
  expect(story.pass(20, [])).toEqual(['Rack r0'])
  expect(story.pass(15, [])).toEqual([])
})

test('a Defender that starts again finds in the ledger what was ill, and one machine is enough to keep it so', () => {
  const story = new Story()
  story.pass(1, [0, 1, 2, 3])
  story.restart()
  expect(story.pass(40, [0])).toEqual(['Rack r0'])
  const fresh = new Story()
  expect(fresh.pass(40, [0])).toEqual([])
})

test('a third of the agents silent in one zone is the zone, not dead machines (F20)', () => {
  expect(new Story().pass(1, upTo(33))).toEqual(['Zone z0'])
})

test('everything silent at once is no place: the limits for the whole cluster hold (F19)', () => {
  expect(new Story().pass(1, upTo(100))).toEqual([])
})

test('a host that takes its two machines along is a place', () => {
  const machines = machinesWith(new Set([0, 1])).map((m, i) => ({
    ...m,
    metadata: { ...m.metadata, labels: { [LABELS.host]: `h${Math.trunc(i / 2)}` } },
  }))
  const fleet = fleetView({ machines, nodes: [], clusters: [] })
  const watch = new BlameWatch({ monotonic: () => 0 } as ConstructorParameters<typeof BlameWatch>[0])
  const found = watch.observe({ permits: () => [], grants: [], fleet, wall: START_MS, maintenance: [] }, [])
  expect(found.map((s) => `${s.cohort.kind} ${s.cohort.value}`)).toEqual(['Host h0'])
})

test('of a fleet only those that fail are read, however many places have a failure', () => {
  const machines = Array.from({ length: 1_000 }, (_, i) =>
    aMachine({ name: `m-${i}`, rack: `r${i % 100}`, ...(i < 400 && { reachable: 'Unknown' }) }),
  )
  const fleet = fleetView({ machines, nodes: [], clusters: [] })
  // Counted once, and updated from then on.
  expect(fleet.cohorts.total.all).toBe(1_000)
  expect(fleet.tally(EVERYTHING, 'machines').total).toBe(1_000)
  Object.defineProperty(fleet, 'units', { get: () => expect.unreachable('all machines are read') })
  const watch = new BlameWatch({ monotonic: () => 0 } as ConstructorParameters<typeof BlameWatch>[0])
  const found = watch.observe({ permits: () => [], grants: [], fleet, wall: START_MS, maintenance: [] }, [])
  expect(found).toEqual([])
})
