import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { ajvSchemaOf } from './ajv-schema.ts'
import { KINDS } from './kinds.ts'
import { objectSchema } from './validate.ts'

// Programs skip this check, because they compile at startup.
test.each(KINDS.map((kind) => [kind.kind, kind] as const))('the schema of %s is good JSON Schema', (_, kind) => {
  const ajv = new Ajv({ strict: false })
  expect(ajv.validateSchema(ajvSchemaOf(objectSchema(kind)))).toBe(true)
})

test('a schema that is not would be found', () => {
  expect(new Ajv({ strict: false, logger: false }).validateSchema({ type: 'strng' })).toBe(false)
})
