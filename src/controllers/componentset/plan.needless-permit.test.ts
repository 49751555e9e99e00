// Slices that wait for a permit that they no longer need, or that was deleted.
import { describe, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, holdOn, phases, until } from '#test/support/fleets/rollout-story.ts'
import { defined } from '#lib/defined.ts'

/** The Defender with an open breaker. None of the requests counts as a recovery. */
const breakerOpen = (model: RolloutModel) => () => {
  for (const [name, permit] of model.permits) model.permits.set(name, refused(permit, model.now))
}

function refused(permit: OperationPermit, now: number): OperationPermit {
  const { targets, results = {} } = permit.spec
  const { phase = 'Requested' } = permit.status ?? {}
  if (phase !== 'Requested') return permit
  if (targets.every((t) => results[t.uid] !== undefined))
    return { ...permit, status: { phase: 'Released', endedAt: timestamp(now) } }
  const verdicts = targets.map((t) => ({
    target: t.uid,
    gate: 'Breaker' as const,
    verdict: 'Waiting' as const,
    seen: 'open since 10:00, 3 failures',
  }))
  return { ...permit, status: { phase: 'Requested', granted: 0, verdicts } }
}

const openPermits = (model: RolloutModel) =>
  [...model.permits.values()].filter((p) => {
    const { targets, results = {} } = p.spec
    return targets.some((t) => results[t.uid] === undefined)
  }).length

/** To the new version, back, forward again, a retry of the failed version. Then the breaker opens, and everything is reverted. */
function undecided(model: RolloutModel): void {
  model.quality = (_, v) => (v === '1.2.0' ? 'probe fails' : 'good')
  model.declare({ beacon: '1.2.0' })
  model.settle()
  model.declare({ beacon: '1.1.0' })
  model.settle()
  model.declare({ beacon: '1.2.0' })
  model.settle()
  model.now += 60_000
  model.holds = [holdOn(model, 'Retry')]
  until(model, () => phases(model)[0] === 'AwaitingPermit')
  model.defender = breakerOpen(model)
  for (let i = 0; i < 5; i++) model.round()
  model.declare({ beacon: '1.1.0' })
}

describe('a slice that waits while the breaker is open', () => {
  test('ends, and gives its permit back, when its machines run what they shall without a switch', () => {
    const model = fleet(6, { versions: { beacon: '1.1.0' } })
    undecided(model)
    // The planner runs before the machine controller: a slice reverts machines that only have the other version in their spec.
    model.planTurn()
    model.planTurn()
    for (let i = 0; i < 20; i++) model.round()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 6 })
    expect(model.set.status).toMatchObject({ phase: 'Complete', slices: [] })
    expect(openPermits(model)).toBe(0)
  })

  test('ends when all its machines have left the set, or are gone', () => {
    const model = fleet(8)
    model.defender = breakerOpen(model)
    model.declare({ beacon: '1.1.0' }, { steps: [2], maxUnavailable: 2 })
    for (let i = 0; i < 5; i++) model.round()
    const [first = '', second = ''] = model.set.status?.slices?.[0]?.machines ?? []
    const leaver = model.machines.get(first)
    if (leaver !== undefined)
      model.machines.set(first, { ...leaver, metadata: { ...leaver.metadata, labels: { pool: 'others' } } })
    model.machines.delete(second)
    for (let i = 0; i < 5; i++) model.round()
    const now = (model.set.status?.slices ?? []).flatMap((w) => w.machines)
    expect(now).toHaveLength(2)
    expect(now).not.toContain(first)
    expect(now).not.toContain(second)
    expect(openPermits(model)).toBe(1)
  })

  test('says that it is the breaker', () => {
    const model = fleet(4)
    model.defender = breakerOpen(model)
    model.declare({ beacon: '1.1.0' })
    for (let i = 0; i < 5; i++) model.round()
    expect(model.set.status?.waitingFor).toMatchObject({
      predicate: 'BreakerOpen',
      seen: 'beacon step 1 of 2: gate Breaker: open since 10:00, 3 failures',
    })
    expect(model.set.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Reconciling', reason: 'BreakerOpen' }),
    )
  })

  test('goes on waiting for the machines that need it, and for them alone', () => {
    const model = fleet(8)
    model.defender = breakerOpen(model)
    model.declare({ beacon: '1.1.0' }, { steps: [4], maxUnavailable: 4 })
    for (let i = 0; i < 5; i++) model.round()
    const [gone = '', ...rest] = model.set.status?.slices?.[0]?.machines ?? []
    const uid = model.machines.get(gone)?.metadata.uid ?? ''
    model.machines.delete(gone)
    for (let i = 0; i < 5; i++) model.round()
    const [permit] = [...model.permits.values()]
    expect(permit?.spec.results).toEqual({ [uid]: 'Released' })
    expect(phases(model)).toEqual(['AwaitingPermit'])
    expect(model.set.status?.slices?.[0]?.machines).toEqual(expect.arrayContaining(rest))
  })
})

test('a version is not blamed for machines that the Defender does not grant while it granted others of their slice', () => {
  const model = fleet(8)
  const grant = model.defender.bind(model)
  model.defender = () => {
    grant()
    for (const [name, permit] of model.permits) {
      const [, ...others] = permit.spec.targets.map((t) => t.uid)
      const verdicts = permit.status?.verdicts?.map((v) =>
        others.includes(v.target) ? { ...v, gate: 'Budget', verdict: 'Waiting' as const, seen: '3 of 3 are down' } : v,
      )
      model.permits.set(name, { ...permit, status: { ...permit.status, ...defined({ verdicts }) } })
    }
  }
  model.declare({ beacon: '1.1.0' }, { steps: [4], maxUnavailable: 4, progressDeadline: '10m' })
  until(model, () => model.versions('beacon')['1.1.0'] === 1)
  for (let i = 0; i < 60; i++) model.round(60_000)
  expect(model.set.status?.revisions?.blocked).toBeUndefined()
  expect(model.set.status?.waitingFor?.predicate).toBe('BudgetExhausted')
  model.defender = grant
  for (const [name, permit] of model.permits) {
    const verdicts = permit.status?.verdicts?.map((v) => ({ ...v, verdict: 'Granted' as const }))
    model.permits.set(name, { ...permit, status: { ...permit.status, ...defined({ verdicts }) } })
  }
  model.settle()
  expect(model.versions('beacon')).toEqual({ '1.1.0': 8 })
})

test('a slice whose permit was deleted requests another one', () => {
  const model = fleet(5)
  model.declare({ beacon: '1.1.0' })
  model.planTurn()
  expect(phases(model)).toEqual(['AwaitingPermit'])
  model.permits.clear()
  model.settle()
  expect(model.versions('beacon')).toEqual({ '1.1.0': 5 })
})
