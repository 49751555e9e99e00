// OpenAPI documents made from the registry: one per group and version (v3), one for all (v2). Made on request, cached until a
// definition is added or removed.
import { collectionPath } from '#api/schema/resource.ts'
import { objectMeta } from '../meta/object-meta.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'
import { kindSchema, OBJECT_META, openApiSchema, schemaName } from './schema.ts'
import { sha256Hex } from '#lib/sha256.ts'

const V3_REFS = '#/components/schemas/'
const V2_REFS = '#/definitions/'
const INFO = { title: 'Kubernetes', version: 'v1.36.0+kubenode' }

const METHODS: Readonly<Record<string, string>> = { list: 'get', create: 'post', deletecollection: 'delete' }
const NAMED: Readonly<Record<string, string>> = { get: 'get', update: 'put', patch: 'patch', delete: 'delete' }
const WRITES = new Set(['post', 'put', 'patch'])
const PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation']

interface Place {
  readonly served: Served
  readonly refs: string
}

function operation({ served, refs }: Place, method: string): unknown {
  const { group, version, kind } = served.type
  const schema = { $ref: `${refs}${schemaName(served)}` }
  const v3 = refs === V3_REFS
  const ok = v3 ? { description: 'OK', content: { 'application/json': { schema } } } : { description: 'OK', schema }
  const query = (name: string) =>
    v3 ? { name, in: 'query', schema: { type: 'string' } } : { name, in: 'query', type: 'string' }
  return {
    responses: { 200: ok },
    ...(WRITES.has(method) ? { parameters: PARAMETERS.map(query) } : {}),
    'x-kubernetes-group-version-kind': { group, kind, version },
  }
}

function pathsOf(place: Place): readonly (readonly [string, unknown])[] {
  const { type, verbs } = place.served
  const collection = collectionPath(type, '{namespace}').replace('%7Bnamespace%7D', '{namespace}')
  const operations = (names: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(names)
        .filter(([verb]) => (verbs as ReadonlySet<string>).has(verb))
        .map(([, method]) => [method, operation(place, method)]),
    )
  return [
    [collection, operations(METHODS)],
    [`${collection}/{name}`, operations(NAMED)],
    ...(type.namespaced ? [[collectionPath(type), { get: operation(place, 'get') }] as const] : []),
  ]
}

const ofVersion = (registry: Registry, group: string, version: string): readonly Served[] =>
  registry.all().filter((s) => s.type.group === group && s.type.version === version)

export function documentV3(registry: Registry, group: string, version: string): unknown {
  const served = ofVersion(registry, group, version)
  if (served.length === 0) return undefined
  return {
    openapi: '3.0.0',
    info: INFO,
    paths: Object.fromEntries(served.flatMap((s) => pathsOf({ served: s, refs: V3_REFS }))),
    components: {
      schemas: {
        ...Object.fromEntries(served.map((s) => [schemaName(s), kindSchema(s, V3_REFS)])),
        [OBJECT_META]: openApiSchema(objectMeta, V3_REFS),
      },
    },
  }
}

export function documentV2(registry: Registry): unknown {
  const served = registry.all()
  return {
    swagger: '2.0',
    info: INFO,
    paths: Object.fromEntries(served.flatMap((s) => pathsOf({ served: s, refs: V2_REFS }))),
    definitions: {
      ...Object.fromEntries(served.map((s) => [schemaName(s), kindSchema(s, V2_REFS)])),
      [OBJECT_META]: openApiSchema(objectMeta, V2_REFS),
    },
  }
}

/** The paths of the documents; the hash lets clients cache them. */
export function indexV3(registry: Registry): unknown {
  const paths: Record<string, unknown> = {}
  for (const group of registry.groups())
    for (const version of registry.versions(group)) {
      const path = group === '' ? `api/${version}` : `apis/${group}/${version}`
      const facts = ofVersion(registry, group, version).map((s) => [s.type.plural, s.schema])
      const hash = sha256Hex(JSON.stringify(facts)).toUpperCase()
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }
    }
  return { paths }
}
