// A denial is about one Machine: one recreated under the same name is requested again.
import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

function denied(permit: OperationPermit, now: number): OperationPermit {
  if (permit.status?.phase !== undefined && permit.status.phase !== 'Requested') return permit
  const verdicts = permit.spec.targets.map(({ uid }) => ({
    target: uid,
    gate: 'Target' as const,
    verdict: 'Denied' as const,
    seen: 'the target was deleted',
  }))
  return { ...permit, status: { phase: 'Denied', decidedAt: timestamp(now), verdicts } }
}

test('a machine that was deleted before the decision, and created again under its name, is switched', () => {
  const model = fleet(1)
  const grant = model.defender.bind(model)
  model.defender = () => {
    for (const [name, permit] of model.permits) model.permits.set(name, denied(permit, model.now))
  }
  model.declare({ beacon: '1.1.0' })
  until(model, () => [...model.permits.values()].some((p) => p.status?.phase === 'Denied'))
  model.defender = grant
  for (let i = 0; i < 5; i++) model.round()
  expect(model.set.status?.skipped).toMatchObject([{ reason: expect.stringContaining('the target was deleted') }])

  const [[name, machine] = ['', undefined]] = model.machines
  if (machine === undefined) throw new Error('the fleet has no machine')
  model.machines.set(name, { ...machine, metadata: { ...machine.metadata, uid: 'another' } })
  for (let i = 0; i < 30; i++) model.round()
  expect(model.versions('beacon')).toEqual({ '1.1.0': 1 })
})
