// F41: sets are renamed, replaced, split, merged, deleted and created again, by a commit or by hand, with the Defender and a garbage collector running. The
// machines in service never fall below the floor of the policy.
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { ANNOTATIONS, TAINTS } from '#api/names.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerModule } from '#controllers/module.ts'
import type { DeleteOptions } from '#kube/client.ts'
import { jsonEqual } from '#lib/json.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import { type Node, isNodeReady, nodeType } from '#nodes/objects.ts'
import { type DefenderParts, defender } from '../defender/world.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'
import { collectGarbage } from './garbage.ts'
import { type Cloud, controllers, definition, kinds } from './simulation.ts'
import { every, surround } from './surroundings.ts'

const MACHINES = 4
/** What the policy leaves. */
const FLOOR = 3
const POOL = { pool: 'workers' }

type Spec = Readonly<Record<string, unknown>>
type Propagation = NonNullable<DeleteOptions['propagationPolicy']>

/** The sets that git or a user wants, how soon after an apply the deletions follow, and how they are made. */
interface Wish {
  readonly sets: ReadonlyMap<string, Spec>
  readonly gapMs: number
  readonly propagation: Propagation
}

const setSpec = (replicas: number, size = 'm'): Spec => ({
  replicas,
  selector: { matchLabels: POOL },
  template: {
    metadata: { labels: POOL },
    spec: { provider: { name: 'process', params: { size } }, pool: 'workers' },
  },
})

/** Applies first and deletes after; what is wanted again while it is deleted keeps its machines, as sync does it. */
function follow(world: World, wish: () => Wish): void {
  const undeclaredAt = new Map<string, number>()
  every(world, 1_000, () => {
    const { sets, gapMs, propagation } = wish()
    const { fake, clock } = world
    for (const [name, spec] of sets) {
      undeclaredAt.delete(name)
      const live = fake.peek(machineSet, { name }) as MachineSet | undefined
      if (live === undefined)
        fake.plant(machineSet, { apiVersion: API_GROUP_VERSION, kind: 'MachineSet', metadata: { name }, spec })
      else if (live.metadata.deletionTimestamp !== undefined) {
        if (live.metadata.annotations?.[ANNOTATIONS.keepMachines] !== 'true')
          fake.poke(machineSet, { name }, { metadata: { annotations: { [ANNOTATIONS.keepMachines]: 'true' } } })
      } else if (live.spec.replicas !== spec['replicas'])
        fake.poke(machineSet, { name }, { spec: { replicas: spec['replicas'] } })
    }
    for (const { metadata } of fake.all(machineSet)) {
      const name = metadata.name ?? ''
      if (sets.has(name) || metadata.deletionTimestamp !== undefined) continue
      const since = undeclaredAt.get(name) ?? clock.monotonic()
      undeclaredAt.set(name, since)
      if (clock.monotonic() - since < gapMs) continue
      undeclaredAt.delete(name)
      world.count(`a set is deleted: ${propagation}`)
      fake.uproot(machineSet, { name }, { propagationPolicy: propagation })
    }
  })
}

export const STEPS = [
  'Rename',
  'RenameTwice',
  'OtherHosts',
  'Split',
  'Merge',
  'Delete',
  'DeleteAndRevert',
  'Shrink',
] as const
export type Step = (typeof STEPS)[number]

export interface Story {
  readonly steps: readonly Step[]
  readonly random: Random
  /** Sets are deleted as sync does it, at once and in the background. */
  readonly isPlain?: boolean
}

/** Two in a row find what one leaves behind; each costs minutes of virtual time. */
const MOST_STEPS = 4

export function storyOf(seed: number): Story {
  const random = seededRandom(seed + 104_729)
  return { steps: Array.from({ length: MOST_STEPS }, () => random.pick([...STEPS])), random }
}

const PROPAGATIONS: readonly Propagation[] = ['Background', 'Background', 'Background', 'Foreground', 'Orphan']

export interface RenameOptions {
  readonly story: Story
  readonly faults?: readonly FaultKind[]
  readonly modules?: readonly ControllerModule[]
  readonly defenderParts?: () => DefenderParts
  /** Whether a garbage collector runs. */
  readonly collects?: boolean
}

