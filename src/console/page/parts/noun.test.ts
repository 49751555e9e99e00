import { expect, test } from 'vitest'
import { NOUNS } from '#api/nouns.ts'
import { nounOf } from './noun.ts'

test('a kind is called what commands call it', () => {
  const named = Object.values(NOUNS).map((kind) => [kind, NOUNS[nounOf(kind)]])
  expect(named).toEqual(Object.values(NOUNS).map((kind) => [kind, kind]))
  expect(['Machine', 'Node', 'MachineSet', 'Release', 'NodeRemedier'].map(nounOf)).toEqual([
    'machine',
    'node',
    'machine set',
    'release',
    'rule',
  ])
})
