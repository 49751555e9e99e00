import { describe, expect, test } from 'vitest'
import { REASONS } from '#api/catalogue.ts'
import { isForPeople } from './finding.ts'
import { endsInCommand } from './unblock.ts'
import { waitFinding } from './wait.ts'
import { needsPeople, peopleSentence, wayOf, WAYS_OUT } from './ways-out.ts'

const reasons = Object.keys(WAYS_OUT)
const ofPeople = reasons.filter(needsPeople)
/** No command shows more than the sentence. */
const COMMIT_ONLY: ReadonlySet<string> = new Set(['FlavorNotServed', 'ProgramsNotServed', 'VersionNotServed'])

describe('who ends what a reason names', () => {
  test('is known for every reason of the catalogue, and for no other', () =>
    expect(reasons.toSorted()).toEqual(Object.keys(REASONS).toSorted()))

  test.each(ofPeople)('%s: a person or a commit, with a command that can be pasted', (reason) => {
    const sentence = peopleSentence(reason, 'machine/prod-1') ?? ''
    expect([isForPeople(sentence), endsInCommand(sentence), sentence]).toEqual([
      true,
      !COMMIT_ONLY.has(reason),
      sentence,
    ])
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

  test.each(ofPeople.filter((r) => !COMMIT_ONLY.has(r)))(
    '%s: a status that names who acts and no command is shown with the command',
    (predicate) => {
      const { ends = '' } = wayOf({ predicate, unblock: 'a commit changes the Cluster' }, 'cluster/edge')
      expect([endsInCommand(ends), ends.startsWith('a commit changes the Cluster: ')]).toEqual([true, true])
    },
  )

  test('of a Cluster its page is the command, and the explanation of an object does not advise itself', () => {
    const wait = { predicate: 'SnapshotMissing', unblock: 'a commit names one of status.snapshots' }
    const told = (predicate: string, word: string) => waitFinding({ ...wait, predicate }, { now: 0 }, word).ends
    expect(told('SnapshotMissing', 'cluster/edge')).toBe(`${wait.unblock}: kubenode cluster show edge`)
    expect(told('ApiServerDown', 'release/r')).toBe(wait.unblock)
  })

  test('a sentence with a command of its own, and a wait that time ends, stay as they are', () => {
    const own = 'a commit promotes the version: kubenode canary promote c'
    expect(wayOf({ predicate: 'CanaryPassed', unblock: own }, 'canary/c')).toEqual({ ends: own })
    expect(wayOf({ predicate: 'RateExceeded', unblock: 'the window has passed' }, 'set/a')).toEqual({
      ends: 'the window has passed',
    })
  })
})
