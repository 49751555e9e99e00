// A lost member: which one it is, and that its replacement follows the only order that loses nothing, wherever a controller is killed.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterListing, listedIn, lostAmong, nextMemberStep, signIn } from './member-state.ts'
import type { MemberSeen, Replacing } from './member-state.ts'

const NOW = 1_000_000
const serving = (n: number): MemberSeen => ({
  isServing: true,
  pod: { uid: `pod-${n}`, isOnNode: true },
  claim: { uid: `claim-${n}`, isEnding: false },
  sign: undefined,
})
const away = (n: number, sign?: string): MemberSeen => ({ ...serving(n), isServing: false, sign })

describe('a member is lost', () => {
  test.each<[string, readonly MemberSeen[], number | undefined]>([
    ['with a sign while all others serve', [serving(0), serving(1), away(2, 'empty')], 2],
    ['not without a sign', [serving(0), serving(1), away(2)], undefined],
    ['not while another one is away too', [serving(0), away(1, 'empty'), away(2, 'empty')], undefined],
    ['not when it is the only one', [away(0, 'empty')], undefined],
    ['not of two: the other one has no majority', [serving(0), away(1, 'empty')], undefined],
    ['not when all serve', [serving(0), serving(1), serving(2)], undefined],
  ])('%s', (_, members, member) => {
    expect(lostAmong(members, undefined, NOW)?.member).toBe(member)
  })

  test('since it was seen first, also in a moment in which its log says nothing', () => {
    const first = lostAmong([serving(0), serving(1), away(2, 'empty')], undefined, NOW)
    expect(lostAmong([serving(0), serving(1), away(2)], first, NOW + 5)).toEqual(first)
    expect(lostAmong([serving(0), away(1), serving(2)], first, NOW + 5)).toBeUndefined()
  })

  test('as etcd itself says it', () => {
    expect(
      signIn('panic: tocommit(9) is out of range [lastIndex(0)]. Was the raft log corrupted, truncated, or lost?\n'),
    ).toBe('Was the raft log corrupted, truncated, or lost?')
    expect(
      signIn(
        '{"level":"fatal","msg":"discovery failed","error":"error validating peerURLs {}: member count is unequal"}',
      ),
    ).toBe('member count is unequal')
    expect(signIn('{"level":"info","msg":"ready to serve client requests"}')).toBeUndefined()
  })
})

test('numbers of members are read as text: they are larger than those of JSON', () => {
  const log = [
    '8e9e05c52164694d, started, etcd-0, https://127.0.0.1:1, https://127.0.0.1:2, false',
    'ade526d28b1f92f7, unstarted, , https://127.0.0.1:3, , false',
    'Error: nothing of it',
  ].join('\n')
  expect(listedIn(log)).toEqual([
    { id: '8e9e05c52164694d', isStarted: true, name: 'etcd-0' },
    { id: 'ade526d28b1f92f7', isStarted: false, name: '' },
  ])
})

const begun: Replacing = { member: 2, claim: 'claim-2', pod: 'pod-2', token: 't', step: 'list' }

describe('the next step', () => {
  const others = [serving(0), serving(1)]
  const gone = { ...away(2), claim: undefined, pod: undefined }
  test.each<[string, Replacing, MemberSeen, object]>([
    ['the others are asked first', begun, away(2), { do: 'list' }],
    ['it is removed by its number', { ...begun, step: 'remove', id: 'a1' }, away(2), { do: 'remove', id: 'a1' }],
    [
      'its volume is not touched before it was added again',
      { ...begun, step: 'add', id: 'a1' },
      away(2),
      { do: 'add' },
    ],
    ['then its claim', { ...begun, step: 'volume' }, away(2), { do: 'delete-claim' }],
    [
      'then the pod that holds it',
      { ...begun, step: 'volume' },
      { ...away(2), claim: { uid: 'claim-2', isEnding: true } },
      { do: 'delete-pod', uid: 'pod-2', isForced: false },
    ],
    [
      'a pod whose node ends nothing is forced, for its number serves no longer',
      { ...begun, step: 'volume' },
      { ...away(2), pod: { uid: 'pod-2', isOnNode: true, endsAt: NOW - 60_000 }, claim: undefined },
      { do: 'delete-pod', uid: 'pod-2', isForced: true },
    ],
    ['a claim is made where nothing else makes one', { ...begun, step: 'volume' }, gone, { do: 'make-claim' }],
    [
      'it may start once its volume is new',
      { ...begun, step: 'volume' },
      { ...away(2), claim: { uid: 'new', isEnding: false }, pod: { uid: 'new', isOnNode: true } },
      { do: 'join' },
    ],
    [
      'a new pod on a new volume has its time',
      { ...begun, step: 'join' },
      { ...away(2), claim: { uid: 'new', isEnding: false }, pod: { uid: 'new', isOnNode: true } },
      { do: 'wait', why: 'it takes its data from the others' },
    ],
    [
      'it is done once it serves',
      { ...begun, step: 'join' },
      { ...serving(2), claim: { uid: 'new', isEnding: false }, pod: { uid: 'new', isOnNode: true } },
      { do: 'finish' },
    ],
    ['one that came back keeps what it has', begun, serving(2), { do: 'finish' }],
  ])('%s', (_, replacing, own, step) => {
    expect(nextMemberStep(replacing, [...others, own], NOW)).toEqual(step)
  })

  test('none is removed or added while another one is away', () => {
    for (const step of ['list', 'remove', 'add'] as const)
      expect(nextMemberStep({ ...begun, step, id: 'a1' }, [serving(0), away(1), away(2)], NOW).do).toBe('wait')
  })
})

