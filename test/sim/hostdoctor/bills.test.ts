// Bills of hosts: people pay them, nothing answers them, and on the last day a node is drained; what loses data waits for an approval.
import { describe, expect, test } from 'vitest'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { act } from '#controllers/hostdoctor/act.ts'
import { plan } from '#controllers/hostdoctor/plan.ts'
import type { DoctorParts } from '#controllers/hostdoctor/reconcile.ts'
import type { Seen } from '#controllers/hostdoctor/seen.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'
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
            "paid-late m-2 Done drained",
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

type Spec = MaintenanceEvent['spec']
/** Takes each event for another one. */
function takenFor(other: (spec: Spec) => Partial<Spec>): DoctorParts {
  const taken = (seen: Seen): Seen => {
    const { event } = seen
    return { ...seen, event: { ...event, spec: { ...event.spec, ...other(event.spec) } } }
  }
  return {
    plan: (seen, now) => plan(taken(seen), now),
    act: (tools, action, seen, signal) => act(tools, action, taken(seen), signal),
  }
}

const PLANTED: Readonly<Record<string, { readonly shows: RegExp; readonly parts: DoctorParts }>> = {
  'answers a bill as if it were work on the host': { shows: /is answered/, parts: takenFor(() => ({ bill: false })) },
  'asks for lost data as for a restart': {
    shows: /instead of/,
    parts: takenFor(() => ({ dataLoss: false, kind: 'Stop' })),
  },
}

describe('a planted bug', () => {
  test.each(Object.entries(PLANTED))(
    'is found: %s',
    async (_, { shows, parts }) => {
      const how = { ...ofBills, faults: [], withPaths: true }
      const found = await firstViolation(doctorSimulation({ ...how, parts: () => parts }), doctorSimulation(how), [1])
      expect(found?.violation.message).toMatch(shows)
    },
    FULL_MS,
  )
})
