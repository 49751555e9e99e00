// Digests of the objects that decide what is rolled out: sync records what git declares, and acting programs compare it with the actual object. Defaults,
// unknown fields and the order of keyed lists do not matter, so that two releases agree on the same content.
import { canonicalJson, isObject, jsonEqual } from '#lib/json.ts'
import { applyDefaults } from '../schema/default.ts'
import type { KubeObject } from '../schema/object.ts'
import { prune } from '../schema/prune.ts'
import type { Schema } from '../schema/schema.ts'
import { isAgentConfigMap } from '../agent-config/agent-config-map.ts'
import type { ApiKind } from '../kind.ts'
import { componentCanary } from '../kinds/component-canary.ts'
import { defenderPolicy } from '../kinds/defender-policy.ts'
import { machineComponentSet } from '../kinds/machine-component-set.ts'
import { machineSet } from '../kinds/machine-set.ts'
import { nodeRemedier } from '../kinds/node-remedier.ts'
import { ANNOTATIONS } from '../names.ts'
import { sha256OfJson } from '#lib/sha256.ts'

/** Kinds whose edit rolls out at once. MachineComponents and ComponentConfigs are immutable; other declared kinds disrupt nothing by themselves. */
const ROLLOUT_KINDS: ReadonlyMap<string, ApiKind> = new Map(
  [machineSet, machineComponentSet, componentCanary, nodeRemedier, defenderPolicy].map((k) => [k.kind, k]),
)

export const isRolloutKind = (kind: string): boolean => ROLLOUT_KINDS.has(kind)

/** What an Inventory records of an object's content. */
export interface CommittedContent {
  /** Of the spec without the replicas; for the agents' configuration, of its data. */
  readonly digest: string
  /** If git declares them: only `scale` may change them. */
  readonly replicas?: number
}

const DIGEST_CHARS = 16

const digestOf = (value: unknown): string => sha256OfJson(value).slice(0, DIGEST_CHARS)

type Spec = Readonly<Record<string, unknown>>

function specSchemaOf(kind: string): Schema | undefined {
  return ROLLOUT_KINDS.get(kind)?.schema.properties?.['spec']
}

interface WithContent extends Partial<Pick<KubeObject, 'apiVersion' | 'metadata'>> {
  readonly kind: string
  readonly spec?: unknown
  readonly data?: unknown
}

/** By spec, which is never edited in place. Declared objects are compared at each reconcile, and the digest is the most expensive part. */
const READ = new WeakMap<object, { readonly kind: string; readonly content: CommittedContent }>()

/** Undefined for other kinds. Declared content lacks defaults and live content has them; both give the same digest. */
export function contentOf(object: WithContent): CommittedContent | undefined {
  if (isAgentConfigMap(object)) return { digest: digestOf(object.data) }
  const { kind, spec } = object
  const schema = specSchemaOf(kind)
  if (schema === undefined || !isObject(spec)) return undefined
  const known = READ.get(spec)
  if (known?.kind === kind) return known.content
  const content = contentOfSpec(schema, spec)
  READ.set(spec, { kind, content })
  return content
}

function contentOfSpec(schema: Schema, spec: Spec): CommittedContent {
  const { replicas, ...rest } = spec
  const digest = digestOf(sparse(schema, prune(schema, rest).value))
  return typeof replicas === 'number' ? { digest, replicas } : { digest }
}

/** Identifies an object's exact content including replicas: what a hold allows. */
export const editDigest = (content: CommittedContent): string =>
  content.replicas === undefined ? content.digest : digestOf([content.digest, content.replicas])

/** Drops values equal to their default, and sorts keyed lists by their keys. */
function sparse(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    const all = items === undefined ? value : value.map((v) => sparse(items, v))
    return ordered(schema, all)
  }
  if (!isObject(value)) return value
  const known = isObject(schema.properties) ? schema.properties : {}
  const more = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
  const fields = Object.entries(value).flatMap(([name, v]) => {
    const sub = Object.hasOwn(known, name) ? known[name] : more
    if (sub === undefined) return [[name, v] as const]
    const lean = sparse(sub, v)
    return isDefault(sub, lean) ? [] : [[name, lean] as const]
  })
  return Object.fromEntries(fields)
}

const isDefault = (schema: Schema, lean: unknown): boolean =>
  schema.default !== undefined && jsonEqual(lean, sparse(schema, schema.default))

function ordered(schema: Schema, items: readonly unknown[]): readonly unknown[] {
  const type = schema['x-kubernetes-list-type']
  if (type !== 'map' && type !== 'set') return items
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const itemKey = (item: unknown) =>
    canonicalJson(type === 'map' && isObject(item) ? keys.map((k) => item[k] ?? null) : item)
  return items.toSorted((a, b) => (itemKey(a) < itemKey(b) ? -1 : 1))
}

/** An object may have 256 KiB of annotations. Larger content is not stored on it, so an edit of it holds instead of being ignored. */
const MOST_KEPT_CHARS = 64 * 1024

/** The annotation with the content git declares, for programs that find the spec edited; undefined if too large. */
export function keptContent({ spec }: { readonly kind: string; readonly spec?: unknown }): string | undefined {
  if (spec === undefined) return undefined
  const text = canonicalJson(spec)
  return text.length > MOST_KEPT_CHARS ? undefined : text
}

/** Parses the annotation, with defaults. A user who can edit the spec can edit it too: it is only valid if an Inventory has its digest. */
export function readKept({
  kind,
  metadata,
}: KubeObject): { readonly spec: Spec; readonly content: CommittedContent } | undefined {
  const text = metadata.annotations?.[ANNOTATIONS.committed]
  const schema = specSchemaOf(kind)
  if (text === undefined || text.length > MOST_KEPT_CHARS || schema === undefined) return undefined
  try {
    const spec: unknown = JSON.parse(text)
    const content = isObject(spec) ? contentOf({ kind, spec }) : undefined
    return content === undefined ? undefined : { spec: applyDefaults(schema, spec) as Spec, content }
  } catch {
    // The annotation was edited: ignore it.
    return undefined
  }
}
