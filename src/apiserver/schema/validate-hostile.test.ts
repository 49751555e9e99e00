import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Runs alone: freezing the prototypes would reach every other test of the process. */
const SCRIPT = `
import { applyDefaults } from '#api/schema/default.ts'
import { coerceMetadata } from './coerce.ts'
import { prune } from '#api/schema/prune.ts'
import { structuralProblems } from './structural.ts'
import { createValidator } from './validate.ts'
Object.freeze(Object.prototype)
Object.freeze(Array.prototype)
const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string","default":"x"},"toString":{"type":"object","default":{"constructor":1},"properties":{"constructor":{"type":"integer"}}}},"additionalProperties":{"type":"array","items":{"type":"integer"}}}')
const value = JSON.parse('{"__proto__":null,"constructor":[1],"hasOwnProperty":[null]}')
const filled = applyDefaults(schema, prune(schema, value).value)
console.log(JSON.stringify([
  filled,
  createValidator(schema).validate(filled).map((e) => e.field),
  structuralProblems(schema, 'p').map((e) => e.field),
  coerceMetadata(JSON.parse('{"labels":{"__proto__":"a","toString":"b"},"constructor":1}'), 'metadata'),
]))
`

test('prototype names stay data when Object.prototype is frozen and __proto__ throws', () => {
  const out = execFileSync(
    process.execPath,
    ['--disable-proto=throw', '--input-type=module-typescript', '--eval', SCRIPT],
    { cwd: import.meta.dirname, encoding: 'utf8' },
  )
  expect(out.trim()).toBe(
    JSON.stringify([
      JSON.parse('{"__proto__":"x","constructor":[1],"hasOwnProperty":[null],"toString":{"constructor":1}}'),
      ['hasOwnProperty[0]'],
      ['p.additionalProperties', 'p.additionalProperties'],
      {
        value: JSON.parse('{"labels":{"__proto__":"a","toString":"b"}}'),
        unknownFields: ['metadata.constructor'],
        problems: [],
      },
    ]),
  )
})