/** An etcd of three whose Jobs may fail before or after their work, and a controller that may be killed before each write of its record. */
function played(faults: readonly number[]) {
  let record: Replacing | undefined = begun
  let listed = ['a0', 'a1', 'a2'].map((id, n) => ({ id, isStarted: true, name: `etcd-${n}` }))
  let volume: string | undefined = 'claim-2'
  let [pod, claims, adds] = ['pod-2', 0, 0]
  for (let n = 0; n < 60 && record !== undefined; n++) {
    const fault = faults[n] ?? 0
    const isJoined = listed.some((m) => m.name === '' || (m.name === 'etcd-2' && m.id !== 'a2'))
    const own: MemberSeen = {
      isServing: record.step === 'join' && volume !== undefined && volume !== 'claim-2' && pod !== 'pod-2' && isJoined,
      pod: { uid: pod, isOnNode: true },
      claim: volume === undefined ? undefined : { uid: volume, isEnding: false },
      sign: undefined,
    }
    if (own.isServing) listed = listed.map((m) => (m.name === '' ? { ...m, isStarted: true, name: 'etcd-2' } : m))
    const step = nextMemberStep(
      { ...record, ...(record.failed && { failed: { at: 0, why: '' } }) },
      [serving(0), serving(1), own],
      NOW,
    )
    // An acknowledged write is on a majority of the voters: an empty volume under the old id would vote without it.
    if (volume !== 'claim-2') expect(listed.some(({ id }) => id === 'a2')).toBe(false)
    expect(listed.length).toBeGreaterThanOrEqual(2)
    expect(listed.length).toBeLessThanOrEqual(3)
    const isBroken = fault === 1
    const isUnheard = fault === 2
    const failed = () => (record = { ...(record as Replacing), step: 'list', failed: { at: NOW, why: 'x' } })
    switch (step.do) {
      case 'list':
        if (fault === 0) record = { ...record, ...afterListing(record, 'etcd-2', listed) }
        break
      case 'remove': {
        const isThere = listed.some(({ id }) => id === step.id)
        if (!isBroken) listed = listed.filter(({ id }) => id !== step.id)
        if (isBroken || isUnheard || !isThere) failed()
        else record = { ...record, step: 'add' }
        break
      }
      case 'add':
        if (!isBroken && listed.length < 3) listed = [...listed, { id: `b${adds++}`, isStarted: false, name: '' }]
        if (isBroken || isUnheard) failed()
        else record = { ...record, step: 'volume' }
        break
      case 'delete-claim':
        volume = undefined
        break
      case 'delete-pod':
        if (fault !== 1) {
          pod = `pod-new-${n}`
          volume ??= `claim-new-${claims++}`
        }
        break
      case 'make-claim':
        volume ??= `claim-new-${claims++}`
        break
      case 'join':
        if (fault !== 1) record = { ...record, step: 'join' }
        break
      case 'finish':
        record = undefined
        break
      case 'wait':
        break
      default:
        step satisfies never
    }
  }
  return { record, listed, adds }
}

test('a lost member is replaced exactly once, in an order in which no empty volume has a vote, whatever fails on the way', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 25 }), (faults) => {
      const { record, listed, adds } = played(faults)
      expect(record).toBeUndefined()
      expect(adds).toBe(1)
      expect(listed.map(({ name }) => name)).toEqual(['etcd-0', 'etcd-1', 'etcd-2'])
    }),
    { numRuns: 500 },
  )
})
