// A store that fills up: the maintenance steps and their order, whatever the members report and wherever a controller is killed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterAsking, afterFailure, afterStep, isWorthDefragmenting, nextStep, NO_CARE } from './store-state.ts'
import type { StoreCare, StoreSeen, StoreStep } from './store-state.ts'
import { defined } from '#lib/defined.ts'

const QUOTA = 1_000
const HOUR = 3_600_000
const seen = (more: Partial<StoreSeen> = {}): StoreSeen => ({
  now: HOUR,
  members: 3,
  serving: [0, 1, 2],
  isWhole: true,
  quota: QUOTA,
  bytes: undefined,
  bornAt: 0,
  ...more,
})
const member = (n: number, bytes: number, inUse: number, leader = 1) => ({
  member: n,
  bytes,
  inUse,
  isLeader: n === leader,
})
const report = (bytes: number, inUse: number, fullSince?: number) => ({
  at: HOUR,
  revision: 7,
  members: [0, 1, 2].map((n) => member(n, bytes, inUse)),
  ...defined({ fullSince }),
})

test.each<[string, StoreCare, Partial<StoreSeen>, StoreStep | undefined]>([
  ['a new store is left alone', NO_CARE, { now: 1 }, undefined],
  ['a store that nothing was asked of for an hour is asked', NO_CARE, {}, { do: 'ask' }],
  ['a new store that nears its quota is asked at once', NO_CARE, { now: 1, bytes: 800 }, { do: 'ask' }],
  ['without a majority nothing is asked', NO_CARE, { serving: [0] }, undefined],
  ['one with room is left alone for an hour', { ...NO_CARE, report: report(100, 90) }, { now: HOUR + 1 }, undefined],
  [
    'one that nears its quota is asked after two minutes',
    { ...NO_CARE, report: report(100, 90) },
    { now: HOUR + 120_000, bytes: 900 },
    { do: 'ask' },
  ],
  ['a full one is compacted', { ...NO_CARE, report: report(1_000, 950, 1) }, {}, { do: 'compact', revision: 7 }],
  [
    'the same revision is not compacted twice',
    { ...NO_CARE, report: report(1_000, 950, 1), compacted: 7 },
    {},
    undefined,
  ],
  [
    'a full one is asked again after a minute',
    { ...NO_CARE, report: report(1_000, 950, 1), compacted: 7 },
    { now: HOUR + 60_000 },
    { do: 'ask' },
  ],
  ['nothing is defragmented unasked', { ...NO_CARE, report: report(1_000, 100, 1), compacted: 7 }, {}, undefined],
  [
    'the leader is last',
    { ...NO_CARE, report: report(1_000, 100), defragmenting: [0] },
    {},
    { do: 'defragment', member: 2 },
  ],
  [
    'then the leader',
    { ...NO_CARE, report: report(1_000, 100), defragmenting: [0, 2] },
    {},
    { do: 'defragment', member: 1 },
  ],
  [
    'while a member is away none is defragmented',
    { ...NO_CARE, report: report(1_000, 100), defragmenting: [] },
    { isWhole: false, serving: [0, 1] },
    undefined,
  ],
  [
    'the alarm stays while one member is still full',
    {
      ...NO_CARE,
      report: { ...report(100, 90, 1), members: [member(0, 100, 90), member(1, 100, 90), member(2, 950, 90)] },
      compacted: 7,
    },
    {},
    undefined,
  ],
  [
    'the alarm stays while a member was not asked',
    { ...NO_CARE, report: { ...report(100, 90, 1), members: [member(0, 100, 90), member(1, 100, 90)] }, compacted: 7 },
    {},
    undefined,
  ],
  [
    'with room in all members the alarm is taken back',
    { ...NO_CARE, report: report(100, 90, 1), compacted: 7 },
    {},
    { do: 'disarm' },
  ],
  [
    'what is begun is continued',
    { ...NO_CARE, doing: { do: 'disarm', token: 'a' } },
    { serving: [] },
    { do: 'disarm' },
  ],
  [
    'what failed is tried again after two minutes',
    { ...NO_CARE, failed: { at: HOUR, why: 'x' } },
    { now: HOUR + 119_999 },
    undefined,
  ],
  ['then again', { ...NO_CARE, failed: { at: HOUR, why: 'x' } }, { now: HOUR + 120_000 }, { do: 'ask' }],
])('%s', (_, care, more, step) => {
  const found = nextStep(care, seen(more))
  expect(step === undefined ? found : { ...found }).toEqual(
    step === undefined ? undefined : expect.objectContaining(step),
  )
})

