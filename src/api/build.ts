// Builds structural schemas together with the TypeScript type of what they accept: one literal, from which everything else is derived. Every constructor takes
// the documentation first and requires a bound, so that neither can be forgotten.
import { defined } from '#lib/defined.ts'
import type { JsonObject } from '#lib/json.ts'
import type { Json } from '#lib/json.ts'
import type { Schema } from './schema/schema.ts'
import { PROBLEM_CODES } from './problem.ts'
import { EXTRAS, extrasOf, sizeCheck, type ApiSchema, type Extras } from './extras.ts'

/** A schema and, for the type checker only, what a server returns (`Out`) and what a user may write (`In`: without defaults). */
export interface Field<Out, In = Out> {
  readonly schema: ApiSchema
  readonly presence?: 'optional' | 'defaulted'
  /** Never set; they carry the types. */
  readonly out?: Out
  readonly in?: In
}

export interface OptionalField<Out, In = Out> extends Field<Out, In> {
  readonly presence: 'optional'
}

export interface DefaultedField<Out, In = Out> extends Field<Out, In> {
  readonly presence: 'defaulted'
}

export type Out<F> = F extends Field<infer O, unknown> ? O : never
export type In<F> = F extends Field<unknown, infer I> ? I : never

export type Props = Readonly<Record<string, Field<unknown>>>
type Flat<T> = { [K in keyof T]: T[K] }

export type OutProps<P extends Props> = Flat<
  { readonly [K in keyof P as P[K] extends OptionalField<unknown> ? never : K]: Out<P[K]> } & {
    readonly [K in keyof P as P[K] extends OptionalField<unknown> ? K : never]?: Out<P[K]>
  }
>
export type InProps<P extends Props> = Flat<
  { readonly [K in keyof P as P[K] extends { readonly presence: string } ? never : K]: In<P[K]> } & {
    readonly [K in keyof P as P[K] extends { readonly presence: string } ? K : never]?: In<P[K]>
  }
>

const field = <Out, In = Out>(schema: ApiSchema): Field<Out, In> => ({ schema })

/** Adds facts to a field's schema; the plain field type stays. */
export function refine<F extends Field<unknown>>(f: F, more: Schema, extras: Extras = {}): F {
  const before = extrasOf(f.schema)
  const merged: Extras = { ...before, ...extras, checks: [...(before.checks ?? []), ...(extras.checks ?? [])] }
  return { ...f, schema: { ...f.schema, ...more, [EXTRAS]: merged } }
}

interface TextBounds {
  readonly min?: number
  readonly max: number
  readonly pattern?: string
  /** A description of the pattern, for the user whose value it refused. */
  readonly expects?: string
}

export function str(doc: string, { min, max, pattern, expects }: TextBounds): Field<string> {
  const schema: Schema = {
    type: 'string',
    description: doc,
    ...defined({ minLength: min }),
    maxLength: max,
    ...defined({ pattern }),
  }
  return field(expects === undefined ? schema : { ...schema, [EXTRAS]: { expects } })
}

export const choice = <const V extends string>(doc: string, values: readonly V[]): Field<V> =>
  field({ type: 'string', description: doc, enum: values })

export const bool = (doc: string): Field<boolean> => field({ type: 'boolean', description: doc })

interface NumberBounds {
  readonly min: number
  readonly max: number
}

export const int = (doc: string, { min, max }: NumberBounds): Field<number> =>
  field({
    type: 'integer',
    format: max > 2 ** 31 - 1 ? 'int64' : 'int32',
    description: doc,
    minimum: min,
    maximum: max,
  })

/** An API server accepts any list for text with a format, unless the list breaks a list rule: every list breaks this one. */
const NO_LIST = { minItems: 1, maxItems: 0 } as const

/** RFC 3339 with whole seconds. */
export const time = (doc: string): Field<string> =>
  field({ type: 'string', format: 'date-time', ...NO_LIST, description: doc })

