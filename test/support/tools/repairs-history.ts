// Writes rules/history/repairs.jsonl.gz: what the recorder wrote beside the simulated controllers while nodes failed, healed, fell silent and were repaired. It is the
// file with which docs/operations/backtest.md is tried. Run it when the recorded form changes:
//   bin/with-node node test/support/tools/repairs-history.ts
import { join } from 'node:path'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { writeLines } from '#history/lines/file.ts'
import { simulate } from '#test/sim/harness.ts'
import { recording } from '#test/sim/backtest/recorder.ts'
import type { World } from '#test/sim/world.ts'
import { remedySimulation } from '#test/sim/remedy/simulation.ts'

const OUT = join(import.meta.dirname, '../../../rules/history/repairs.jsonl.gz')

/** The simulated Defender asks for no health; the replayed one does. */
function reportReady(world: World): void {
  for (const { metadata, status } of world.fake.all(machine)) {
    const conditions = [...((status as Machine['status'])?.conditions ?? [])]
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'AsDeclared',
      message: '',
      lastTransitionTime: timestamp(world.clock.now()),
    }
    world.fake.poke(
      machine,
      { name: metadata.name ?? '' },
      { status: { conditions: [...conditions, ready] } },
      'status',
    )
  }
}

const plain = remedySimulation()
const [first, ...others] = plain.phases
const begins = {
  name: first?.name ?? '',
  act: (world: World) => {
    first?.act(world)
    reportReady(world)
  },
}
const simulation = { ...plain, phases: [begins, ...others] }
const { actor, lines } = recording()
// The clock of programs holds no handle.
const alive = setInterval(() => undefined, 60_000)
await simulate({ ...simulation, actors: () => [...simulation.actors(), actor] }, 0)
await writeLines(lines(), OUT)
clearInterval(alive)
