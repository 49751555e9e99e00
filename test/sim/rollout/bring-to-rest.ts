// Brings a pair of machines of each version to rest with the real controllers and agents: the pattern of all machines of all runs.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { World } from '../world.ts'
import { GOOD } from '#test/support/fleets/rollout-fleet.ts'
import { Agents, agentsActor, controllersActor, kinds, nameOf, plantFleet } from './fleet.ts'
import { type Pattern, type Rested, patternOf } from './rested.ts'

/** More than enough for two machines. */
const ENOUGH_MS = 10_000
const PAIR = { machines: 2, some: 1, limit: 1, steps: [1] }

let made: Promise<Rested> | undefined

/** The same in every process, so that runs stay the same byte for byte. */
export const restedMachines = (): Promise<Rested> => (made ??= bringToRest())

async function bringToRest(): Promise<Rested> {
  const patterns = new Map<string, Pattern>()
  for (const version of GOOD) {
    const agents = new Agents(PAIR)
    const world = new World(0, kinds)
    for (const actor of [agentsActor(agents), controllersActor(agents)]) world.start(actor)
    plantFleet(world, agents, { declared: version, members: 1 })
    await world.scheduler.run({ forMs: ENOUGH_MS })
    for (const [i, isMember] of [true, false].entries()) {
      const key = { name: nameOf(i) }
      const machine = world.fake.peek(machineType, key) as Machine
      if (machine.status?.conditions?.find((c) => c.type === 'Ready')?.status !== 'True')
        throw new Error(`${key.name} with ${version} does not come to rest`)
      patterns.set(patternOf(version, isMember), { machine, node: world.fake.peek(nodeType, key) as Node })
    }
  }
  return patterns
}
