// A structural schema as data: the part of OpenAPI v3 that Kubernetes allows in a CRD, with its x-kubernetes extensions and (for built-in kinds only) the merge
// strategy of strategic merge patch. Interpreted everywhere, never compiled to code.
import type { Json } from '#lib/json.ts'

export interface CelRule {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly default?: Json
  readonly example?: Json
  readonly nullable?: boolean
  readonly enum?: readonly Json[]

  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly minProperties?: number
  readonly maxProperties?: number

  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean

  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string

  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number

  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly not?: Schema

  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic'
  readonly 'x-kubernetes-validations'?: readonly CelRule[]

  /** Strategic merge patch of built-in kinds: "merge", "replace", "retainKeys", separated by commas. */
  readonly 'x-kubernetes-patch-strategy'?: string
  readonly 'x-kubernetes-patch-merge-key'?: string
}
