// A schema as OpenAPI shows it: without internal marks of this server, with metadata by reference.
import type { BuiltinSchema } from '../builtin/kind.ts'
import type { Served } from '../registry/served.ts'

export type OpenApiSchema = Readonly<Record<string, unknown>>

export const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

const APPLY = 'APIVersion defines the versioned schema of this representation of an object.'
const KIND = 'Kind is a string value representing the REST resource this object represents.'

/** `io.k8s.api.apps.v1.Deployment`, `io.kubenode.v1alpha1.Machine` */
export function schemaName({ type, custom }: Served): string {
  const { group, version, kind } = type
  if (custom) return `${group.split('.').toReversed().join('.')}.${version}.${kind}`
  return `io.k8s.api.${group === '' ? 'core' : (group.split('.')[0] ?? '')}.${version}.${kind}`
}

export function openApiSchema(schema: BuiltinSchema, refs: string): OpenApiSchema {
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'x-go-field' || key === 'x-go-struct') continue
    if (key === 'properties') out[key] = mapped(value as Readonly<Record<string, BuiltinSchema>>, refs)
    else if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object'))
      out[key] = openApiSchema(value as BuiltinSchema, refs)
    else out[key] = value
  }
  if (out['format'] === 'micro-time') out['format'] = 'date-time'
  if (out['format'] === 'quantity') delete out['format']
  if (schema['x-kubernetes-int-or-string'] === true && schema.type === undefined) {
    out['format'] = 'int-or-string'
    out['oneOf'] = [{ type: 'integer' }, { type: 'string' }]
  }
  return out
}

const mapped = (properties: Readonly<Record<string, BuiltinSchema>>, refs: string): OpenApiSchema =>
  Object.fromEntries(Object.entries(properties).map(([k, s]) => [k, openApiSchema(s, refs)]))

/** The schema of a whole kind, named as clients look for it. */
export function kindSchema(served: Served, refs: string): OpenApiSchema {
  const { group, version, kind } = served.type
  const { metadata: _, ...own } = served.schema.properties ?? {}
  const base = openApiSchema({ ...served.schema, properties: own }, refs)
  const properties = base['properties'] as Readonly<Record<string, unknown>>
  return {
    ...base,
    properties: {
      ...properties,
      apiVersion: { type: 'string', description: APPLY },
      kind: { type: 'string', description: KIND },
      metadata: { allOf: [{ $ref: `${refs}${OBJECT_META}` }], default: {}, description: "Standard object's metadata." },
    },
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
  }
}
