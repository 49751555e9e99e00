// Notices of agents: spot hosts are drained for within their minutes, once for all sources; what is for people changes nothing; a mass of reports is not believed.
import { describe, expect, test } from 'vitest'
import type { DoctorParts } from '#controllers/hostdoctor/reconcile.ts'
import { act } from '#controllers/hostdoctor/act.ts'
import { plan } from '#controllers/hostdoctor/plan.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull, inFullAll } from '#test/support/tools/full.ts'
import { checkSeeds, firstViolation, referenceRun } from '../harness.ts'
import type { FaultKind } from '../sim-faults.ts'
import { NOTICES, type Variant, doctorSimulation } from './simulation.ts'
import { MINUTE } from './story.ts'

/** Without lost events of watches: two doctors that each miss other reports believe more of them together. */
const FAULTS: readonly FaultKind[] = ['Crash', 'Pause', 'LostReply', 'Refuse', 'Stale']
const ofNotices = (more: Variant = {}) =>
  doctorSimulation({ chapters: NOTICES, faults: FAULTS, openOnly: true, faultyMs: 40 * MINUTE, ...more })
const FULL_MS = 7_200_000

test(
  'without faults a reclaimed host is drained once, a withdrawn notice is over, and of a mass of reports only what came before it was one is believed',
  async () => {
    const { states } = await referenceRun(ofNotices({ openOnly: false, withPaths: true }))
    expect(states).toMatchInlineSnapshot(`
      [
        {
          "events": [
            "rebalance m-2 Announced",
            "reclaimed m-3 Cancelled drained",
            "spot m-0 Cancelled drained",
            "withdrawn m-4 Cancelled drained",
          ],
          "held": 0,
          "taints": [],
        },
        {
          "events": [
            "mass-0 s-0 Done drained",
            "mass-1 s-1 Done drained",
            "mass-2 s-2 Done drained",
            "mass-3 s-3 Done drained",
            "mass-4 s-4 Done drained",
            "mass-5 s-5 Done drained",
            "mass-6 s-6 Done drained",
            "mass-7 s-7 Done drained",
            "mass-8 s-8 Done drained",
            "rebalance m-2 Announced",
            "reclaimed m-3 Cancelled drained",
            "spot m-0 Cancelled drained",
            "withdrawn m-4 Cancelled drained",
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
/** Each a test of its own: the first that fails does not keep the others from being tried. */
const CHUNK = inFull(100, 1)
const CHUNKS = Array.from({ length: SEEDS / CHUNK }, (_, n) => 1 + n * CHUNK)
test.each(CHUNKS)(
  `crashes, pauses, stale caches and lost replies change none of that: ${CHUNK} seeds from %i`,
  async (from) => {
    await checkSeeds(ofNotices({ withFaultyDefender: true }), seeds(CHUNK, from))
  },
  FULL_MS,
)

test(
  'a doctor whose caches were stale while all were reported counts the events of the other before it believes one',
  async () => {
    // The Machines arrive before the events, and most of those have corrected their reports.
    await checkSeeds(ofNotices({ withFaultyDefender: true }), [194])
  },
  FULL_MS,
)

interface Planted {
  readonly shows: RegExp
  readonly chapters: readonly number[]
  readonly parts: DoctorParts
}

const PLANTED: Readonly<Record<string, Planted>> = {
  'believes that all hosts are reclaimed at once': {
    shows: /hosts are believed to be reclaimed at once/,
    chapters: NOTICES.slice(1),
    parts: { plan, act, isMass: () => false },
  },
  'drains for a recommendation that is for people': {
    shows: /is for people, and asks for a permit/,
    chapters: NOTICES.slice(0, 1),
    parts: {
      act,
      plan: (seen, now) => {
        const { event } = seen
        const spec = event.spec.kind === 'Notice' ? { ...event.spec, kind: 'Reclaim' as const } : event.spec
        return plan({ ...seen, event: { ...event, spec } }, now)
      },
    },
  },
  'takes a host that will be reclaimed for away already': {
    shows: /is evicted without a grant|instead of/,
    chapters: NOTICES.slice(0, 1),
    parts: {
      act,
      plan: (seen, now) => {
        const { event } = seen
        const spec = event.spec.kind === 'Reclaim' ? { ...event.spec, state: 'Executing' as const } : event.spec
        return plan({ ...seen, event: { ...event, spec } }, now)
      },
    },
  },
}

describe('a planted bug', () => {
  test.each(inFullAll(Object.entries(PLANTED), 3))(
    'is found: %s',
    async (_, { shows, chapters, parts }) => {
      const how = { faults: [], chapters, withPaths: true, openOnly: false }
      const found = await firstViolation(ofNotices({ ...how, parts: () => parts }), ofNotices(how), [1])
      expect(found?.violation.message).toMatch(shows)
    },
    FULL_MS,
  )
})
