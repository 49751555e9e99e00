// Makes the ConfigMap of a recipe from manifests that people already have, such as those of a network plugin. Pure.
import { stringify } from 'yaml'
import { ADDONS } from './table.ts'
import { isObject } from '#lib/json.ts'
import { parseDocuments } from '#lib/documents.ts'
import { CLUSTERS_NAMESPACE } from '../../names.ts'
import type { KubeObject } from '../../schema/object.ts'
import { isRecipeVersion, minorsOf, readRecipe, recipeName, RECIPE_KEYS } from './recipe.ts'

export interface RecipeSource {
  readonly name: string
  readonly version: string
  /** Minors of Kubernetes: 1.36, or 1.34-1.36. */
  readonly kubernetes: string
  readonly isAfterNodes: boolean
  readonly manifests: string
  /** Images as the manifests name them, and what is written instead: a mirror, or a digest. */
  readonly images: ReadonlyMap<string, string>
}

export interface MadeRecipe {
  readonly configMap: KubeObject
  readonly digest: string
}

/** What the hub would not take, and where it was written. */
export interface RecipeMistake {
  readonly of: 'name' | 'version' | 'minors' | 'manifests'
  readonly why: string
}

/** As Clusters name addons. */
const NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/

const nameProblem = (name: string): string | undefined =>
  Object.hasOwn(ADDONS, name)
    ? `${name} is KubeNode's own addon, and has no recipe`
    : NAME.test(name)
      ? undefined
      : `name ${name} must be of small letters, digits and dashes, at most 63`

function headProblem({ name, version, kubernetes }: RecipeSource): RecipeMistake | undefined {
  const ofName = nameProblem(name)
  if (ofName !== undefined) return { of: 'name', why: ofName }
  if (!isRecipeVersion(version))
    return { of: 'version', why: `version ${version} must be of small letters, digits, dots and dashes` }
  return minorsOf(kubernetes) === undefined
    ? { of: 'minors', why: `${kubernetes} names no minors of Kubernetes, the older first` }
    : undefined
}

export function makeRecipe(source: RecipeSource): MadeRecipe | RecipeMistake {
  const made = headProblem(source) ?? madeFrom(source)
  return typeof made === 'string' ? { of: 'manifests', why: made } : made
}

function madeFrom({ name, version, kubernetes, isAfterNodes, manifests, images }: RecipeSource): MadeRecipe | string {
  const { documents, problems } = parseDocuments(manifests)
  const [problem] = problems
  if (problem !== undefined) return `line ${problem.line}: ${problem.message}`
  const found = documents.flatMap(({ value }) => (value === null ? [] : itemsOf(value)))
  const unused = new Set(images.keys())
  const objects = found.map((value) => withImages(value, images, unused))
  const [left] = unused
  if (left !== undefined) return `no container has the image ${left}`
  const data = {
    [RECIPE_KEYS.settings]: stringify({ kubernetes, ...(isAfterNodes && { upgrade: 'AfterNodes' }) }),
    // No aliases, which a hub refuses.
    [RECIPE_KEYS.objects]: objects.map((o) => stringify(o, { aliasDuplicateObjects: false })).join('---\n'),
  }
  const recipe = readRecipe(data)
  if (typeof recipe === 'string') return recipe
  const metadata = { name: recipeName(name, version), namespace: CLUSTERS_NAMESPACE }
  return { configMap: { apiVersion: 'v1', kind: 'ConfigMap', metadata, immutable: true, data }, digest: recipe.digest }
}

/** Of a List, as `kubectl get -o yaml` prints it, its items. */
const itemsOf = (value: unknown): readonly unknown[] =>
  isObject(value) && value['kind'] === 'List' && Array.isArray(value['items']) ? value['items'] : [value]

function withImages(value: unknown, images: ReadonlyMap<string, string>, unused: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((v) => withImages(v, images, unused))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, v]) => {
      const other = key === 'image' && typeof v === 'string' ? images.get(v) : undefined
      if (other === undefined) return [key, withImages(v, images, unused)]
      unused.delete(String(v))
      return [key, other]
    }),
  )
}
