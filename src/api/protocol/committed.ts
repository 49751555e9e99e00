// Digests of the objects that decide what is rolled out: sync records what git declares, and programs that act compare it with the actual object. Defaults,
// fields unknown to this release and the order of keyed lists make no difference, so that two releases agree about the same content.
import { createHash } from 'node:crypto'
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

/** Kinds whose edit rolls out at once. MachineComponents and ComponentConfigs are immutable; whatever else git declares disrupts nothing by itself. */
const ROLLOUT_KINDS: ReadonlyMap<string, ApiKind> = new Map(
  [machineSet, machineComponentSet, componentCanary, nodeRemedier, defenderPolicy].map((k) => [k.kind, k]),
)

export const isRolloutKind = (kind: string): boolean => ROLLOUT_KINDS.has(kind)

/** What an Inventory records of the content of an object. */
export interface CommittedContent {
  /** Of the spec, without the replicas; of the agents' configuration, its data. */
  readonly digest: string
  /** Where git declares them: only `scale` may change them. */
  readonly replicas?: number
}

const DIGEST_CHARS = 16

const digestOf = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, DIGEST_CHARS)

type Spec = Readonly<Record<string, unknown>>

function specSchemaOf(kind: string): Schema | undefined {
  return ROLLOUT_KINDS.get(kind)?.schema.properties?.['spec']
}

interface WithContent extends Partial<Pick<KubeObject, 'apiVersion' | 'metadata'>> {
  readonly kind: string
  readonly spec?: unknown
  readonly data?: unknown
}

/** By spec, which is never edited in place. Declared objects are compared at each reconcile, and their digest costs more than the rest of it. */
const READ = new WeakMap<object, { readonly kind: string; readonly content: CommittedContent }>()

/** Undefined for other kinds. Declared content lacks defaults, live content has them: both have one digest. */
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

/** Names one content of one object, replicas and all: what a hold allows. */
export const editDigest = (content: CommittedContent): string =>
  content.replicas === undefined ? content.digest : digestOf([content.digest, content.replicas])

/** Without what equals its default, and keyed lists in the order of their keys. */
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

/** An object may carry 256 KiB of annotations; larger content is not kept with it, and an edit of it holds instead of being ignored. */
const MOST_KEPT_CHARS = 64 * 1024

/** The annotation in which an object keeps what git declares, for programs that find its spec edited; undefined when it would be too large. */
export function keptContent({ spec }: { readonly kind: string; readonly spec?: unknown }): string | undefined {
  if (spec === undefined) return undefined
  const text = canonicalJson(spec)
  return text.length > MOST_KEPT_CHARS ? undefined : text
}

/** Reads the annotation, with defaults. A user who can edit the spec can edit it too: it counts only if an Inventory has its digest. */
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
