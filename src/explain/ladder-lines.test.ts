import { expect, test } from 'vitest'
import type { MachineComponentSet, Slice } from '#api/kinds/machine-component-set.ts'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { ladderLines } from './ladder-lines.ts'

const slice = (step: number, phase: Slice['phase'], machines = 1): Slice => ({
  component: 'beacon',
  version: '1.1.0',
  step,
  number: 0,
  phase,
  machines: [...Array(machines).keys()].map((n) => `m-${n}`),
})

function linesOf(
  slices: readonly Slice[],
  { total = 166, steps = [1, 5, 10, 50, 100], seconds = [] as number[] } = {},
) {
  const set = {
    ...componentSet({ beacon: '1.1.0' }, { steps, maxUnavailable: '10%', soak: '1m' }),
    status: { counts: { total }, slices, durations: [{ component: 'beacon', seconds }] },
  } as unknown as MachineComponentSet
  return ladderLines(set, [set])
}

const CASES: readonly (readonly [string, readonly Slice[], string])[] = [
  ['the first step switches', [slice(0, 'Switching')], '1[----] 6[    ] 16[    ] 66[    ] 166[    ]'],
  [
    'half of a step is done, and a quarter of it switches',
    [slice(2, 'Inspecting', 5), { ...slice(2, 'Switching', 3), number: 1 }],
    '1[====] 6[====] 16[==- ] 66[    ] 166[    ]',
  ],
  ['a step soaks', [slice(1, 'Soaking', 5)], '1[====] 6[~~~~] 16[    ] 66[    ] 166[    ]'],
  ['a step failed', [slice(1, 'Failed', 5)], '1[====] 6[!!!!] 16[    ] 66[    ] 166[    ]'],
]
test.each(CASES)('the bars of the steps where %s', (_, slices, bars) =>
  expect(linesOf(slices)).toEqual([`beacon 1.1.0  ${bars}`]),
)

test('a finished rollout has no bars, although its slices are still listed', () =>
  expect(linesOf([slice(4, 'Passed', 100)])).toEqual([]))

test('of a last step that repeats often the bars around the open one are shown', () =>
  expect(linesOf([slice(7, 'Switching', 10)], { total: 200, steps: [10] })).toEqual([
    'beacon 1.1.0  … 60[====] 70[====] 80[----] 90[    ] 100[    ] 110[    ] …',
  ]))

test('the time left is shown once a switch was measured, and not where the rollout has stopped', () => {
  const few = { total: 3, steps: [1, 2], seconds: [60] }
  expect(linesOf([slice(0, 'Switching')], few)).toEqual(['beacon 1.1.0  1[----] 3[    ]  about 5m left'])
  expect(linesOf([slice(1, 'Soaking', 2)], few)).toEqual(['beacon 1.1.0  1[====] 3[~~~~]  about a minute left'])
  expect(linesOf([slice(0, 'Failed')], few)).toEqual(['beacon 1.1.0  1[!!!!] 3[    ]'])
})
