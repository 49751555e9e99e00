import { expect, test } from 'vitest'
import { MAX_DURATIONS, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { SetAction } from '../actions.ts'
import { keptDurations } from './durations.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')

const set = (durations: readonly { readonly component: string; readonly seconds: readonly number[] }[]) =>
  ({
    spec: { components: [{ name: 'beacon' }, { name: 'scribe' }] },
    status: { durations },
  }) as unknown as MachineComponentSet

/** A slice with these results, granted this long ago. */
const report = (name: string, secondsAgo: number, results: readonly ('Succeeded' | 'Failed')[], version = '1.0.0') =>
  ({
    kind: 'Report',
    target: version === '' ? { name } : { name, version },
    permit: { status: { decidedAt: new Date(NOW - secondsAgo * 1_000).toISOString() } },
    results: results.map((result) => ({ result })),
  }) as unknown as SetAction

test('each machine that switched counts, those that failed do not, and a clock that was set back says nothing', () => {
  expect(
    keptDurations(
      set([{ component: 'scribe', seconds: [7] }]),
      [
        report('beacon', 30, ['Succeeded', 'Failed', 'Succeeded']),
        report('scribe', 9, ['Failed']),
        report('scribe', -5, ['Succeeded']),
        report('beacon', 99, ['Succeeded'], ''),
      ],
      NOW,
    ),
  ).toEqual({
    durations: [
      { component: 'beacon', seconds: [30, 30] },
      { component: 'scribe', seconds: [7] },
    ],
  })
})

test('the last fifty are kept, and none of a component that the set no longer declares', () => {
  const seconds = Array.from({ length: MAX_DURATIONS }, (_, n) => n)
  const known = set([
    { component: 'beacon', seconds },
    { component: 'former', seconds: [1] },
  ])
  expect(keptDurations(known, [report('beacon', 500, ['Succeeded'])], NOW)).toEqual({
    durations: [{ component: 'beacon', seconds: [...seconds.slice(1), 500] }],
  })
  expect(keptDurations(set([]), [], NOW)).toEqual({})
})
