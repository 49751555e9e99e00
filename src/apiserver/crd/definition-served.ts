// CustomResourceDefinitions as they are served: a built-in kind whose posted schemas are cleaned when they are read.
import { isObject } from '#lib/json.ts'
import { builtinServed } from '../registry/builtin-served.ts'
import type { Decoded, Served } from '../registry/served.ts'
import { specOf, versionsOf, type Fields } from './definition.ts'
import { customResourceDefinition } from './definition-kind.ts'
import { normalizeSchema } from './normalize-schema.ts'

export function definitionServed(): Served {
  const served = builtinServed(customResourceDefinition)
  return { ...served, behaviour: { ...served.behaviour, decode: (value) => cleaned(served.behaviour.decode(value)) } }
}

function cleaned({ object, unknownFields }: Decoded): Decoded {
  const unknown: string[] = []
  const versions = versionsOf(object).map((v, i) => cleanedVersion(v, `spec.versions[${i}]`, unknown))
  if (versions.length === 0) return { object, unknownFields }
  const spec = { ...specOf(object), versions }
  return { object: { ...object, spec }, unknownFields: [...unknownFields, ...unknown] }
}

function cleanedVersion(version: Fields, path: string, unknown: string[]): Fields {
  const schema = version['schema']
  if (!isObject(schema) || schema['openAPIV3Schema'] === undefined) return version
  const cleanSchema = normalizeSchema(schema['openAPIV3Schema'], `${path}.schema.openAPIV3Schema`, unknown)
  return { ...version, schema: { ...schema, openAPIV3Schema: cleanSchema } }
}
