// What one part does, or one type says, is not written again beside it.
import { expect, test } from 'vitest'
import { codeOf, isTest, sourceFiles } from './source-files.ts'

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

/** A helper of one expression at the top of a file: its name, its parameters, its body. */
const ONE_LINE = /^(?:export )?const (\w+) = (?:<[^>\n]+>)?\(([^\n]*?)\)(?:: [^=\n]+)? =>\s+([^\n]+)(?!\n[ })\]])$/gm

/** What a helper computes, whatever it and its parameters are called. A shape alone, an object or a text of its parameters, is the file's own. */
function helpersIn(text: string): readonly (readonly [name: string, body: string])[] {
  return [...text.matchAll(ONE_LINE)].flatMap(([, name = '', parameters = '', body = '']) => {
    if (/^[({[`]*[{`]/.test(body) || /\b[A-Z][A-Z_]{2,}\b/.test(body)) return []
    const names = [...parameters.replaceAll(/: [^,{}]+(?=[,)]|$)/g, '').matchAll(/\b[a-z]\w*\b/g)].map(([n]) => n)
    const plain = names.reduce(
      (b, n, i) => b.replaceAll(new RegExp(`(?<![.\\w'"])${n}\\b(?!['":])`, 'g'), `$${i}`),
      body,
    )
    return names.length === 0 || /^\$\d$/.test(plain) ? [] : [[name, plain.replace(/^\((.*)\)$/, '$1')] as const]
  })
}

/** Written twice for a reason. */
const TWICE: Readonly<Record<string, string>> = {}

test('no helper of one line is written in two files', () => {
  const files = new Map<string, Set<string>>()
  for (const file of sourceFiles('src'))
    if (!file.path.startsWith(FROZEN) && !isTest(file.path) && !file.path.startsWith('src/console/page/'))
      for (const [name, body] of helpersIn(codeOf(file))) {
        const places = files.get(body) ?? new Set()
        files.set(body, places.add(`${file.path} ${name}`))
      }
  const twice = [...files].filter(([body, places]) => places.size > 1 && TWICE[body] === undefined)
  expect(twice.map(([body, places]) => `${body}: ${[...places].join(', ')}`)).toEqual([])
})

test.each([
  ["const textOf = (v: unknown): string => (typeof v === 'string' ? v : '')", "typeof $0 === 'string' ? $0 : ''"],
  [
    "const word = (value: unknown): string =>\n  (typeof value === 'string' ? value : '')",
    "typeof $0 === 'string' ? $0 : ''",
  ],
  ["export const nameOf = ({ metadata }: Machine): string => metadata.name ?? ''", "$0.name ?? ''"],
  ['const refused = (reason: string): Refused => ({ kind: "Refused", reason })', undefined],
  ['const keyOf = (a: string, b: string): string => `${a} ${b}`', undefined],
  ['const named = (all: readonly string[]) => someOf(all, MOST_NAMED)', undefined],
])('%s is read as %s', (text, body) => expect(helpersIn(text)[0]?.[1]).toBe(body))

/** Names of the library with one meaning each: a text or nothing, an object's name, its key. What does something else says what. */
const TAKEN = /^(?:export )?(?:async )?(?:function|const) (textOf|nameOf|plain)\b/gm
const THEIRS: readonly string[] = ['src/lib/fields.ts textOf', 'src/api/schema/object-meta.ts nameOf']

test('a name of the library says the same thing everywhere', () => {
  const again = sourceFiles('src')
    .filter(({ path }) => !path.startsWith(FROZEN) && !isTest(path))
    .flatMap(({ path, text }) => [...text.matchAll(TAKEN)].map(([, name]) => `${path} ${name}`))
  expect(again.filter((place) => !THEIRS.includes(place))).toEqual([])
})
