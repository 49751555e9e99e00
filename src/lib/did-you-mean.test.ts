import { describe, expect, it } from 'vitest'
import { didYouMean } from './did-you-mean.ts'

describe('did you mean', () => {
  const known = ['status', 'reason', 'message', 'lastTransitionTime']
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['sttaus', 'status'],
    ['state', 'status'],
    ['Status', 'status'],
    ['lasttransitiontime', 'lastTransitionTime'],
    ['xyz', undefined],
    ['', undefined],
    ['status'.repeat(100), undefined],
  ]
  it.each(cases)('%j: %j', (word, meant) => expect(didYouMean(word, known)).toBe(meant))
})