/** RFC 3339 with microseconds, for leases. */
export const microTime = (doc: string): Field<string> =>
  field({ type: 'string', format: 'date-time', ...NO_LIST, maxLength: 64, description: doc })

export function obj<P extends Props>(doc: string, props: P): Field<OutProps<P>, InProps<P>> {
  const names = Object.keys(props)
  const required = names.filter((n) => props[n]?.presence === undefined)
  const properties: Record<string, Schema> = {}
  for (const [name, f] of Object.entries(props)) properties[name] = f.schema
  return field({ type: 'object', description: doc, properties, ...(required.length > 0 ? { required } : {}) })
}

interface ListBounds {
  readonly min?: number
  readonly max: number
}

const items = (doc: string, of: Field<unknown>, { min, max }: ListBounds): Schema => ({
  type: 'array',
  description: doc,
  items: of.schema,
  ...defined({ minItems: min }),
  maxItems: max,
})

/** A list that is replaced as a whole. */
export const list = <O, I>(doc: string, of: Field<O, I>, bounds: ListBounds): Field<readonly O[], readonly I[]> =>
  field({ ...items(doc, of, bounds), 'x-kubernetes-list-type': 'atomic' })

/** A list of distinct scalars, merged value by value. */
export const setOf = <O, I>(doc: string, of: Field<O, I>, bounds: ListBounds): Field<readonly O[], readonly I[]> =>
  field({ ...items(doc, of, bounds), 'x-kubernetes-list-type': 'set' })

/** A list of objects identified by some of their fields, so that several writers can own different entries. */
export const mapList = <O extends object, I>(
  doc: string,
  of: Field<O, I>,
  { keys, ...bounds }: ListBounds & { readonly keys: readonly (keyof O & string)[] },
): Field<readonly O[], readonly I[]> =>
  field({ ...items(doc, of, bounds), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys })

/** A map from short texts to one type. */
export const map = <O, I>(
  doc: string,
  of: Field<O, I>,
  { max }: { readonly max: number },
): Field<{ readonly [key: string]: O }, { readonly [key: string]: I }> =>
  field({ type: 'object', description: doc, additionalProperties: of.schema, maxProperties: max })

/** A count, or a percentage of the total named in the field's documentation. */
export function intOrPercent(doc: string, { min, max }: NumberBounds): Field<number | `${number}%`> {
  return refine(
    field<number | `${number}%`>({
      'x-kubernetes-int-or-string': true,
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      description: doc,
      minimum: min,
      maximum: max,
      maxLength: 4,
      pattern: '^(100|[1-9]?[0-9])%$',
    }),
    {},
    { expects: 'a whole number, or a percentage from 0% to 100%' },
  )
}

/** Data that a schema cannot describe; the validator and admission limit its size. */
export const freeform = (doc: string, { maxBytes }: { readonly maxBytes: number }): Field<JsonObject> =>
  field({
    type: 'object',
    description: doc,
    'x-kubernetes-preserve-unknown-fields': true,
    [EXTRAS]: { maxBytes, checks: [sizeCheck(maxBytes)] },
  })

export const optional = <O, I>(f: Field<O, I>): OptionalField<O, I> => ({ ...f, presence: 'optional' })

/** Users may leave it out, and the server fills it in, so readers always have it. */
export const fallback = <O, I>(f: Field<O, I>, value: NoInfer<I>): DefaultedField<O, I> => ({
  ...f,
  schema: { ...f.schema, default: value as Json },
  presence: 'defaulted',
})

/** Declared, but no part of KubeNode acts on it yet: lint and admission refuse it. With `values`, only those. */
export function unserved<F extends Field<unknown>>(
  f: F,
  reason: string,
  values?: readonly (Extract<Out<F>, string> & string)[],
): F {
  const of = values === undefined ? '' : ` (${values.join(', ')})`
  const isRefused = (value: unknown): boolean => values === undefined || values.some((v) => v === value)
  return refine(
    f,
    { description: `${f.schema.description ?? ''} Not served yet${of}: ${reason}.` },
    {
      unserved: { reason, ...defined({ values }) },
      checks: [
        {
          name: 'served',
          findings: (value) =>
            isRefused(value)
              ? [{ pointer: '', code: PROBLEM_CODES.unserved, message: `not served yet: ${reason}` }]
              : [],
        },
      ],
    },
  )
}

