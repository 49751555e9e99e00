// Bills of hosts: people pay them, nothing answers them, and on the last day a node is drained; what loses data waits for an approval.
import { describe, expect, test } from 'vitest'
import { act } from '#controllers/hostdoctor/act.ts'
import { plan } from '#controllers/hostdoctor/plan.ts'
import type { DoctorParts } from '#controllers/hostdoctor/reconcile.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull, inFullAll } from '#test/support/tools/full.ts'
import { checkSeeds, firstViolation, referenceRun } from '../harness.ts'
import { BILLS_CHAPTER, doctorSimulation } from './simulation.ts'

const FULL_MS = 7_200_000
const ofBills = { chapters: BILLS_CHAPTER }

test(
  'without faults a bill that is paid drains nothing, a late one is drained for on its last day, and lost data is approved first',
  async () => {
    const { states } = await referenceRun(doctorSimulation({ ...ofBills, withPaths: true }))
    expect(states).toMatchInlineSnapshot(`
      [
        {
          "events": [
            "ended m-1 Cancelled drained",
            "paid m-0 Cancelled",
            "paid-late m-3 Done drained",
            "paid-unapproved m-4 Cancelled",
          ],
          "held": 0,
          "taints": [],
        },
      ]
    `)
  },
  FULL_MS,
)

const SEEDS = inFull(1_000, 1)
const CHUNK = inFull(100, 1)
test.each(Array.from({ length: SEEDS / CHUNK }, (_, n) => 1 + n * CHUNK))(
  `crashes, pauses, stale caches and lost replies change none of that: ${CHUNK} seeds from %i`,
  async (from) => {
    await checkSeeds(doctorSimulation({ ...ofBills, withFaultyDefender: true }), seeds(CHUNK, from))
  },
  FULL_MS,
)

type Plan = DoctorParts['plan']
/** Takes the event for another one. */
const takenFor =
  (spec: Partial<Parameters<Plan>[0]['event']['spec']>): Plan =>
  (seen, now) =>
    plan({ ...seen, event: { ...seen.event, spec: { ...seen.event.spec, ...spec } } }, now)

const PLANTED: Readonly<Record<string, { readonly shows: RegExp; readonly plan: Plan }>> = {
  'answers a bill as if it were work on the host': { shows: /is answered/, plan: takenFor({ bill: false }) },
  'drains as soon as a bill is told': {
    shows: /asks for a permit more than a day before/,
    plan: (seen, now) => {
      const { spec } = seen.event
      const notBefore = spec.notBefore && new Date(Math.min(now, Date.parse(spec.notBefore))).toISOString()
      return takenFor({ bill: false, ...(notBefore && { notBefore }) })(seen, now)
    },
  },
  'asks for lost data as for a restart': { shows: /instead of/, plan: takenFor({ kind: 'Stop', dataLoss: false }) },
}

describe('a planted bug', () => {
  test.each(inFullAll(Object.entries(PLANTED), 3))(
    'is found: %s',
    async (_, { shows, plan: planted }) => {
      const how = { ...ofBills, faults: [], withPaths: true }
      const parts = () => ({ act, plan: planted })
      const found = await firstViolation(doctorSimulation({ ...how, parts }), doctorSimulation(how), [1])
      expect(found?.violation.message).toMatch(shows)
    },
    FULL_MS,
  )
})
