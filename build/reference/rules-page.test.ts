import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NODE_CONDITIONS } from '#api/node-conditions.ts'
import { OPERATIONS } from '#api/kinds/operations.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { DECORATORS, OPERATORS } from '#policy/operators/decorated.ts'
import { factNames } from '#policy/vocabulary.ts'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { RULES_PAGE, rulesPage } from './rules-page.ts'

const page = rulesPage()

test(`${RULES_PAGE} is up to date; run npm run gen when it is not`, () => {
  expect(readFileSync(join(import.meta.dirname, '../..', RULES_PAGE), 'utf8')).toBe(page)
})

test('every fact, operator, decorator, condition and repair has a row with its meaning', () => {
  const vocabulary = nodeVocabulary()
  const words = [
    ...factNames(vocabulary),
    ...OPERATORS.keys(),
    ...DECORATORS.keys(),
    ...Object.keys(NODE_CONDITIONS),
    ...OPERATIONS,
  ]
  expect(words.filter((w) => !page.includes(`\n| \`${w}\` |`))).toEqual([])
  expect(page.match(/^\| `\w+` \|  \|$/gm)).toBeNull()
  expect(page.match(/^\| `\w+` \| [^|]*\| [^|]*\|  \|/gm)).toBeNull()
})

test('the example compiles', () => {
  const example: unknown = parse(page.split('```yaml\n')[1]?.split('```')[0] ?? '')
  expect(compileRule('example', example, nodeVocabulary())).toHaveProperty('rule')
})
