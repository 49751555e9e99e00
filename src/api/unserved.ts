// Fields of a kind that no part of KubeNode acts on yet. Pure.
import type { Schema } from './schema/schema.ts'
import { extrasOf, type ApiSchema, type Unserved } from './extras.ts'
import type { ApiKind } from './kind.ts'

/** In a path: every property of an object, or every item of a list or map. */
export const EACH = '[]'

export interface UnservedField extends Unserved {
  /** From the object: spec, stages, [], gates. */
  readonly path: readonly string[]
}

/** Outermost only: nothing below a field without effect has one either. */
export const unservedFields = (kind: ApiKind): readonly UnservedField[] =>
  below(kind.schema.properties?.['spec'] ?? {}, ['spec'])

function below(schema: ApiSchema, path: readonly string[]): readonly UnservedField[] {
  const { unserved } = extrasOf(schema)
  if (unserved !== undefined) return [{ path, ...unserved }]
  const each: Schema | undefined =
    schema.items ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined)
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, s]) => below(s, [...path, name])),
    ...(each === undefined ? [] : below(each, [...path, EACH])),
  ]
}
