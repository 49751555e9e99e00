// Delivers the addons that a Cluster names to its API server: in order, with an Inventory there, so that addons that are no longer named are removed.
// Decides nothing.
import { addonObjects, type DeclaredAddon } from '#api/constructs/addons/table.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { oldestKubelet } from '#controlplanes/upgrade/cluster-readiness.ts'
import { desiredOf } from '#delivery/desired.ts'
import { type Health, healthOf } from '#delivery/health.ts'
import { type ObjectRef, refText } from '#delivery/object-ref.ts'
import type { Observed } from '#delivery/observe.ts'
import { defined } from '#lib/defined.ts'
import { fieldAt } from '#lib/fields.ts'
import { printableLine } from '#lib/printable.ts'
import { deliverInside, type InsideTools } from '../control-planes/deliver-inside.ts'
import { networkOf } from '../control-planes/network.ts'
import { isRecipe, recipeObjects, type Recipes, waitForNodes } from './recipes.ts'
import { type Bound, endedWithin } from './within.ts'

/** The result of one addon. False: an object of it was refused or is broken. Unknown: it is applied, but may be waiting for machines. */
export interface NamedResult {
  readonly name: string
  readonly version: string
  readonly healthy: 'True' | 'False' | 'Unknown'
  /** Its declared version is not applied yet, because nodes come first. */
  readonly waitsFor?: 'Nodes'
  readonly object?: string
  readonly message?: string
}

/** KubeNode's own addon, which no Cluster names. */
export const OWN_ADDON = 'kubenode'

export const declaredAddons = ({ spec }: Cluster): readonly DeclaredAddon[] =>
  (spec.addons ?? []).map(({ name, version, values, recipe }) => ({
    name,
    version,
    ...defined({ values, recipe }),
  }))

export async function deliverAddons(
  tools: InsideTools,
  cluster: Cluster,
  recipes: Recipes,
): Promise<readonly NamedResult[]> {
  const declared = declaredAddons(cluster)
  const waits = await waitsOf(tools, cluster, recipes)
  const addons = declared.flatMap((addon) => {
    const objects = waits.has(addon.name) ? undefined : objectsOf(addon, cluster, recipes)
    return objects === undefined ? [] : [{ addon, objects: objects.map(desiredOf) }]
  })
  const { problems: found, after } = await deliverInside(tools, {
    cluster,
    name: cluster.metadata.name ?? '',
    track: 'addons',
    objects: addons.flatMap(({ objects }) => objects),
    // The objects of one that waits, or whose recipe was deleted, must stay.
    keepsOthers: addons.length < declared.length,
  })
  const problems = new Map(found)
  const applied = new Map(
    addons.map(({ addon, objects }) => [
      addon.name,
      resultOf(
        addon,
        objects.map(({ ref }) => ref),
        problems,
        after,
        cluster.spec.controlPlane?.flavor,
      ),
    ]),
  )
  return declared.map(({ name, version }) => applied.get(name) ?? heldBack(cluster, { name, version }, waits, recipes))
}

const objectsOf = (addon: DeclaredAddon, cluster: Cluster, recipes: Recipes): readonly KubeObject[] | undefined => {
  if (addon.recipe === undefined) return addonObjects(addon, networkOf(cluster.spec))
  const recipe = recipes.get(addon.name)
  return isRecipe(recipe) ? recipeObjects(recipe, cluster) : undefined
}

const appliedVersion = ({ status }: Cluster, name: string): string | undefined =>
  status?.addons?.find((a) => a.name === name)?.version

/** The changed addons that follow the nodes, each with what it waits for. */
async function waitsOf(
  { client, signal }: InsideTools,
  cluster: Cluster,
  recipes: Recipes,
): Promise<ReadonlyMap<string, string>> {
  const following = declaredAddons(cluster).filter(({ name, version }) => {
    const recipe = recipes.get(name)
    const before = appliedVersion(cluster, name)
    return isRecipe(recipe) && recipe.isAfterNodes && before !== undefined && before !== version
  })
  if (following.length === 0) return new Map()
  const why = waitForNodes(cluster.spec.version, await oldestKubelet(client, { signal }))
  return why === undefined ? new Map() : new Map(following.map(({ name }) => [name, why]))
}

