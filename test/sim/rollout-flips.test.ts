// Commits that flip between versions, with the set's own plan and the Defender's own decision: a way back passes the rate once an hour, so no fleet is restarted
// more often than its rate allows and one way back.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { permitStatus } from '#defender/status.ts'
import { recoveringTargets } from '#defender/recovery.ts'
import { decide } from '#defender/plan.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { aPolicy, aSnapshot, condition } from '#test/support/fleets/defender-objects.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet } from '#test/support/fleets/rollout-story.ts'
import { inFull, onlyInFull } from '#test/support/tools/full.ts'

const HOUR_S = 3_600
const MACHINES = inFull(20, 10)
const MAX_PER_10M = 5
/** Full windows, and the buckets at both ends. */
const mostByRate = (seconds: number): number => MAX_PER_10M * (Math.ceil(seconds / 600) + 1)
/** What follows is like the beginning. */
const QUICK_FLIPS_S = inFull(HOUR_S, HOUR_S / 20)
/** Of declarations, one after the other. */
const MOST_STEPS = inFull(30, 8)

/** The machine controller of the model says nothing of that. */
const ready = (m: Machine): Machine => ({
  ...m,
  status: { ...m.status, conditions: [...(m.status?.conditions ?? []), condition('Ready', 'True')] },
})

/** Puts the Defender's own decision in place of the one that grants everything, and counts switches by machine. */
class Flipping {
  readonly model: RolloutModel
  readonly switches = new Map<string, number>()
  ledger: LedgerSpec | undefined
  readonly #busy = new Set<string>()
  #seconds = 0

  readonly #believes: boolean

  /** `believes`: every request goes back, and nothing is remembered of the last time. */
  constructor(believes = false) {
    this.#believes = believes
    this.model = fleet(MACHINES)
    this.model.declare({ beacon: '1.1.0' }, { maxUnavailable: '100%', steps: [1, 5, 10] })
    this.model.settle()
    this.model.now += 2 * HOUR_S * 1_000
    this.model.defender = () => this.#decide()
  }

  #decide(): void {
    const { model } = this
    const machines = [...model.machines.values()].map(ready)
    const known = {
      setNamed: () => model.set,
      machineNamed: (name: string) => model.machines.get(name),
      definitions: (component: string, version: string) =>
        [...model.components.values()].filter((c) => c.spec.component === component && c.spec.version === version),
    }
    const permits = [...model.permits.values()]
    const snapshot = aSnapshot({
      machines,
      nodes: [...model.nodes.values()],
      permits,
      wall: model.now,
      policies: [aPolicy({ rates: [{ window: '10m', max: MAX_PER_10M, per: 'cluster' }] })],
      isRecovery: (permit, target) =>
        this.#believes || (permit.spec.recovery && recoveringTargets(permit, model.revisions, known).has(target)),
    })
    const before = this.#believes && this.ledger !== undefined ? { ...this.ledger, waysBack: [] } : this.ledger
    const decision = decide(snapshot, before, { now: model.now, leader: 'a' })
    this.ledger = decision.ledger ?? this.ledger
    for (const decided of decision.permits) {
      const status = permitStatus(decided, [], { now: model.now, expiresAt: undefined })
      model.permits.set(decided.permit.metadata.name ?? '', { ...decided.permit, status })
    }
  }

  /** Declares one version and the other in turn, until the time is over or too much was restarted. */
  flip(everyS: number, forS: number): void {
    for (let s = 0; s < forS && this.isWithinRate; s++) {
      if (s % everyS === 0) this.model.declare({ beacon: s % (2 * everyS) === 0 ? '1.0.0' : '1.1.0' })
      this.round()
    }
  }

  round(): void {
    this.#seconds++
    this.model.round()
    this.model.forgetEnded()
    for (const [name, { status }] of this.model.machines) {
      const isBusy = status?.components?.some((c) => isSwitching(c.state)) === true
      if (isBusy && !this.#busy.has(name)) this.switches.set(name, (this.switches.get(name) ?? 0) + 1)
      if (isBusy) this.#busy.add(name)
      else this.#busy.delete(name)
    }
  }

  get total(): number {
    return [...this.switches.values()].reduce((a, b) => a + b, 0)
  }

  /** What the rate allows by now, and one way back of each machine. */
  get isWithinRate(): boolean {
    return this.total <= mostByRate(this.#seconds) + MACHINES
  }
}

describe('a commit that flips', () => {
  test(`every two seconds for ${QUICK_FLIPS_S / 60} minutes restarts no more than the rate allows and one way back`, () => {
    const flipping = new Flipping()
    flipping.flip(2, QUICK_FLIPS_S)
    expect(flipping.isWithinRate).toBe(true)
  }, 600_000)

  test('slowly enough that each way back gets somewhere gets one way back an hour', (context) => {
    onlyInFull(context)
    const flipping = new Flipping()
    flipping.flip(120, HOUR_S)
    expect(flipping.switches.size).toBe(MACHINES)
    expect(flipping.isWithinRate).toBe(true)
    expect(flipping.total).toBeGreaterThanOrEqual(MACHINES + MAX_PER_10M)
  }, 600_000)

  test('is found to restart more when everybody is believed who says that this goes back', () => {
    const flipping = new Flipping(true)
    flipping.flip(60, HOUR_S)
    expect(flipping.isWithinRate).toBe(false)
  }, 600_000)

  test('at any pace, whatever is lost meanwhile, stays within that', () => {
    const versions = fc.constantFrom('1.0.0', '1.1.0', '1.2.0')
    const loss = fc.constantFrom('nothing', 'permits', 'status')
    const step = fc.record({ version: versions, forS: fc.integer({ min: 1, max: 120 }), loss })
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: MOST_STEPS }), (steps) => {
        const flipping = new Flipping()
        for (const { version, forS, loss: lost } of steps) {
          flipping.model.declare({ beacon: version })
          if (lost === 'permits') flipping.model.permits.clear()
          if (lost === 'status') {
            const { status: _, ...set } = flipping.model.set
            flipping.model.set = set
          }
          for (let i = 0; i < forS; i++) flipping.round()
          expect(flipping.isWithinRate).toBe(true)
        }
      }),
      { numRuns: inFull(8, 1) },
    )
  }, 600_000)
})
