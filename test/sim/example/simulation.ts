// The example's scenario: what a person does to a parent over its life, and what must hold all the while.
import type { Invariant, Phase, Simulation } from '../harness.ts'
import { ALL_FAULTS } from '../sim-faults.ts'
import type { World } from '../world.ts'
import { childMinder } from './child-minder.ts'
import { type ExampleParts, correctParts, exampleController } from './controller.ts'
import {
  BROKEN_VERSION,
  type Child,
  type Parent,
  childType,
  exampleKinds,
  isOwnedBy,
  isReady,
  parentType,
} from './kinds.ts'

const NAME = 'p'

const parent = (spec: Parent['spec']): Parent => ({
  apiVersion: 'example.kubenode.io/v1',
  kind: 'Parent',
  metadata: { name: NAME },
  spec,
})
const edit = (spec: Partial<Parent['spec']>) => (world: World) =>
  void world.fake.poke(parentType, { name: NAME }, { spec })

/** So far apart that a controller sees both, and so near that one that is busy or cut off sees only what they come to. */
const both =
  (first: Phase['act'], second: Phase['act']): Phase['act'] =>
  (world) => {
    world.clock.after(2_000, () => first(world))
    world.clock.after(5_000, () => second(world))
  }

const phases: readonly Phase[] = [
  {
    name: 'create',
    act: (world) => void world.fake.plant(parentType, parent({ replicas: 3, version: 'v1', maxUnavailable: 1 })),
  },
  { name: 'grow', act: edit({ replicas: 5 }) },
  { name: 'shrink', act: edit({ replicas: 2 }) },
  { name: 'upgrade', act: edit({ version: 'v2' }) },
  { name: 'misspell', act: edit({ replicas: -1 }) },
  { name: 'correct', act: edit({ replicas: 3 }) },
  {
    name: 'grow, and upgrade soon after',
    act: both(edit({ replicas: 4 }), edit({ version: 'v3' })),
    counts: 'AtMost',
  },
  { name: 'break', act: edit({ version: BROKEN_VERSION }) },
  { name: 'revert', act: edit({ version: 'v3' }) },
  { name: 'delete', act: (world) => world.fake.uproot(parentType, { name: NAME }) },
  {
    name: 'again',
    act: (world) => void world.fake.plant(parentType, parent({ replicas: 2, version: 'v4', maxUnavailable: 1 })),
  },
]

/** O3: no deletion by the controller takes the ready children below what the parent allows. */
const budget: Invariant = ({ kind, type, object, previous, call }, world) => {
  const child = (previous ?? object) as Child
  if (kind !== 'example.kubenode.io/children' || type !== 'DELETED' || call === undefined || !isReady(child))
    return undefined
  const owner = world.fake.all(parentType).find((p) => isOwnedBy(child, p as Parent)) as Parent | undefined
  if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) return undefined
  const { replicas, maxUnavailable } = owner.spec
  const ready = world.fake.all(childType).filter((c) => isOwnedBy(c as Child, owner) && isReady(c as Child)).length
  return ready >= replicas - maxUnavailable
    ? undefined
    : `${ready} of ${replicas} ready after deleting ${child.metadata.name}, ${maxUnavailable} may be missing`
}

export function exampleSimulation(parts: () => Partial<ExampleParts> = () => ({}), faults = ALL_FAULTS): Simulation {
  return {
    faults,
    kinds: exampleKinds,
    actors: () => [exampleController({ ...correctParts, ...parts() }), childMinder],
    phases,
    invariants: { budget },
  }
}
