// Where the ladder leads on a node whose drains never end, as on one without a kubelet.
import { expect, test } from 'vitest'
import type { NodeRemedierSpec } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ladderStep } from '#controllers/remedy/repairs/ladder.ts'
import { timestamp } from '#lib/clock.ts'
import { notReady } from '../../../rules/node/not-ready.ts'

const SINCE = Date.parse('2026-05-01T12:00:00Z')
const HOUR = 3_600_000
/** As the API server completes it. */
const ladder = notReady.ladder.map((rung) => ({ retries: 1, ...rung }))
const spec = { ...notReady, ladder, relapseWindow: '24h' } as unknown as NodeRemedierSpec

/** The operations of each repair until the ladder ends. A step that fails makes a repair Transient; a reboot or restart that does not help, Escalated. */
function repairs(fails: (operations: readonly string[]) => boolean): readonly (readonly string[])[] {
  const all: string[][] = []
  let last: RemedyOperationJob | undefined
  for (;;) {
    const step = ladderStep({ rule: 'not-ready', nodeUid: 'n', spec, since: SINCE, last })
    if (step.kind !== 'Try') return all
    const { incident, rung, attempt } = step
    const operations = ladder[rung]?.operations.flatMap((o) => Object.keys(o)) ?? []
    all.push(operations)
    const at = timestamp(SINCE + all.length * HOUR)
    const outcome = fails(operations) ? 'Transient' : 'Escalated'
    last = {
      spec: { incident, rung, attempt },
      status: { phase: 'Done', outcome, startedAt: at, finishedAt: at },
    } as unknown as RemedyOperationJob
  }
}

test('a node whose pods cannot end is rebooted without a drain before its machine is replaced', () => {
  expect(repairs((operations) => operations.includes('drain'))).toEqual([
    ['collectEvidence', 'restartComponent'],
    ['cordon', 'drain', 'reboot'],
    ['cordon', 'reboot'],
    ['replace'],
  ])
})

test('a reboot that fails twice leaves a repair of the day for the replacement', () => {
  const made = repairs((operations) => operations.includes('reboot'))
  expect(made.at(-1)).toEqual(['replace'])
  expect(made.length).toBeLessThanOrEqual(notReady.limits?.perNodePerDay ?? 0)
})
