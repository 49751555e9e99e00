// Worlds that no story has: two controllers at once, and objects that make no sense.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { type Run, type Simulation, simulate } from '../harness.ts'
import type { World } from '../world.ts'
import { restedMachines } from './bring-to-rest.ts'
import { SEED_SCALE, setSpec } from './fleet.ts'
import { faultsFor, rolloutSimulation } from './simulation.ts'
import { storyNamed } from './stories.ts'

const bump = async (): Promise<Simulation> =>
  rolloutSimulation(storyNamed('good bump'), {}, SEED_SCALE, await restedMachines())

/** The twin of the controllers believes to lead too; it meets no fault, they do. What they come to may differ, what they may do not. */
export async function split(seed: number): Promise<Run> {
  const simulation = await bump()
  const actors = () => {
    const all = simulation.actors()
    return [...all, ...all.filter((a) => a.name === 'controllers').map((a) => ({ ...a, name: 'twin' }))]
  }
  // What they come to is not compared: each finds the work of the other.
  const uncompared = { ...simulation, actors, state: () => 0, counted: [] }
  const faults = faultsFor(
    seed,
    simulation.phases.map((p) => p.name),
  )
  return simulate(uncompared, seed, { reference: { states: [0], counts: [{}] }, faults })
}

/** As a server may still have them in store that once had another schema, or none. */
function poison({ fake }: World): void {
  const put = (type: ResourceType, name: string, spec: object) =>
    fake.restore(type, {
      apiVersion: API_GROUP_VERSION,
      kind: type.kind,
      metadata: { name, uid: fake.core.uid(), generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
      spec,
    })
  const unreadable = { matchExpressions: [{ key: 'a', operator: 'Nope', values: ['b'] }] }
  put(machineComponentSet, 'cursed', { ...setSpec('9.9.9', SEED_SCALE), selector: unreadable })
  put(componentCanary, 'cursed', { selector: unreadable, pick: { count: 1 }, components: [] })
  put(machineType, 'm-cursed', { channel: 'Nope', provider: { name: 'nobody' } })
}

export async function poisoned(): Promise<Run> {
  const simulation = await bump()
  const phases = simulation.phases.map((phase) => ({
    ...phase,
    act: (world: World) => {
      poison(world)
      phase.act(world)
    },
  }))
  return simulate({ ...simulation, phases }, 1)
}
