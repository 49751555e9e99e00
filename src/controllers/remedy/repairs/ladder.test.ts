import { describe, expect, test } from 'vitest'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { NodeRemedierSpec } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import { ladderStep } from './ladder.ts'

const T = Date.parse('2026-05-01T12:00:00Z')
const MINUTE = 60_000
const rung = { operations: [{ cordon: {} }], timeout: '1m', verify: { stableFor: '5s' }, retries: 1 }
const spec: NodeRemedierSpec = {
  ...(nodeRemedier.example.spec as unknown as NodeRemedierSpec),
  ladder: [rung, rung, rung],
  cooldown: '10m',
  relapseWindow: '1h',
}

type Outcome = NonNullable<RemedyOperationJob['status']>['outcome']

function job(
  outcome: Outcome,
  { at = 0, rung: n = 0, attempt = 1, started = true, dryRun = false } = {},
): RemedyOperationJob {
  return {
    metadata: { name: 'j', creationTimestamp: timestamp(T - MINUTE) },
    spec: { incident: 'abcdefabcdefabcd', rung: n, attempt, dryRun },
    status: {
      phase: outcome === undefined ? 'Running' : 'Done',
      ...(outcome !== undefined && { outcome, finishedAt: timestamp(T + at) }),
      ...(started && { startedAt: timestamp(T - MINUTE) }),
    },
  } as unknown as RemedyOperationJob
}

const ask = (last: RemedyOperationJob | undefined, since: number) =>
  ladderStep({ rule: 'r', nodeUid: 'n', spec, since: T + since, last })

const OLD = -5 * MINUTE
const NEW = 2 * MINUTE

