import { expect, test } from 'vitest'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { checkSeeds, referenceRun } from '../harness.ts'
import { doctorSimulation } from './simulation.ts'

const SEEDS = 1_000
const FULL_MS = 7_200_000

test(
  'without faults each event ends as it should, and every node is given back',
  async () => {
    const { states } = await referenceRun(doctorSimulation())
    expect(states.at(-1)).toMatchInlineSnapshot(`
      {
        "events": [
          "cancelled m-4 Cancelled",
          "doubled m-1 Done",
          "moved m-3 Done",
          "one m-0 Done",
          "unplanned m-5 Done",
          "vanished m-0 Cancelled",
          "wave-0 m-0 Done",
          "wave-1 m-1 Done",
          "wave-2 m-2 Done",
        ],
        "taints": [],
      }
    `)
  },
  FULL_MS,
)

test(
  `${SEEDS} days of a vendor with crashes, pauses and lost replies break no budget, drain no node twice and end alike`,
  async (context) => {
    onlyInFull(context)
    await checkSeeds(doctorSimulation(), seeds(SEEDS))
  },
  FULL_MS,
)
