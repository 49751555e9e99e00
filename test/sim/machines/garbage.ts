// Does what the garbage collector of a real controller manager does with the machines of sets: a deleted owner, or one in foreground deletion, takes its
// machines with it, whatever else the set is waiting for; orphaning removes the owner reference. No faults hit it.
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import type { World } from '../world.ts'
import { every } from './surroundings.ts'

const LOOK_MS = 500
const FOREGROUND = 'foregroundDeletion'
const ORPHAN = 'orphan'

export function collectGarbage(world: World): void {
  every(world, LOOK_MS, () => {
    for (const m of world.fake.all(machineType) as readonly Machine[]) considerMachine(world, m)
    for (const s of world.fake.all(machineSet) as readonly MachineSet[]) considerSet(world, s)
  })
}

type Owner = 'Solid' | 'Waiting' | 'Dangling'

function stateOf({ fake }: World, { name, uid }: { readonly name: string; readonly uid: string }): Owner {
  const set = fake.peek(machineSet, { name })
  if (set?.metadata.uid !== uid) return 'Dangling'
  return set.metadata.deletionTimestamp !== undefined && has(set, FOREGROUND) ? 'Waiting' : 'Solid'
}

const has = ({ metadata }: Pick<MachineSet, 'metadata'>, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) === true

function considerMachine(world: World, { metadata }: Machine): void {
  const { name = '', ownerReferences = [], deletionTimestamp } = metadata
  if (ownerReferences.length === 0 || deletionTimestamp !== undefined) return
  const states = ownerReferences.map((o) => stateOf(world, o))
  if (!states.includes('Solid')) {
    world.count('a machine is garbage-collected')
    world.fake.uproot(machineType, { name }, { propagationPolicy: 'Background' })
  } else if (states.some((s) => s !== 'Solid')) {
    const left = ownerReferences.filter((_, i) => states[i] === 'Solid')
    world.fake.poke(machineType, { name }, { metadata: { ownerReferences: left } })
  }
}

function considerSet(world: World, set: MachineSet): void {
  const { name = '', uid, deletionTimestamp } = set.metadata
  if (deletionTimestamp === undefined) return
  const dependents = (world.fake.all(machineType) as readonly Machine[]).filter((m) =>
    m.metadata.ownerReferences?.some((o) => o.uid === uid),
  )
  const without = (finalizer: string) =>
    void world.fake.poke(
      machineSet,
      { name },
      { metadata: { finalizers: set.metadata.finalizers?.filter((f) => f !== finalizer) } },
    )
  if (has(set, ORPHAN)) {
    for (const m of dependents) {
      const left = m.metadata.ownerReferences?.filter((o) => o.uid !== uid)
      world.fake.poke(machineType, { name: m.metadata.name ?? '' }, { metadata: { ownerReferences: left } })
    }
    without(ORPHAN)
  } else if (has(set, FOREGROUND) && dependents.length === 0) without(FOREGROUND)
}