describe('a fault on the ladder', () => {
  const rows = [
    ['begins at the first rung', undefined, OLD, { kind: 'Try', rung: 0, attempt: 1 }],
    ['waits for its open job', job(undefined), OLD, { kind: 'Open', job: 'j' }],
    [
      'that outlived a rung goes to the next at once',
      job('Escalated'),
      OLD,
      { kind: 'Try', incident: 'abcdefabcdefabcd', rung: 1, notBefore: T },
    ],
    [
      'that outlived the last rung is for a person',
      job('Escalated', { rung: 2 }),
      OLD,
      { kind: 'Over', reason: 'LadderExhausted' },
    ],
    [
      'whose repair failed in passing is tried again',
      job('Transient'),
      OLD,
      { kind: 'Try', incident: 'abcdefabcdefabcd', rung: 0, attempt: 2, notBefore: T + 30_000 },
    ],
    [
      'whose repair failed as often as allowed goes to the next rung',
      job('Transient', { attempt: 2 }),
      OLD,
      { kind: 'Try', rung: 1, attempt: 1 },
    ],
    [
      'that got no permit is asked for again and never harder',
      job('Transient', { started: false, attempt: 5 }),
      OLD,
      { kind: 'Try', rung: 0, attempt: 6, notBefore: T + 10 * MINUTE },
    ],
    [
      'that never gets a permit is for a person',
      job('Transient', { started: false, attempt: 6 }),
      OLD,
      { kind: 'Over', reason: 'LadderExhausted' },
    ],
    [
      'whose repair failed for good is for a person',
      job('Permanent'),
      OLD,
      { kind: 'Over', reason: 'LadderExhausted' },
    ],
    [
      'that comes back in the window starts at the rung after the one that helped',
      job('Succeeded'),
      NEW,
      { kind: 'Try', rung: 1, attempt: 1, notBefore: T + 10 * MINUTE },
    ],
    ['that comes back at the last rung stays there', job('Succeeded', { rung: 2 }), NEW, { kind: 'Try', rung: 2 }],
    [
      'that returns after the window starts from the first rung',
      job('Succeeded', { rung: 1 }),
      90 * MINUTE,
      { kind: 'Try', rung: 0 },
    ],
    [
      'that vanished before anything was done stays on its rung',
      job('Superseded', { rung: 1, started: false }),
      NEW,
      { kind: 'Try', rung: 1 },
    ],
    ['that a person ended is left alone', job('Cancelled'), OLD, { kind: 'Over', reason: 'HoldAbort' }],
    ['that a person ended and that comes back is repaired', job('Cancelled'), NEW, { kind: 'Try', rung: 0 }],
    [
      'of a dry run is reported once',
      job('Cancelled', { dryRun: true, started: false }),
      OLD,
      { kind: 'Over', reason: 'DryRunOnly' },
    ],
  ] as const
  test.each(rows)('%s', (_, last, since, expected) => expect(ask(last, since)).toMatchObject(expected))

  test('that comes back is another incident than the one before', () => {
    const [first, second] = [ask(undefined, OLD), ask(job('Succeeded'), NEW)]
    expect(first.kind === 'Try' && second.kind === 'Try' && first.incident !== second.incident).toBe(true)
  })

  describe('on a host without a rescue key', () => {
    type Rung = NodeRemedierSpec['ladder'][number]
    const rescue: Rung = { ...rung, operations: [{ rescue: { timeout: '2m' } }] }
    const mixed: Rung = { ...rung, operations: [{ cordon: {} }, { rescueReboot: { timeout: '2m' } }] }
    const noRescue = 'machine m has no rescue key'
    const on = (ladder: NodeRemedierSpec['ladder'], last?: RemedyOperationJob, since = OLD) =>
      ladderStep({ rule: 'r', nodeUid: 'n', spec: { ...spec, ladder }, since: T + since, last, noRescue })
    const skips = (...rungs: readonly number[]) => rungs.map((n) => `rung ${n} (rescue): ${noRescue}`)

    test.each([
      ['begins after the rescues', [rescue, rescue, rung], undefined, 2, skips(0, 1)],
      ['passes over one in the middle', [rung, rescue, rung], job('Escalated'), 2, skips(1)],
      ['is tried on a rung that does more', [mixed, rung], undefined, 0, undefined],
      ['that comes back starts at the next rung that can be done', [rung, rescue, rung], job('Succeeded'), 2, skips(1)],
    ] as const)('%s', (_, ladder, last, at, skipped) => {
      const step = on(ladder, last, last?.status?.outcome === 'Succeeded' ? NEW : OLD)
      expect(step).toMatchObject({ kind: 'Try', rung: at, attempt: 1 })
      expect(step.kind === 'Try' ? step.skipped : 'none').toEqual(skipped)
    })

    test('that comes back stays at the last rung that can be done', () => {
      expect(on([rung, rescue], job('Succeeded'), NEW)).toMatchObject({ kind: 'Try', rung: 0 })
    })

    test('whose rungs are all rescues is for a person, with the reason', () => {
      expect(on([rescue])).toEqual({
        kind: 'Over',
        reason: 'LadderExhausted',
        message: `nothing can be done here: rung 0 (rescue): ${noRescue}; needs manual intervention`,
      })
      expect(on([rung, rescue], job('Escalated'))).toMatchObject({ kind: 'Over', reason: 'LadderExhausted' })
    })

    test('is rescued once it has a key', () => {
      const given = {
        rule: 'r',
        nodeUid: 'n',
        spec: { ...spec, ladder: [rescue, rung] },
        since: T + OLD,
        last: undefined,
      }
      expect(ladderStep(given)).toMatchObject({ kind: 'Try', rung: 0 })
    })
  })

  describe('that comes, goes and comes back within one second', () => {
    const first = ask(undefined, 0)
    const over = (attempt: number) => {
      const last = job('Superseded', { started: false, attempt })
      return { ...last, spec: { ...last.spec, incident: first.kind === 'Try' ? first.incident : '' } }
    }

    test('gets a job of its own: the name of the one that is over is taken', () => {
      expect(ask(over(1), 0)).toMatchObject({ kind: 'Try', rung: 0, attempt: 2 })
      expect(ask(over(2), 0)).toMatchObject({ kind: 'Try', rung: 0, attempt: 3 })
    })

    test('more often than attempts are counted waits for the next second', () => {
      const step = ask(over(6), 0)
      expect(step).toMatchObject({ kind: 'Try', rung: 0, attempt: 1 })
      expect(step.kind === 'Try' && first.kind === 'Try' && step.incident !== first.incident).toBe(true)
    })
  })
})
