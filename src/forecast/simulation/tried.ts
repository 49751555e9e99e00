// What a simulation begins with: the cluster as an inventory or the fleet has it, what the commit declares for it, and what was declared before.
import { resolve } from 'node:path'
import type { KubeObject } from '#api/schema/object.ts'
import { MAX_REPLICAS } from '#api/kinds/machine-set.ts'
import { counted } from '#lib/counted.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Targets } from '#delivery/desired.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { DeclaredSides, type FleetAsked, onlyWithRules } from '../backtest/declared.ts'
import type { Inventory } from '../inventory.ts'
import { commitCalled } from '../plan/range.ts'
import { readInventories } from '../plan/read-inventories.ts'
import { assumedCluster, declaredReplicas } from './assumed-cluster.ts'
import { simulationErrors } from './simulation-errors.ts'

export interface TriedAsked extends FleetAsked {
  /** Left out: the machines that the fleet declares are assumed. */
  readonly inventory?: string | undefined
  /** Without an inventory: machines of each MachineSet, instead of its replicas. */
  readonly machines?: number | undefined
  readonly commit: string
  readonly base?: string | undefined
  readonly dirty?: true | undefined
}

export interface Tried {
  readonly now: Inventory
  readonly before: readonly KubeObject[]
  readonly after: readonly KubeObject[]
  readonly commit: string
  /** What was assumed of the cluster because no inventory says it. */
  readonly assumed?: string
}

export function triedOn(asked: TriedAsked, io: Io): Promise<Tried> {
  if (asked.inventory === undefined) return onAssumed(asked, io)
  const [inventory] = readInventories([asked.inventory], io.cwd)
  if (inventory === undefined || inventory.machines.length === 0)
    throw new KubeNodeError(simulationErrors.KN1347_machines({ cluster: inventory?.cluster ?? asked.inventory }))
  return onInventory(asked, inventory, io)
}

/** What the base declares is what the inventory was taken of; without --base, what the parent of the commit declares. */
async function onInventory(asked: TriedAsked, now: Inventory, io: Io): Promise<Tried> {
  const sides = new DeclaredSides(asked, io)
  const isDirty = asked.dirty === true
  const { name, targets } = await sides.targets({ commit: asked.commit, isDirty })
  const cluster = clusterOf(now.cluster, targets, asked.fleetCluster)
  const base = asked.base ?? (isDirty ? asked.commit : await parentOf(asked, io))
  const before = base === undefined ? [] : objectsIn((await sides.targets({ commit: base })).targets, cluster)
  return { now, before, after: objectsIn(targets, cluster), commit: name }
}

function clusterOf(cluster: string, targets: Targets, wanted: string | undefined): string {
  if (targets.has(wanted ?? cluster)) return wanted ?? cluster
  const only = wanted === undefined ? onlyWithRules(targets) : undefined
  if (only !== undefined) return only
  throw new KubeNodeError(
    simulationErrors.KN1347_inventory({ cluster, known: [...targets.keys()].join(', ') || 'none' }),
  )
}

async function parentOf({ repo, commit }: TriedAsked, io: Io): Promise<string | undefined> {
  const repository = openLocalRepository(resolve(io.cwd, repo ?? '.'), { above: true })
  return (await repository.commit(await commitCalled(repository, commit))).parents[0]
}

/** Without --base nothing is installed yet: every component of the commit rolls out, whatever the commit changes. */
async function onAssumed(asked: TriedAsked, io: Io): Promise<Tried> {
  const sides = new DeclaredSides(asked, io)
  const { name, targets } = await sides.targets({ commit: asked.commit, isDirty: asked.dirty === true })
  const cluster = clusterIn(targets, asked.fleetCluster)
  const after = objectsIn(targets, cluster)
  const base = asked.base === undefined ? undefined : await sides.targets({ commit: asked.base })
  const before = base === undefined ? undefined : objectsIn(base.targets, cluster)
  const replicas = declaredReplicas(after, asked.machines)
  const count = replicas.reduce((sum, n) => sum + n, 0)
  if (count < 1 || count > MAX_REPLICAS)
    throw new KubeNodeError(simulationErrors.KN1347_replicas({ cluster, count, most: MAX_REPLICAS }))
  const sets = counted(replicas.length, 'declared MachineSet')
  const installed = base === undefined ? 'without any component yet' : `with the components of ${base.name}`
  return {
    now: assumedCluster({ cluster, base: before, after, machines: asked.machines }),
    before: before ?? [],
    after,
    commit: name,
    assumed: `no cluster was read: ${counted(count, 'working machine')} of ${sets} assumed, ${installed}`,
  }
}

const objectsIn = (targets: Targets, cluster: string): readonly KubeObject[] =>
  (targets.get(cluster)?.objects ?? []).map((o) => o.object)

/** A fleet in which one cluster has machines needs no name. */
function clusterIn(targets: Targets, wanted: string | undefined): string {
  const withMachines = [...targets]
    .filter(([, { objects }]) => objects.some((o) => o.object.kind === 'MachineSet'))
    .map(([name]) => name)
  const [only, ...others] = withMachines
  if (wanted !== undefined && withMachines.includes(wanted)) return wanted
  if (wanted === undefined && only !== undefined && others.length === 0) return only
  const known = withMachines.join(', ') || 'no cluster'
  throw new KubeNodeError(simulationErrors.KN1347_cluster({ known }))
}
