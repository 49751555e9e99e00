// The attacker is the author of a commit without a signature: a file *.sops.yaml that is made to keep the parser busy is refused in the time that its first words take.
import { expect, test } from 'vitest'
import { parseTree } from '#sync/sops/document.ts'
import { AGE_KEY, sopsText } from '#test/support/tools/sops-writer.ts'
import { openSecret } from '#sync/sops/sealed-secret.ts'
import { parseIdentities } from '#sync/sops/age.ts'

/** Just below the limit of a file. */
const CHARS = 511_000
const full = (text: string): string => text.repeat(CHARS / text.length)

// Each took three to eighteen seconds and up to a gigabyte before words were counted: together they take longer than a test may.
const BOMBS: readonly (readonly [name: string, text: string])[] = [
  ['closing brackets', full('}')],
  ['opening brackets', full('[')],
  ['maps in maps', full('{')],
  ['empty lists', `[${full('[],')}`],
  ['lists in lists', full('- ')],
  ['keys that are keys', full('? ')],
  ['tags', full('! ')],
  ['anchors', full('&a ')],
  ['directives', full('%A\n')],
  ['documents', full('---\n')],
  ['ends of documents', full('...\n')],
  ['texts in a row', full('"a" ')],
  ['comments', full('#\n')],
]

test('S12 files that keep a parser of YAML busy are refused by the number of their words', () => {
  for (const [name, text] of BOMBS)
    expect(() => parseTree(text), name).toThrow(/more than 30000 words|nested deeper|bracket that nothing opened/)
})

test('a Secret of 3,000 values, as large as a file may be, is opened', async () => {
  const stringData = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`k${i}`, 'v']))
  const metadata = { name: 'large', namespace: 'shop' }
  const text = sopsText({ apiVersion: 'v1', kind: 'Secret', metadata, stringData })
  expect(text.length).toBeLessThan(512 * 1024)
  const { object } = await openSecret(text, await parseIdentities(AGE_KEY))
  expect(Object.keys(object['data'] as object)).toHaveLength(3_000)
})
