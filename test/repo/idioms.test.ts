// What one part does, or one type says, is not written again beside it.
import { expect, test } from 'vitest'
import { codeOf, sourceFiles } from './source-files.ts'

/** `...(zone !== undefined && { zone })` and `...(zone === undefined ? {} : { at: zone })`: `defined({ zone })` says it. A value that is worked out from the field is another thing. */
const OPTIONAL_FIELDS = [
  /\.\.\.\(([A-Za-z_$][\w.$]*) !== undefined && \{ (?:\w+: )?\1 \}\)/g,
  /\.\.\.\(([A-Za-z_$][\w.$]*) === undefined \? \{\} : \{ (?:\w+: )?\1 \}\)/g,
]

const optionalFieldsIn = (text: string): readonly string[] =>
  OPTIONAL_FIELDS.flatMap((pattern) => [...text.matchAll(pattern)].map(([found]) => found))

/** Frozen: its lines are changed for dangers alone. */
const FROZEN = 'src/apiserver/'

test('optional fields are given by defined()', () => {
  const again = sourceFiles('src', 'build', 'bench', 'test')
    .filter(({ path }) => !path.startsWith(FROZEN) && path !== 'test/repo/idioms.test.ts')
    .flatMap((file) => optionalFieldsIn(codeOf(file)).map((found) => `${file.path}: ${found}`))
  expect(again).toEqual([])
})

test.each([
  ['{ ...(zone !== undefined && { zone }) }', true],
  ['{ ...(a.b === undefined ? {} : { at: a.b }) }', true],
  ['{ ...(zone !== undefined && { zone: textOf(zone) }) }', false],
  ['{ ...defined({ zone }) }', false],
])('%s is found: %s', (text, isFound) => expect(optionalFieldsIn(text).length > 0).toBe(isFound))

/** What a component is ordered to run has one type, and its parts: `Version`, `Attempt`, `ComponentVersion`, `ComponentTarget`. */
const OWN_ORDER =
  /readonly version\??: string\n(?:\s*\/\*\*[^\n]*\n)*\s*readonly config\??: string|readonly config\??: string\n(?:\s*\/\*\*[^\n]*\n)*\s*readonly version\??: string/

test('a version with its configuration is a part of ComponentOrder', () => {
  const again = sourceFiles('src').filter((file) => OWN_ORDER.test(file.text))
  expect(again.map(({ path }) => path)).toEqual([])
})

test.each([
  ['  readonly version: string\n  readonly config?: string\n', true],
  ['  readonly config?: string\n  /** Tried. */\n  readonly version: string\n', true],
  ['  readonly version: string\n  readonly digest: string\n', false],
])('%j is found: %s', (text, isFound) => expect(OWN_ORDER.test(text)).toBe(isFound))
