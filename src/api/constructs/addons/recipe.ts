// A recipe: the objects of an addon that an administrator of the hub keeps there, in an immutable ConfigMap. A commit names it with its digest, so
// neither of them alone decides what runs with the power of a node. Pure.
import { fieldAt, listOf, textOf } from '#lib/fields.ts'
import { isObject } from '#lib/json.ts'
import { minorOf } from '../control-plane/settings.ts'
import { parseDocuments } from '#lib/documents.ts'
import { sha256Hex } from '#lib/sha256.ts'
import { POD_PATHS } from '../../ordinary-pods.ts'
import type { KubeObject } from '../../schema/object.ts'

export interface Recipe {
  readonly digest: string
  /** The first and last Kubernetes 1.x minor. */
  readonly minors: readonly [number, number]
  /** A changed one is applied once no kubelet is older than the API server. */
  readonly isAfterNodes: boolean
  readonly objects: readonly KubeObject[]
}

/** What a recipe is filled with: facts of the hub, and nothing that a commit writes freely. */
export interface RecipeFacts {
  readonly CLUSTER: string
  readonly KUBERNETES_VERSION: string
  readonly POD_RANGE: string
  readonly SERVICE_RANGE: string
  readonly DNS_DOMAIN: string
  readonly DNS_ADDRESS: string
  /** URL of the API server. */
  readonly API_SERVER: string
}

const FACTS: readonly string[] = [
  'CLUSTER',
  'KUBERNETES_VERSION',
  'POD_RANGE',
  'SERVICE_RANGE',
  'DNS_DOMAIN',
  'DNS_ADDRESS',
  'API_SERVER',
] satisfies readonly (keyof RecipeFacts)[]
const PLACE = /\$\(KUBENODE_([A-Z_]*)\)/g
const BY_DIGEST = /@sha256:[0-9a-f]{64}$/
/** As the last part of the name of a ConfigMap, where a dot stands between letters and digits. */
const VERSION = /^(?!.*(?:\.[.-]|-\.))[0-9a-z](?:[0-9a-z.-]{0,62}[0-9a-z])?$/
const MAX_OBJECTS = 200

export const RECIPE_KEYS = { settings: 'settings.yaml', objects: 'objects.yaml' } as const

export const recipeName = (name: string, version: string): string => `addon-${name}-${version}`

export const isRecipeVersion = (version: string): boolean => VERSION.test(version)

type Data = Readonly<Record<string, unknown>>

/** Of both texts as they are. */
const recipeDigest = (data: Data): string =>
  sha256Hex(JSON.stringify([data[RECIPE_KEYS.settings], data[RECIPE_KEYS.objects]]))

/** A sentence, if it cannot be used. */
export function readRecipe(data: Data): Recipe | string {
  const [settings, objects] = [data[RECIPE_KEYS.settings], data[RECIPE_KEYS.objects]]
  if (typeof settings !== 'string' || typeof objects !== 'string')
    return `it needs the keys ${RECIPE_KEYS.settings} and ${RECIPE_KEYS.objects}`
  const parsed = [parseDocuments(settings, { refuseAliases: true }), parseDocuments(objects, { refuseAliases: true })]
  const [problem] = parsed.flatMap(({ problems }) => problems)
  if (problem !== undefined) return `line ${problem.line}: ${problem.message}`
  const [ofSettings, ofObjects] = parsed.map(({ documents }) => documents.map((d) => d.value).filter((v) => v !== null))
  const about = ofSettings?.[0]
  if (!isObject(about) || ofSettings?.length !== 1) return `${RECIPE_KEYS.settings} must be one object`
  const { kubernetes, upgrade = 'BeforeNodes', ...others } = about
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return `${RECIPE_KEYS.settings} has the unknown key ${unknown}`
  const minors = minorsOf(kubernetes)
  if (minors === undefined) return `kubernetes must be the minors that it is for, such as 1.34-1.36`
  if (upgrade !== 'BeforeNodes' && upgrade !== 'AfterNodes') return 'upgrade must be BeforeNodes or AfterNodes'
  const all = ofObjects ?? []
  if (all.length === 0 || all.length > MAX_OBJECTS) return `it must have from 1 to ${MAX_OBJECTS} objects`
  const wrong = all.map(objectProblem).find((found) => found !== undefined)
  if (wrong !== undefined) return wrong
  const digest = recipeDigest(data)
  return {
    digest,
    minors,
    isAfterNodes: upgrade === 'AfterNodes',
    objects: all as readonly unknown[] as readonly KubeObject[],
  }
}

export function minorsOf(text: unknown): readonly [number, number] | undefined {
  if (typeof text !== 'string') return undefined
  const [first, last = first, ...rest] = text.split('-').map((part) => minorOf(`${part}.0`))
  return first === undefined || last === undefined || first > last || rest.length > 0 ? undefined : [first, last]
}

function objectProblem(value: unknown, at: number): string | undefined {
  const nth = `object ${at + 1}`
  if (!isObject(value) || !isObject(value['metadata'])) return `${nth} is no object of Kubernetes`
  const { apiVersion, kind } = value
  const { name } = value['metadata']
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string')
    return `${nth} needs apiVersion, kind and metadata.name`
  const what = `${kind} ${name}`
  const image = imagesOf(value as unknown as KubeObject).find((i) => !BY_DIGEST.test(i))
  if (image !== undefined) return `${what}: image ${image || 'of a container'} has no digest, name@sha256:…`
  const fact = [...JSON.stringify(value).matchAll(PLACE)].map(([, found = '']) => found).find((f) => !FACTS.includes(f))
  return fact === undefined
    ? undefined
    : `${what}: $(KUBENODE_${fact}) is unknown; known are ${FACTS.map((f) => `KUBENODE_${f}`).join(', ')}`
}

function imagesOf(object: KubeObject): readonly string[] {
  const path = POD_PATHS[`${object.kind.toLowerCase()}s`]
  if (path === undefined) return []
  return ['initContainers', 'containers'].flatMap((list) =>
    listOf(fieldAt(object, ...path, 'spec', list)).map((container) => textOf(fieldAt(container, 'image'))),
  )
}

/** Only texts are filled, so a fact adds no field. */
export function filled(objects: readonly KubeObject[], facts: RecipeFacts): readonly KubeObject[] {
  const values = new Map(Object.entries(facts))
  return objects.map((object) =>
    withTexts(object, (t) => t.replace(PLACE, (all, name: string) => values.get(name) ?? all)),
  )
}

function withTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T
  if (Array.isArray(value)) return value.map((v: unknown) => withTexts(v, change)) as T
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, withTexts(v, change)])) as T
}
