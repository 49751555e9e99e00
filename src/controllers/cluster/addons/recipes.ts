// The recipes of the addons that a Cluster names, as the hub keeps them.
import {
  filled,
  isRecipeVersion,
  readRecipe,
  type Recipe,
  type RecipeFacts,
  recipeName,
} from '#api/constructs/addons/recipe.ts'
import { type DeclaredAddon, minorsText } from '#api/constructs/addons/table.ts'
import { CLUSTERS_NAMESPACE } from '#api/names.ts'
import { dnsAddress } from '#api/constructs/addons/coredns.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { networkOf } from '../control-planes/network.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { minorOf } from '#api/constructs/control-plane/settings.ts'

/** A sentence: what is wrong with it. */
export type RecipeSeen = Recipe | string
/** By the name of the addon. */
export type Recipes = ReadonlyMap<string, RecipeSeen>

export const NO_RECIPES: Recipes = new Map()

const CONFIG_MAP = coreKind('ConfigMap')

export async function recipesOf(
  client: KubeClient,
  addons: readonly DeclaredAddon[],
  signal: AbortSignal,
): Promise<Recipes> {
  const wanted = addons.filter(({ recipe, version }) => recipe !== undefined && isRecipeVersion(version))
  return new Map(
    await Promise.all(wanted.map(async (addon) => [addon.name, await recipeOf(client, addon, signal)] as const)),
  )
}

async function recipeOf(
  client: KubeClient,
  { name, version, recipe: digest }: DeclaredAddon,
  signal: AbortSignal,
): Promise<RecipeSeen> {
  const key = { namespace: CLUSTERS_NAMESPACE, name: recipeName(name, version) }
  const where = `ConfigMap ${key.namespace}/${key.name}`
  const found = await client.get(CONFIG_MAP, key, { signal })
  if (found === undefined) return `${where} is not there`
  // Otherwise an edit would reach every cluster at once.
  if (found.immutable !== true) return `${where} is not immutable`
  const recipe = readRecipe(found.data ?? {})
  if (typeof recipe === 'string') return `${where}: ${recipe}`
  return recipe.digest === digest
    ? recipe
    : `${where} has digest ${recipe.digest}, and the Cluster names ${digest ?? ''}`
}

export const isRecipe = (seen: RecipeSeen | undefined): seen is Recipe => typeof seen === 'object'

/** Sentences about those that cannot be applied. What is applied already stays, and says so itself. */
export const missingRecipes = (
  { status }: Cluster,
  addons: readonly DeclaredAddon[],
  recipes: Recipes,
): readonly string[] =>
  addons.flatMap(({ name, version }) => {
    const seen = recipes.get(name)
    const isApplied = status?.addons?.some((a) => a.name === name && a.version === version) === true
    return typeof seen === 'string' && !isApplied ? [`addon ${name} ${version}: ${seen}`] : []
  })

/** Addons whose recipe is not for a Kubernetes minor, each with its minors. */
export const unfitRecipes = (addons: readonly DeclaredAddon[], recipes: Recipes, minor: number): readonly string[] =>
  addons.flatMap(({ name, version }) => {
    const recipe = recipes.get(name)
    if (!isRecipe(recipe)) return []
    const [first, last] = recipe.minors
    if (minor >= first && minor <= last) return []
    return [`${name} ${version} is for ${minorsText(recipe.minors)}`]
  })

export const recipeObjects = (recipe: Recipe, cluster: Cluster): readonly KubeObject[] =>
  filled(recipe.objects, factsOf(cluster))

function factsOf({ metadata, spec, status }: Cluster): RecipeFacts {
  const { pods, services, domain } = networkOf(spec)
  return {
    CLUSTER: metadata.name ?? '',
    KUBERNETES_VERSION: spec.version ?? '',
    POD_RANGE: pods,
    SERVICE_RANGE: services,
    DNS_DOMAIN: domain,
    DNS_ADDRESS: dnsAddress(services),
    API_SERVER: status?.endpoint ?? '',
  }
}

/** Why a recipe waits: a kubelet is older than the API server. Undefined: it does not. */
export function waitForNodes(version: string | undefined, oldestKubelet: string | undefined): string | undefined {
  const [wanted, oldest] = [minorOf(version ?? ''), minorOf(oldestKubelet ?? '')]
  return wanted === undefined || oldest === undefined || oldest >= wanted
    ? undefined
    : `it follows the nodes, and the oldest kubelet is ${oldestKubelet ?? ''}`
}
