import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wrapped } from './wrap.ts'

test('a line that fits stays; a longer one continues below, indented', () => {
  expect(wrapped('set/base is Complete', 24)).toEqual(['set/base is Complete'])
  expect(wrapped('  to continue: kubenode thaw set/base', 24)).toEqual(['  to continue: kubenode', '    thaw set/base'])
})

test('no word is lost, and only a word that is too long makes a line too long', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1 }),
      fc.integer({ min: 8, max: 60 }),
      (words, columns) => {
        const lines = wrapped(words.join(' '), columns)
        expect(lines.join(' ').split(/ +/)).toEqual(words)
        for (const line of lines) expect(line.length < columns || !line.trim().includes(' ')).toBe(true)
      },
    ),
  )
})
