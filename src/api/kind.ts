// A kind of the API: its names, its single schema, and what is derived from both.
import { pluralOf } from '#lib/plural.ts'
import type { KubeObject, ObjectMeta } from './schema/object.ts'
import type { ResourceType } from './schema/resource.ts'
import type { Schema } from './schema/schema.ts'
import type { ApiSchema, Finding } from './extras.ts'
import type { Field } from './build.ts'
import { AGE, type PrinterColumn } from './columns.ts'
import type { ConditionType } from './catalogue.ts'

export const API_GROUP = 'kubenode.io'
export const API_VERSION = 'v1alpha1'
export const API_GROUP_VERSION = `${API_GROUP}/${API_VERSION}` as const

export interface ScaleSubresource {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** What a server returns. */
interface TypedObject<Kind extends string, Spec, Status> extends KubeObject {
  readonly apiVersion: typeof API_GROUP_VERSION
  readonly kind: Kind
  readonly metadata: ObjectMeta
  readonly spec: Spec
  readonly status?: Status
}

/** What a user writes: without defaults and status. */
interface TypedInput<Kind extends string, Spec> {
  readonly apiVersion: typeof API_GROUP_VERSION
  readonly kind: Kind
  readonly metadata: ObjectMeta
  readonly spec: Spec
}

interface ObjectCheck<Spec> {
  readonly name: string
  /** Called only with well-formed objects, with defaults filled in. */
  findings(object: { readonly metadata: ObjectMeta; readonly spec: Spec }): readonly Finding[]
}

interface RootRule<Spec> {
  readonly cel: string
  readonly message: string
  holds(object: { readonly metadata: ObjectMeta; readonly spec: Spec }): boolean
}

interface KindDefinition<Spec, SpecIn, Status> {
  /** If left out, cluster-scoped. */
  readonly namespaced?: true
  /** One or two sentences for the reference page and `kubectl explain`. */
  readonly doc: string
  readonly spec: Field<Spec, SpecIn>
  readonly status?: Field<Status>
  /** In addition to the status subresource, which every kind with a status has. */
  readonly scale?: ScaleSubresource
  /** Printed between the name and the age. */
  readonly columns: readonly PrinterColumn[]
  /** Paths for field selectors, such as `.spec.component`. */
  readonly selectable?: readonly string[]
  /** Condition types of this kind's status, each listed in the catalogue. */
  readonly conditions?: readonly ConditionType[]
  /** Rules that need the object's name besides its spec, in CEL and for KubeNode's validator. */
  readonly rootRules?: readonly RootRule<NoInfer<Spec>>[]
  /** Rules over the whole object that a CRD cannot express. */
  readonly checks?: readonly ObjectCheck<NoInfer<Spec>>[]
  /** Valid, and shown on the reference page. */
  readonly example: { readonly metadata: ObjectMeta; readonly spec: NoInfer<SpecIn> }
}

export interface ApiKind<
  Kind extends string = string,
  Spec = unknown,
  SpecIn = unknown,
  Status = unknown,
> extends ResourceType<TypedObject<Kind, Spec, Status>> {
  readonly kind: Kind
  /** As in `kubectl get km`. */
  readonly shortName: string
  readonly definition: Omit<KindDefinition<Spec, SpecIn, Status>, 'example'>
  /** Schema of spec and status; metadata is the same for all kinds. */
  readonly schema: ApiSchema
  readonly example: TypedInput<Kind, SpecIn>
}

export type ObjectOf<K> =
  K extends ApiKind<infer Kind, infer Spec, infer _In, infer Status> ? TypedObject<Kind, Spec, Status> : never
export type InputOf<K> =
  K extends ApiKind<infer Kind, infer _Spec, infer SpecIn, infer _St> ? TypedInput<Kind, SpecIn> : never
export type SpecOf<K> = K extends ApiKind<string, infer Spec, infer _In, infer _St> ? Spec : never
export type StatusOf<K> = K extends ApiKind<string, infer _Spec, infer _In, infer Status> ? Status : never

export function defineKind<const Kind extends string, Spec, SpecIn, Status = undefined>(
  kind: Kind,
  shortName: string,
  definition: KindDefinition<Spec, SpecIn, Status>,
): ApiKind<Kind, Spec, SpecIn, Status> {
  const { namespaced = false, doc, spec, status, columns, rootRules, example } = definition
  const properties: Record<string, Schema> = { spec: spec.schema }
  if (status !== undefined) properties['status'] = status.schema
  return {
    group: API_GROUP,
    version: API_VERSION,
    kind,
    plural: pluralOf(kind.toLowerCase()),
    shortName,
    namespaced,
    definition: { ...definition, columns: [...columns, AGE] },
    schema: {
      type: 'object',
      description: doc,
      properties,
      required: ['spec'],
      ...(rootRules === undefined
        ? {}
        : { 'x-kubernetes-validations': rootRules.map(({ cel, message }) => ({ rule: cel, message })) }),
    },
    example: { apiVersion: API_GROUP_VERSION, kind, ...example },
  }
}
