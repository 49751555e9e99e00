import { expect, test } from 'vitest'
import { branchesIn, branchHint } from './branches-there.ts'

const [A, B] = ['a'.repeat(40), 'b'.repeat(40)]
const there = (...heads: readonly (readonly [string, string])[]) =>
  branchesIn(
    `ref: refs/heads/trunk\tHEAD\n${A}\tHEAD\n${heads.map(([n, id]) => `${id}\trefs/heads/${n}\n`).join('')}${A}\trefs/heads/cut`,
  )

test.each([
  [
    'one at the same commit',
    there(['dev', B], ['trunk', A]),
    '; branch trunk is at the commit that was fetched before, so it was probably renamed',
  ],
  ['two at the same commit', there(['dev', A], ['trunk', A]), '; it has trunk, dev'],
  ['others', there(['dev', B], ['trunk', B]), '; it has trunk, dev'],
  ['none', there(), '; it has no branch at all'],
  [
    'many',
    there(...Array.from({ length: 9 }, (_, n): [string, string] => [`b${n}`, B])),
    '; it has b0, b1, b2, b3, b4 and 4 more',
  ],
  ['a name for terminals', there(['\u001b[2Jx', B]), expect.not.stringContaining('\u001b') as string],
])('a server that no longer has the branch, and has %s', (_, branches, hint) => {
  expect(branchHint(branches, A)).toEqual(hint)
})