interface RuleOf<O> {
  readonly cel: string
  readonly message: string
  readonly fieldPath?: string
  /** The same rule for KubeNode's validator, which must agree with the CEL. Like the server, it reads values with their defaults. */
  readonly holds: (self: O) => boolean
}

/** A constraint between fields, stated once for the server (CEL) and once for KubeNode's validator. */
export function rule<F extends Field<unknown>>(f: F, { cel, message, fieldPath, holds }: RuleOf<Out<F>>): F {
  const earlier = f.schema['x-kubernetes-validations'] ?? []
  const celRule = { rule: cel, message, ...defined({ fieldPath }) }
  return refine(
    f,
    { 'x-kubernetes-validations': [...earlier, celRule] },
    {
      checks: [
        {
          name: cel,
          findings: (value) =>
            holds(value as Out<F>) ? [] : [{ pointer: fieldPath?.replaceAll('.', '/') ?? '', message }],
        },
      ],
    },
  )
}

/** Exactly one (or at most one) of these properties may be set: a CRD's form of a union. */
export function union<F extends Field<object>>(f: F, names: readonly (keyof Out<F> & string)[], at = 'exactly'): F {
  const sum = names.map((n) => `(has(self.${n}) ? 1 : 0)`).join(' + ')
  const compare = at === 'exactly' ? '==' : '<='
  return rule(f, {
    cel: `${sum} ${compare} 1`,
    message: `${at} one of ${names.join(', ')} must be set`,
    holds: (self) => {
      const n = names.filter((name) => Object.hasOwn(Object(self), name)).length
      return at === 'exactly' ? n === 1 : n <= 1
    },
  })
}

/**
 * What an update may not do to an entry of a list map, which a server identifies by its keys. KubeNode's validator checks what users write, which has no
 * status.
 */
export const onUpdate = <F extends Field<unknown>>(
  f: F,
  { cel, message }: Pick<RuleOf<unknown>, 'cel' | 'message'>,
): F =>
  refine(f, {
    'x-kubernetes-validations': [...(f.schema['x-kubernetes-validations'] ?? []), { rule: cel, message }],
  })

const unchanged = (name: string): string =>
  `(has(self.${name}) ? has(oldSelf.${name}) && self.${name} == oldSelf.${name} : !has(oldSelf.${name}))`

/** In CEL, for `onUpdate`. */
export const areUnchanged = (names: readonly string[]): string => names.map(unchanged).join(' && ')

/** An object that never changes once written, except for the named properties. */
export function immutableBut<F extends Field<object>>(
  f: F,
  mutable: readonly (keyof Out<F> & string)[],
  message: string,
): F {
  const fixed = Object.keys(f.schema.properties ?? {}).filter((name) => !mutable.some((m) => m === name))
  const rules = fixed.map((n) =>
    f.schema.required?.includes(n) === true || f.schema.properties?.[n]?.default !== undefined
      ? `self.${n} == oldSelf.${n}`
      : unchanged(n),
  )
  return refine(
    f,
    {
      'x-kubernetes-validations': [
        ...(f.schema['x-kubernetes-validations'] ?? []),
        { rule: rules.join(' && '), message },
      ],
    },
    { immutable: message, mutable },
  )
}

/** Never changes once written. */
export const immutable = <F extends Field<unknown>>(f: F, message: string): F =>
  refine(
    f,
    {
      'x-kubernetes-validations': [
        ...(f.schema['x-kubernetes-validations'] ?? []),
        { rule: 'self == oldSelf', message },
      ],
    },
    { immutable: message },
  )
