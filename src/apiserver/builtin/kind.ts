// What a built-in kind is, as data: its names, its schema with the facts of its Go struct, and the pure decisions of its strategy.
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Schema } from '#api/schema/schema.ts'
import type { FieldProblem } from './field-problem.ts'

/**
 * A schema that also says how the Go struct of a built-in kind would encode the value, since that decides which empty
 * values clients see. Without a mark a field is `omitempty`: null, "", 0, false, {} and [] vanish.
 */
export interface BuiltinSchema extends Schema {
  readonly properties?: { readonly [name: string]: BuiltinSchema }
  readonly items?: BuiltinSchema
  readonly additionalProperties?: BuiltinSchema | boolean
  /**
   * pointer: a zero value that was sent stays (replicas: 0), null vanishes; an empty struct {} stays too.
   * always: written even when empty: a struct as {}, a list or map as null, a scalar as its zero (`resources: {}`, `rules: null`).
   * emptyList: like pointer for lists and maps: [] and {} stay.
   */
  readonly 'x-go-field'?: 'pointer' | 'always' | 'alwaysPointer' | 'emptyList'
  /** Name of the Go struct (`DeploymentSpec`), for decode errors: "Go struct field DeploymentSpec.spec.replicas of type int32". */
  readonly 'x-go-struct'?: string
}

/** An object while a request works on it. Strategy functions return a new one (shallow copies along the path they change). */
export type Draft = { readonly [field: string]: unknown } & KubeObject

export interface RequestUser {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: { readonly [key: string]: readonly string[] }
}

/** What a strategy may know beside the object. Reads are of the state in memory: cheap and synchronous. */
export interface StrategyContext {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly user: RequestUser
  readonly dryRun: boolean
  /** A fresh uuid. */
  uid(): string
  /** In [0, 1). */
  random(): number
  /** An object of another kind by group, plural, namespace ('' when cluster-scoped) and name. */
  find(group: string, plural: string, namespace: string, name: string): KubeObject | undefined
  /** Objects of another kind; all namespaces without `namespace`. */
  list(group: string, plural: string, namespace?: string): readonly KubeObject[]
}

export type NameRule =
  /** RFC 1123 subdomain: most kinds. */
  | 'subdomain'
  /** RFC 1123 label: namespaces, and since 1.34 services. */
  | 'label'
  /** RFC 1035 label. */
  | 'label1035'
  /** Anything that is one path segment: RBAC kinds. */
  | 'pathSegment'

export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly format?: string
  readonly description?: string
  /** 0 is always shown, 1 with -o wide. */
  readonly priority?: number
  /** The cell; `now` for ages. Null shows as <none>. */
  readonly cell: (object: KubeObject, now: number) => string | number | boolean | null
}

/** Paths as in CRDs: `.spec.replicas`. */
export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  /** A string, or for built-ins a label selector object. */
  readonly labelSelectorPath?: string
}

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** One view of another kind's objects: events.k8s.io Events are core Events, stored once. */
interface StoredAs {
  readonly group: string
  readonly plural: string
  readonly toStored: (object: KubeObject) => KubeObject
  readonly fromStored: (stored: KubeObject) => KubeObject
}

export interface BuiltinKind {
  readonly type: ResourceType
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** Root schema: properties of spec, status, data…; `apiVersion`, `kind` and `metadata` are added by the core. */
  readonly schema: BuiltinSchema
  /** Verbs served on the main path; absent means all eight. */
  readonly verbs?: readonly Verb[]
  /** Named subresources beside the main path: 'status', 'scale', 'ephemeralcontainers', 'eviction', 'binding', 'log', 'approval', 'finalize', 'token'. */
  readonly subresources?: readonly string[]
  readonly scale?: ScalePaths
  readonly nameRule?: NameRule
  /** metadata.generation starts at 1 and moves when anything but metadata and status changes. */
  readonly generation?: boolean
  /** PUT to a missing name creates (leases, services). */
  readonly createOnUpdate?: boolean
  readonly columns?: readonly Column[]
  /** Field selectors beside metadata.name and metadata.namespace. */
  readonly selectableFields?: { readonly [path: string]: (object: KubeObject) => string }
  readonly storedAs?: StoredAs

  /** Defaults that the `default`s of the schema cannot say. Runs after them, on every write. */
  readonly applyDefaults?: (object: Draft) => Draft
  /** Sets what the server decides: drops status, fills phases, allocates. After defaulting, before validation. */
  readonly prepareForCreate?: (object: Draft, ctx: StrategyContext) => Draft
  /** Main path: the core has already put the old status back when there is a status subresource. */
  readonly prepareForUpdate?: (object: Draft, old: KubeObject, ctx: StrategyContext) => Draft
  /** Status path: the core has already put back everything but status and metadata. */
  readonly prepareForStatusUpdate?: (object: Draft, old: KubeObject, ctx: StrategyContext) => Draft
  /** Last look after validation, on what is stored (canonical forms). */
  readonly canonicalize?: (object: Draft) => Draft

  /** Problems of the whole object; `old` on updates. Metadata is checked by the core. */
  readonly validate?: (object: KubeObject, old: KubeObject | undefined, ctx: StrategyContext) => readonly FieldProblem[]
  readonly validateStatus?: (object: KubeObject, old: KubeObject, ctx: StrategyContext) => readonly FieldProblem[]
  /** Refusals of admission (403): quota-like checks, unknown priority classes. The text after "is forbidden: ". */
  readonly admit?: (object: KubeObject, old: KubeObject | undefined, ctx: StrategyContext) => string | undefined
  /** Texts for Warning headers. */
  readonly warnings?: (object: KubeObject, old: KubeObject | undefined) => readonly string[]
  /** Seconds an object is given to end; undefined deletes at once. Pods only. */
  readonly gracePeriod?: (object: KubeObject, asked: number | undefined) => number | undefined
  /** Propagation when the client names none; absent is Background. */
  readonly defaultPropagation?: 'Background' | 'Orphan'
}

/** Every kind, in any order; the registry refuses two with one name. */
export type BuiltinKinds = readonly BuiltinKind[]
