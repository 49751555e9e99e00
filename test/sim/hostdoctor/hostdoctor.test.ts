import { describe, expect, test } from 'vitest'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull, inFullAll } from '#test/support/tools/full.ts'
import { checkSeeds, firstViolation, referenceRun } from '../harness.ts'
import { FINALIZERS } from '#api/names.ts'
import { act } from '#controllers/hostdoctor/act.ts'
import { plan } from '#controllers/hostdoctor/plan.ts'
import { mutants } from './mutants.ts'
import { FORCED_CHAPTER, PEOPLE_CHAPTER, doctorSimulation } from './simulation.ts'
import { MINUTE } from './story.ts'
import { defined } from '#lib/defined.ts'

const SEEDS = inFull(1_000, 2)
/** A chunk is a test of its own, with its own time: the first that fails does not keep the others from being tried. */
const CHUNK = inFull(100, 2)
const CHUNKS = Array.from({ length: SEEDS / CHUNK }, (_, n) => 1 + n * CHUNK)
const FULL_MS = 7_200_000

describe('a day of a vendor', () => {
  test(
    'without faults each event ends as it should, and every node is uncordoned',
    async () => {
      const { states } = await referenceRun(doctorSimulation({ withPaths: true }))
      expect(states.at(-1)).toMatchInlineSnapshot(`
        {
          "events": [
            "cancelled m-3 Cancelled drained",
            "doubled m-1 Done drained",
            "missed m-4 Done missed",
            "moved m-3 Done drained",
            "one m-0 Done drained",
            "unplanned m-5 Done",
            "vanished m-1 Cancelled",
            "wave-0 m-0 Done drained",
            "wave-1 m-1 Done missed",
            "wave-2 m-2 Done missed",
          ],
          "held": 0,
          "taints": [],
        }
      `)
    },
    FULL_MS,
  )

  test.each(CHUNKS)(
    `crashes, pauses, stale caches and lost replies break no budget and drain no node twice: ${CHUNK} seeds from %i`,
    async (from) => {
      await checkSeeds(doctorSimulation({ withFaultyDefender: true }), seeds(CHUNK, from))
    },
    FULL_MS,
  )

  test(
    'a host doctor whose cache shows the cordon of an earlier preparation evicts nothing before the node is cordoned again',
    async () => {
      await checkSeeds(doctorSimulation({ withFaultyDefender: true }), [113])
    },
    FULL_MS,
  )

  test(
    'an event that was cancelled while no host doctor saw it is not taken for one that began',
    async () => {
      await checkSeeds(doctorSimulation({ withFaultyDefender: true, chapters: [0] }), [266, 825])
    },
    FULL_MS,
  )

  test(
    'a Defender whose caches stand still while leases run out asks the server no faster than before',
    async () => {
      await checkSeeds(doctorSimulation({ withFaultyDefender: true, chapters: [0] }), [8])
    },
    FULL_MS,
  )
})

describe('planned work that is deleted while its node is drained, and made again for another machine', () => {
  const ofPeople = { chapters: PEOPLE_CHAPTER, faultyMs: 40 * MINUTE }

  test(
    'leaves no cordon and no slot behind, and is done in the end',
    async () => {
      await checkSeeds(doctorSimulation({ ...ofPeople, withFaultyDefender: true }), seeds(inFull(1_000, 1)))
    },
    FULL_MS,
  )

  test(
    'a planted bug is found: the event is not held until its node is given back',
    async () => {
      const careless = (seen: Parameters<typeof plan>[0], now: number) => {
        const metadata = { ...seen.event.metadata, finalizers: [FINALIZERS.maintenance] }
        return plan({ ...seen, event: { ...seen.event, metadata } }, now)
      }
      const planted = doctorSimulation({
        ...ofPeople,
        faults: [],
        parts: () => ({ plan: careless, act, isLeft: () => false }),
      })
      const found = await firstViolation(planted, doctorSimulation({ ...ofPeople, faults: [] }), [1])
      expect(found?.violation.message).toMatch(/m-0|held/)
    },
    FULL_MS,
  )
})

describe('planned work that is removed with its finalizer while its node is drained', () => {
  const forced = { chapters: FORCED_CHAPTER, faultyMs: 40 * MINUTE }

  test(
    'leaves no cordon behind, and its slot is free once the permit has expired',
    async () => {
      const { states } = await referenceRun(doctorSimulation(forced))
      expect(states.at(-1)).toEqual({ events: [], held: 0, taints: [] })
      await checkSeeds(doctorSimulation({ ...forced, withFaultyDefender: true }), seeds(inFull(1_000, 2)))
    },
    FULL_MS,
  )

  test(
    'a planted bug is found: the cordon of work that is not over is taken off',
    async () => {
      const withoutFaults = { chapters: PEOPLE_CHAPTER, faults: [] }
      const planted = doctorSimulation({ ...withoutFaults, parts: () => ({ plan, act, isLeft: () => true }) })
      const found = await firstViolation(planted, doctorSimulation(withoutFaults), [1])
      expect(found?.violation.message).toMatch(/m-/)
    },
    FULL_MS,
  )
})

describe('a planted bug', () => {
  test.each(inFullAll(mutants, 3))(
    'is found: $name (within $within seeds)',
    async ({ shows, faults, within, chapters, parts, defenderParts }) => {
      const correct = doctorSimulation({ faults, chapters })
      const planted = { faults, chapters, ...defined({ parts, defenderParts }) }
      const found = await firstViolation(doctorSimulation(planted), correct, seeds(within))
      expect(found?.violation.message).toMatch(shows)
    },
    FULL_MS,
  )
})