function heldBack(
  cluster: Cluster,
  { name, version }: Pick<DeclaredAddon, 'name' | 'version'>,
  waits: ReadonlyMap<string, string>,
  recipes: Recipes,
): NamedResult {
  const wait = waits.get(name)
  const object = `version ${version}`
  if (wait !== undefined)
    return {
      name,
      version: appliedVersion(cluster, name) ?? version,
      healthy: 'Unknown',
      waitsFor: 'Nodes',
      object,
      message: wait,
    }
  const recipe = recipes.get(name)
  return {
    name,
    version,
    healthy: 'Unknown',
    object: 'its recipe',
    message: typeof recipe === 'string' ? recipe : 'not read',
  }
}

export const ADDONS_WITHIN_MS = 30_000

export const addonsWithin = (
  cluster: Cluster,
  bound: Bound,
  deliverWith: (signal: AbortSignal) => Promise<readonly NamedResult[]>,
): Promise<readonly NamedResult[]> => endedWithin(bound, deliverWith, (message) => unanswered(cluster, message))

/** What was applied before is unknown and not unhealthy. Other declared addons are still missing, and those that are no longer named must still be removed. */
function unanswered(cluster: Cluster, message: string): readonly NamedResult[] {
  const known = (cluster.status?.addons ?? []).filter(({ name }) => name !== OWN_ADDON)
  const declared = declaredAddons(cluster)
  const of = { object: 'the API server of the cluster', message }
  return [
    ...declared.map(({ name, version }) => {
      const isApplied = known.some((e) => e.name === name && e.version === version && e.healthy !== 'False')
      return { name, version, healthy: isApplied ? ('Unknown' as const) : ('False' as const), ...of }
    }),
    ...known
      .filter(({ name }) => declared.every((d) => d.name !== name))
      .map(({ name, version }) => ({ name, version, healthy: 'Unknown' as const, ...of })),
  ]
}

type Flavor = NonNullable<Cluster['spec']['controlPlane']>['flavor'] | undefined

const WORKLOADS: ReadonlySet<string> = new Set(['DaemonSet', 'Deployment', 'StatefulSet'])

const isObserved = (object: KubeObject): boolean => fieldAt(object, 'status', 'observedGeneration') !== undefined

/** Without a controller it looks like one that is only late. */
function healthIn(object: KubeObject, flavor: Flavor): Health {
  const health = healthOf(object)
  const isUnseen = flavor === 'embedded' && WORKLOADS.has(object.kind) && !isObserved(object)
  return isUnseen && health.state === 'InProgress' ? { state: 'InProgress', message: NO_CONTROLLERS } : health
}

const NO_CONTROLLERS =
  'flavor embedded has no controllers of workloads, so no pod is made unless a kube-controller-manager of yours runs for this cluster'

function resultOf(
  { name, version }: DeclaredAddon,
  refs: readonly ObjectRef[],
  problems: ReadonlyMap<string, string>,
  { objects }: Observed,
  flavor: Flavor,
): NamedResult {
  const of = { name, version }
  const wrong = refs.map(refText).find((text) => problems.has(text))
  if (wrong !== undefined) return { ...of, healthy: 'False', object: wrong, message: problems.get(wrong) ?? '' }
  const healths = refs.map((ref) => {
    const object = objects.get(refText(ref))
    const health =
      object === undefined ? { state: 'InProgress' as const, message: 'not found' } : healthIn(object, flavor)
    return { object: refText(ref), ...health }
  })
  const failed = healths.find(({ state }) => state === 'Failed')
  if (failed !== undefined)
    return { ...of, healthy: 'False', object: failed.object, message: printableLine(failed.message) }
  const waiting = healths.find(({ state }) => state !== 'Current')
  return waiting === undefined
    ? { ...of, healthy: 'True' }
    : { ...of, healthy: 'Unknown', object: waiting.object, message: printableLine(waiting.message) }
}