test('a store is rewritten when that brings writes back, or when much of a file that counts is empty', () => {
  expect(isWorthDefragmenting(report(1_000, 100, 1), QUOTA)).toBe(true)
  expect(isWorthDefragmenting(report(1_000, 950, 1), QUOTA)).toBe(false)
  expect(isWorthDefragmenting(report(100, 50, 1), QUOTA)).toBe(false)
  expect(isWorthDefragmenting(report(300, 160), QUOTA)).toBe(true)
  expect(isWorthDefragmenting(report(300, 170), QUOTA)).toBe(false)
  expect(isWorthDefragmenting(report(200, 10), QUOTA)).toBe(false)
})

/**
 * Three members like etcd's: files only shrink by a rewrite, and old revisions take space until a compaction or, if nothing is written after it, until a
 * rewrite.
 */
function played(live: number, old: number, failures: readonly boolean[], isHidden: boolean) {
  const sizes = [0, 1, 2].map(() => ({ bytes: QUOTA, inUse: live + old }))
  let isAlarmed = true
  const pauses: number[] = []
  let care: StoreCare = NO_CARE
  let now = HOUR
  for (let n = 0; n < 60; n++) {
    now += 130_000
    const reported = care.report
    if (
      reported !== undefined &&
      care.defragmenting === undefined &&
      isWorthDefragmenting(reported, QUOTA) &&
      care.isStale !== true
    )
      care = { ...care, defragmenting: [] }
    const step = nextStep(care, seen({ now }))
    if (step === undefined) continue
    // Only Jobs can fail.
    if (step.do !== 'finish' && failures[n] === true) {
      care = afterFailure(care, step, now, 'it failed')
      continue
    }
    if (step.do === 'ask') {
      const members = sizes.map((s, m) => ({ member: m, ...s, isLeader: m === 0 }))
      care = afterAsking(care, { at: now, revision: 7, members }, isAlarmed)
      continue
    }
    if (step.do === 'compact' && !isHidden) for (const s of sizes) s.inUse = live
    if (step.do === 'defragment') {
      pauses.push(step.member)
      const s = sizes[step.member]
      if (s !== undefined) s.bytes = s.inUse = live
    }
    if (step.do === 'disarm') {
      expect(sizes.every(({ bytes }) => bytes < 0.9 * QUOTA)).toBe(true)
      isAlarmed = false
    }
    care = afterStep(care, step)
  }
  return { isAlarmed, pauses, care }
}

test('a full store takes writes again exactly when what is needed fits, with each member paused once, whatever fails on the way', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: QUOTA }),
      fc.array(fc.boolean(), { maxLength: 20 }),
      fc.boolean(),
      (live, failures, isHidden) => {
        // The first compaction decides: a failed one may have been done by someone else.
        const { isAlarmed, pauses, care } = played(
          live,
          QUOTA - live,
          failures.map((f, n) => n > 2 && f),
          isHidden,
        )
        const fits = live < 0.9 * QUOTA
        expect(isAlarmed).toBe(!fits)
        // If all of it is in use, only a rewrite shows it.
        expect(pauses).toEqual([1, 2, 0])
        expect(care.doing).toBeUndefined()
        expect(care.defragmented).toBe(1)
      },
    ),
    { numRuns: 300 },
  )
})

test('a full store to which nothing is written after its compaction is rewritten once, since nothing tells how much is in use', () => {
  const found = (at: number, revision = 7) => ({ ...report(1_000, 1_000), at, revision })
  let care = afterAsking(NO_CARE, found(HOUR), true)
  care = afterStep(care, { do: 'compact', revision: 7 })
  care = afterAsking(care, found(HOUR + 1), true)
  const isWorth = () => isWorthDefragmenting(care.report ?? report(0, 0), QUOTA)
  // The next write may still come.
  expect(isWorth()).toBe(false)
  care = afterAsking(care, found(HOUR + 60_000), true)
  expect(isWorth()).toBe(true)
  care = { ...care, defragmenting: [] }
  for (const member of [0, 2, 1]) {
    care = afterStep(care, { do: 'defragment', member })
    care = afterAsking(care, found(HOUR + 61_000), true)
  }
  care = afterStep(care, { do: 'finish' })
  // All of it is in use: the same revision is not rewritten again and again.
  for (let minute = 2; minute < 5; minute++) {
    care = afterAsking(care, found(HOUR + minute * 60_000), true)
    expect(isWorth()).toBe(false)
  }
  care = afterStep(care, { do: 'compact', revision: 9 })
  care = afterAsking(care, found(HOUR + 400_000, 9), true)
  expect(isWorth()).toBe(false)
  care = afterAsking(care, found(HOUR + 460_000, 9), true)
  expect(isWorth()).toBe(true)
})
