// One resource in one version as requests see it: its names and verbs, and how its objects are read, validated and stored.
// Built-in kinds and custom resources differ only in how they fill this in.
import type { FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Stored } from '../storage/stored.ts'
import type { BuiltinSchema, Draft, NameRule, ScalePaths, StrategyContext, Verb } from '../builtin/kind.ts'

export interface Decoded {
  readonly object: Draft
  /** Paths of fields that were dropped. */
  readonly unknownFields: readonly string[]
}

/** For kinds whose versions a webhook converts: a stored object in this version is only known after a call. */
export interface Conversion {
  /** Those of the objects that `view` cannot show yet. */
  readonly missing: (objects: Iterable<Stored>) => readonly Stored[]
  /** Refuses when the webhook fails. */
  readonly prepare: (objects: readonly Stored[]) => Promise<void>
  /** The object in this version. */
  readonly view: (stored: Stored) => KubeObject
  /** A copy that differs in its revision alone needs no call. */
  readonly copied: (copy: Stored, of: Stored) => void
  /** From any version to this one. */
  readonly fromVersion: (object: KubeObject) => Promise<KubeObject>
  /** From this version to the stored one. */
  readonly toStorage: (object: KubeObject) => Promise<KubeObject>
}

/** The pure decisions of a kind; every function returns a new object or the same one, never a changed one. */
export interface Behaviour {
  /** Reads an object as a client sent it; throws DecodeError. `name` of the kind and version are set. */
  readonly decode: (value: { readonly [field: string]: unknown }) => Decoded
  readonly applyDefaults: (object: Draft) => Draft
  readonly prepareForCreate: (object: Draft, ctx: StrategyContext) => Draft
  readonly prepareForUpdate: (object: Draft, old: KubeObject, ctx: StrategyContext) => Draft
  readonly prepareForStatusUpdate: (object: Draft, old: KubeObject, ctx: StrategyContext) => Draft
  readonly canonicalize: (object: Draft) => Draft
  /** For an endpoint that writes only a part of the object: restores the rest from the old object. */
  readonly confine?: (object: Draft, old: KubeObject) => Draft
  readonly validate: (object: KubeObject, old: KubeObject | undefined, ctx: StrategyContext) => readonly FieldError[]
  readonly validateStatus: (object: KubeObject, old: KubeObject, ctx: StrategyContext) => readonly FieldError[]
  readonly admit: (object: KubeObject, old: KubeObject | undefined, ctx: StrategyContext) => string | undefined
  readonly warnings: (object: KubeObject, old: KubeObject | undefined) => readonly string[]
  /** From what is stored (in any version) to this version. */
  readonly fromStored: (stored: KubeObject) => KubeObject
  readonly toStored: (object: KubeObject) => KubeObject
  /** True when `fromStored` returns its input: stored bytes may be sent unchanged. */
  readonly storedAsIs: boolean
  /** Used instead of `fromStored` and `toStored` where present. */
  readonly conversion?: Conversion
}

export interface TableColumn {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
  readonly cell: (object: KubeObject, now: number) => string | number | boolean | null
}

export interface Served {
  readonly type: ResourceType
  readonly singular: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** Where objects are stored: `group/plural`, of another resource for a view of its objects. */
  readonly resource: string
  readonly verbs: ReadonlySet<Verb>
  readonly subresources: ReadonlySet<string>
  readonly scale: ScalePaths | undefined
  readonly nameRule: NameRule
  readonly generation: boolean
  readonly createOnUpdate: boolean
  /** PUT without a resourceVersion overwrites; custom resources want one. */
  readonly unconditionalUpdate: boolean
  readonly custom: boolean
  /** Its definition is being deleted: objects may be changed and deleted, but not created. */
  readonly terminating: boolean
  /** The whole object, metadata included. */
  readonly schema: BuiltinSchema
  readonly columns: readonly TableColumn[]
  readonly selectableFields: ReadonlyMap<string, (object: KubeObject) => string>
  readonly gracePeriod: ((object: KubeObject, asked: number | undefined) => number | undefined) | undefined
  readonly defaultPropagation: 'Background' | 'Orphan'
  /** Text for a Warning header on every request to this version. */
  readonly deprecation: string | undefined
  readonly behaviour: Behaviour
}

export const ALL_VERBS: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]
