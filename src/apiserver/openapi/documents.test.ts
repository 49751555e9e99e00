import { describe, expect, test } from 'vitest'
import { isObject } from '#lib/json.ts'
import { builtinKinds } from '../builtin/all-kinds.ts'
import { definitionServed } from '../crd/definition-served.ts'
import { builtinServed } from '../registry/builtin-served.ts'
import { Registry } from '../registry/registry.ts'
import { documentV2, documentV3 } from './documents.ts'
import { schemaName } from './schema.ts'

const registry = new Registry([...builtinKinds.map(builtinServed), definitionServed()])

type Fields = Readonly<Record<string, unknown>>
const at = (value: unknown, ...path: readonly string[]): Fields => {
  const found = path.reduce<unknown>((v, key) => (isObject(v) ? v[key] : undefined), value)
  return isObject(found) ? found : {}
}

function refsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(refsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([k, v]) => (k === '$ref' && typeof v === 'string' ? [v] : refsIn(v)))
}

describe.each(registry.all().map((s) => [`${s.type.plural}.${s.type.group}/${s.type.version}`, s] as const))(
  '%s',
  (_, served) => {
    const { group, version, kind } = served.type

    test('has its fields in the document of its version, under the name that clients look for', () => {
      const schema = at(documentV3(registry, group, version), 'components', 'schemas', schemaName(served))
      expect(schema['x-kubernetes-group-version-kind']).toEqual([{ group, version, kind }])
      const properties = Object.keys(at(schema, 'properties'))
      expect(properties).toEqual(expect.arrayContaining(['apiVersion', 'kind']))
      // the required fields of the kind
      expect(properties.length).toBeGreaterThan(3)
    })
  },
)

test('no reference of a document leads nowhere', () => {
  for (const s of registry.all()) {
    const document = documentV3(registry, s.type.group, s.type.version)
    for (const ref of refsIn(document)) expect(at(document, ...ref.slice(2).split('/')), ref).not.toEqual({})
  }
  const all = documentV2(registry)
  for (const ref of refsIn(all)) expect(at(all, ...ref.slice(2).split('/')), ref).not.toEqual({})
})