export function renameSimulation({
  story: { steps, random, isPlain = false },
  faults = [],
  modules = [machineModule, machineSetModule],
  defenderParts = () => ({}),
  collects = true,
}: RenameOptions): Simulation {
  let hosts: Cloud = new Map()
  let wish: Wish = { sets: new Map(), gapMs: 0, propagation: 'Background' }
  let names = 0
  let size = 'm'
  const newName = () => `set-${++names}`
  /** Drawn beforehand, so that every run of a story is the same. */
  const drawn = steps.map(() => ({
    gapMs: isPlain ? 1_000 : random.pick([0, 2_000, 30_000, 100_000]),
    propagation: isPlain ? ('Background' as const) : random.pick([...PROPAGATIONS]),
    laterMs: random.pick([3_000, 15_000, 70_000]),
  }))
  const want = (sets: Readonly<Record<string, Spec>>) => void (wish = { ...wish, sets: new Map(Object.entries(sets)) })
  const told: Readonly<Record<Step, (world: World, laterMs: number) => void>> = {
    Rename: () => want({ [newName()]: setSpec(MACHINES, size) }),
    RenameTwice: (world, laterMs) => {
      want({ [newName()]: setSpec(MACHINES, size) })
      world.clock.after(laterMs, () => want({ [newName()]: setSpec(MACHINES, size) }))
    },
    OtherHosts: () => {
      size = size === 'm' ? 'l' : 'm'
      want({ [newName()]: setSpec(MACHINES, size) })
    },
    Split: () => want({ [newName()]: setSpec(MACHINES / 2, size), [newName()]: setSpec(MACHINES / 2, size) }),
    Merge: () => {
      const [first = newName()] = wish.sets.keys()
      want({ [first]: setSpec(MACHINES, size) })
    },
    Delete: () => want({}),
    DeleteAndRevert: (world, laterMs) => {
      const before = Object.fromEntries(wish.sets)
      want({})
      world.clock.after(laterMs, () => want(before))
    },
    Shrink: () => want({ [newName()]: setSpec(MACHINES - 1, size) }),
  }
  const phases: readonly Phase[] = [
    {
      name: 'create',
      act: (world) => {
        surround(world, hosts, { grants: false })
        if (collects) collectGarbage(world)
        follow(world, () => wish)
        world.fake.plant(machineComponent, definition('1.0.0'))
        world.fake.plant(machineComponentSet, {
          apiVersion: API_GROUP_VERSION,
          kind: 'MachineComponentSet',
          metadata: { name: 'base' },
          spec: { selector: { matchLabels: POOL }, components: [{ name: 'beacon', version: '1.0.0' }] },
        })
        world.fake.plant(defenderPolicy, {
          apiVersion: API_GROUP_VERSION,
          kind: 'DefenderPolicy',
          metadata: { name: 'p' },
          spec: {
            budgets: [{ max: 1, of: 'unavailable', per: 'cluster' }],
            rates: [{ window: '1m', max: 1_000, per: 'cluster' }],
            healthFloor: FLOOR,
            mode: 'Enforce',
          },
        })
        want({ [newName()]: setSpec(MACHINES) })
      },
    },
    ...steps.map((step, i): Phase => ({
      name: `${i + 1} ${step}`,
      act: (world) => {
        const { gapMs, propagation, laterMs } = drawn[i] ?? { gapMs: 0, propagation: 'Background', laterMs: 0 }
        wish = { ...wish, gapMs, propagation }
        world.count(`step ${step}`)
        // A phase ends when nothing was written for some time: write something now, because the user's change may come later.
        world.fake.poke(defenderPolicy, { name: 'p' }, { metadata: { annotations: { step: `${i}` } } })
        told[step](world, laterMs)
      },
    })),
  ]
  return {
    faults,
    kinds,
    actors: () => {
      hosts = new Map()
      wish = { sets: new Map(), gapMs: 0, propagation: 'Background' }
      names = 0
      size = 'm'
      return [controllers(modules, hosts, (p) => p), defender('defender', defenderParts)]
    },
    phases,
    invariants: { neverBelowTheFloor: neverBelowTheFloor(() => hosts) },
    counted: [],
    heartbeats: ['coordination.k8s.io/leases'],
    quietMs: QUIET_MS,
    settleMs: 1_800_000,
    state: (world) => state(world, wish, hosts),
  }
}

/** Longer than one half of a rename waits for the other. */
const QUIET_MS = 110_000

const servingNodes = (world: World, hosts: Cloud): number =>
  (world.fake.all(nodeType) as readonly Node[]).filter(
    (node) =>
      isNodeReady(node) &&
      hosts.has(`process://${node.metadata.name}`) &&
      node.spec?.taints?.some((t) => t.key === TAINTS.componentsPending || t.key === TAINTS.cordon) !== true,
  ).length

/** From when it is reached for the first time. */
function neverBelowTheFloor(hosts: () => Cloud): Invariant {
  const reached = new WeakSet<World>()
  return (_, world) => {
    const serving = servingNodes(world, hosts())
    if (serving >= FLOOR) reached.add(world)
    return serving < FLOOR && reached.has(world) ? `${serving} machines serve, the floor is ${FLOOR}` : undefined
  }
}

/** Names of machines are drawn, and which of them survive is for the schedule to say. */
function state(world: World, { sets }: Wish, hosts: Cloud): unknown {
  const declared = [...sets].map(([name, spec]) => {
    const live = world.fake.peek(machineSet, { name }) as MachineSet | undefined
    const { replicas, readyReplicas } = live?.status ?? {}
    return { name, replicas, readyReplicas, isWanted: jsonEqual(live?.spec.replicas, spec['replicas']) }
  })
  return { declared, hosts: hosts.size, serving: servingNodes(world, hosts) }
}
