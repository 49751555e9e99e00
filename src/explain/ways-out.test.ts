import { describe, expect, test } from 'vitest'
import { REASONS } from '#api/catalogue.ts'
import { endsInCommand, isForPeople } from './unblock.ts'
import { needsPeople, peopleSentence, WAYS_OUT } from './ways-out.ts'

const reasons = Object.keys(WAYS_OUT)
const ofPeople = reasons.filter(needsPeople)

describe('who ends what a reason names', () => {
  test('is known for every reason of the catalogue, and for no other', () =>
    expect(reasons.toSorted()).toEqual(Object.keys(REASONS).toSorted()))

  test.each(ofPeople)('%s: a person or a commit, with a command that can be pasted', (reason) => {
    const sentence = peopleSentence(reason, 'machine/prod-1') ?? ''
    expect([isForPeople(sentence), endsInCommand(sentence), sentence]).toEqual([true, true, sentence])
    expect(sentence).not.toMatch(/NAME|OBJECT/)
  })

  test('fits into a status', () =>
    expect(ofPeople.filter((reason) => (peopleSentence(reason, 'x') ?? '').length > 200)).toEqual([]))

  test('where time ends it, or the reason is none of ours, nobody is asked', () =>
    expect(['Progressing', 'RateExceeded', 'AsDeclared', 'Nonsense'].map((r) => peopleSentence(r, 'set/base'))).toEqual(
      [undefined, undefined, undefined, undefined],
    ))

  test('a name that a shell would read as more than a word is not offered', () =>
    expect(peopleSentence('LeaseExpired', 'machine/a;rm')).toBe('a person starts the host or mends its network'))
})
