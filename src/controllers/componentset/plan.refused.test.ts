// A Defender that refuses: some machines individually, or everything for a while. The set continues with other machines, and limits its request rate.
import { expect, test } from 'vitest'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, holdOn } from '#test/support/fleets/rollout-story.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { defined } from '#lib/defined.ts'

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

const denied = { verdict: 'Denied', seen: 'no' } as const

/** Decides undecided permits. Undefined: granted. Returns how many permits were requested. */
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
      const alternates = permit.spec.alternates?.flatMap(({ uid, name: other }): Verdict[] => {
        const detail = of(other, permit)
        return detail === undefined ? [] : [{ target: uid, gate: 'Ledger', verdict: 'Granted', ...detail }]
      })
      const phase = verdicts.every((v) => v.verdict === 'Denied') ? 'Denied' : 'Granted'
      if (verdicts.every((v) => v.verdict === 'Granted') && alternates === undefined) continue
      model.permits.set(name, {
        ...permit,
        status: {
          phase,
          decidedAt: timestamp(model.now + byMs),
          verdicts,
          ...defined({ refusedAlternates: alternates }),
        },
      })
    }
    grant()
  }
  return () => asked.size
}

const rounds = (model: RolloutModel, count: number): void => {
  for (let n = 0; n < count; n++) model.round()
}

test.each(inFullAll([60, 5, 25], 3))(
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

/** The first `count` machines are protected, as long as the policy requires it. */
function protecting(model: RolloutModel, count: number) {
  const policy = { isOn: true, generation: 1 }
  const put = () =>
    model.policies.set('databases', {
      metadata: { name: 'databases', generation: policy.generation },
      spec: {},
    } as DefenderPolicy)
  put()
  const asked = refusing(model, (name) =>
    policy.isOn && Number(name.slice(2)) < count
      ? { gate: 'Protect', policy: 'databases', field: '/protect/0', generation: policy.generation, ...denied }
      : undefined,
  )
  const lift = () => {
    policy.isOn = false
    policy.generation++
    put()
  }
  return { asked, lift }
}

test('F16 behind 300 protected machines the first other one is updated within a minute, after a handful of questions', () => {
  const model = fleet(330)
  const { asked } = protecting(model, 300)
  model.declare({ beacon: '1.1.0' })
  rounds(model, 60)
  expect(model.versions('beacon')['1.1.0'] ?? 0).toBeGreaterThanOrEqual(1)
  expect(asked()).toBeLessThanOrEqual(8)
})

test('F16 machines are asked for within two minutes after their protection left the policy', () => {
  const model = fleet(150)
  const { asked, lift } = protecting(model, 120)
  model.declare({ beacon: '1.1.0' })
  rounds(model, 300)
  expect(model.versions('beacon')).toEqual({ '1.0.0': 120, '1.1.0': 30 })
  const before = asked()
  expect(before).toBeLessThan(40)
  lift()
  rounds(model, 120)
  expect(model.versions('beacon')['1.1.0']).toBeGreaterThan(30)
})

test('F16 a policy that changes every other second is no flood of questions', () => {
  const model = fleet(60)
  const policy = protecting(model, 60)
  model.declare({ beacon: '1.1.0' })
  let asked = 0
  for (let n = 0; n < 300; n++) {
    const kept = model.policies.get('databases') as DefenderPolicy
    const generation = (kept.metadata.generation ?? 0) + 1
    if (n % 2 === 0) model.policies.set('databases', { ...kept, metadata: { ...kept.metadata, generation } })
    model.round()
    asked = policy.asked()
  }
  expect(model.versions('beacon')).toEqual({ '1.0.0': 60 })
  expect(asked).toBeLessThan(30)
})

test('the set asks again by itself when nothing else happens', () => {
  const model = fleet(12)
  protecting(model, 12)
  model.declare({ beacon: '1.1.0' })
  rounds(model, 30)
  const { requeueAfter } = model.planTurn()
  expect(requeueAfter).toBeGreaterThan(500_000)
  expect(requeueAfter).toBeLessThanOrEqual(600_100)
})
