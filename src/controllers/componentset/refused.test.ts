// A Defender that refuses: some machines on their own account, or everything for a while. The set continues with others, and asks at a pace.
import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, holdOn } from '#test/support/fleets/rollout-story.ts'

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

const denied = { verdict: 'Denied', seen: 'no' } as const

/** Decides what was not decided; undefined: granted. Returns how many permits were requested. */
function refusing(
  model: RolloutModel,
  of: (name: string, permit: Pick<OperationPermit, 'spec'>) => Partial<Verdict> | undefined,
  byMs = 0,
): () => number {
  const asked = new Set<string>()
  const grant = model.defender.bind(model)
  model.defender = () => {
    for (const [name, { status, ...permit }] of model.permits) {
      if (status !== undefined) continue
      asked.add(permit.metadata.uid ?? '')
      const verdicts = permit.spec.targets.map((t): Verdict => ({
        target: t.uid,
        gate: 'Ledger',
        verdict: 'Granted',
        ...of(t.name, permit),
      }))
      if (verdicts.every((v) => v.verdict === 'Granted')) continue
      const phase = verdicts.every((v) => v.verdict === 'Denied') ? 'Denied' : 'Granted'
      model.permits.set(name, { ...permit, status: { phase, decidedAt: timestamp(model.now + byMs), verdicts } })
    }
    grant()
  }
  return () => asked.size
}

const rounds = (model: RolloutModel, count: number): void => {
  for (let n = 0; n < count; n++) model.round()
}

test.each([5, 25, 60])(
  'F16 with %d of 100 machines protected, the others are updated, and the Defender is not flooded',
  (count) => {
    const model = fleet(100)
    const isProtected = (name: string) => Number(name.slice(2)) < count
    const asked = refusing(model, (name) => (isProtected(name) ? { gate: 'Protect', ...denied } : undefined))
    model.declare({ beacon: '1.1.0' })
    rounds(model, 1_500)
    expect(model.versions('beacon')).toEqual({ '1.0.0': count, '1.1.0': 100 - count })
    expect(asked()).toBeLessThan(200)
  },
)

test('F16 machines whose protection a person lifts are asked for within two minutes', () => {
  const model = fleet(40)
  const isLifted = { is: false }
  refusing(model, (name) => (!isLifted.is && Number(name.slice(2)) < 25 ? { gate: 'Protect', ...denied } : undefined))
  model.declare({ beacon: '1.1.0' })
  rounds(model, 600)
  expect(model.versions('beacon')).toEqual({ '1.0.0': 25, '1.1.0': 15 })
  isLifted.is = true
  model.holds = [holdOn(model, 'Unprotect', { until: timestamp(model.now + 3_600_000) })]
  rounds(model, 240)
  expect(model.versions('beacon')).toEqual({ '1.1.0': 40 })
})

test.each([
  ['right', 0],
  ['an hour behind', -3_600_000],
  ['an hour ahead', 3_600_000],
])('F16 a Defender that refuses everything, with a clock that is %s, is asked once a minute', (_, byMs) => {
  const model = fleet(10)
  const asked = refusing(model, () => ({ gate: 'Breaker', reason: 'BreakerHalfOpen', ...denied }), byMs)
  model.declare({ beacon: '1.1.0' })
  rounds(model, 600)
  expect(asked()).toBeGreaterThanOrEqual(8)
  expect(asked()).toBeLessThanOrEqual(11)
  expect(model.set.status?.waitingFor).toMatchObject({
    predicate: 'PermitDenied',
    seen: 'gate Breaker: no',
    unblock: expect.stringMatching(/^the permit is requested again later; /) as string,
  })
})

test('F16 a way back does not wait for the refusal of the way there', () => {
  const model = fleet(10)
  model.declare({ beacon: '1.1.0' })
  model.settle()
  let isOpen = false
  refusing(model, (_, { spec }) =>
    spec.recovery || isOpen ? undefined : { gate: 'Breaker', retryAfter: 900, ...denied },
  )
  isOpen = true
  model.declare({ beacon: '1.2.0' })
  for (let n = 0; n < 600 && model.versions('beacon')['1.2.0'] !== 1; n++) model.round()
  isOpen = false
  for (let n = 0; n < 600 && model.set.status?.waitingFor?.predicate !== 'PermitDenied'; n++) model.round()
  expect(model.set.status?.waitingFor?.predicate).toBe('PermitDenied')
  model.declare({ beacon: '1.1.0' })
  rounds(model, 60)
  expect(model.versions('beacon')).toEqual({ '1.1.0': 10 })
})
