// F18 machines that are deleted and created in mid-rollout, as when a pool is scaled to zero and back.
import { activeMachines } from '#api/protocol/part.ts'
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { readyNode, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, phases, until } from '#test/support/fleets/rollout-story.ts'
import { defined } from '#lib/defined.ts'

const leaving = (m: Machine, at: number): Machine => ({
  ...m,
  metadata: { ...m.metadata, deletionTimestamp: timestamp(at) },
  status: { ...m.status, phase: 'Deleting' },
})

/** Created from the template: it has a node, and nothing runs on it. */
function join(model: RolloutModel, name: string): void {
  const fresh = workingMachine(name, { zone: 'z-0' })
  model.machines.set(name, { ...fresh, status: { ...fresh.status, phase: 'Installing', components: [] } })
  model.nodes.set(name, readyNode(name))
}

/** What the machine controller does once the components are installed. */
function serve(model: RolloutModel): void {
  for (const [name, m] of model.machines)
    if (m.status?.phase === 'Installing' && m.status.components?.some((c) => c.state === 'Healthy') === true)
      model.machines.set(name, { ...m, status: { ...m.status, phase: 'Ready' } })
}

describe.each(['AwaitingPermit', 'Switching', 'Soaking'])(
  'F18 a set that is scaled to nothing while a slice is %s',
  (phase) => {
    const emptied = () => {
      const model = fleet(6)
      model.declare({ beacon: '1.1.0' }, { steps: [2], maxUnavailable: 2 })
      if (phase === 'AwaitingPermit') model.planTurn()
      else until(model, () => phases(model).includes(phase))
      for (const [name, m] of model.machines) model.machines.set(name, leaving(m, model.now))
      for (let i = 0; i < 5; i++) model.round()
      model.machines.clear()
      model.nodes.clear()
      for (let i = 0; i < 150; i++) model.round()
      return model
    }

    test('ends all that was open, blames no change, and reports that there are no machines', () => {
      const model = emptied()
      expect(phases(model).filter((p) => p !== 'Passed')).toEqual([])
      expect(model.set.status?.revisions?.blocked).toBeUndefined()
      expect(model.set.status?.waitingFor?.predicate).toBe('NoMachines')
      const open = [...model.permits.values()].filter((p) => !['Released', 'Expired'].includes(p.status?.phase ?? ''))
      expect(open).toEqual([])
    })

    test('is done when it is scaled back: the new machines are installed with what is declared', () => {
      const model = emptied()
      for (let i = 0; i < 6; i++) join(model, `n-${i}`)
      for (let i = 0; i < 30; i++) {
        model.round()
        serve(model)
      }
      model.settle()
      expect(model.versions('beacon')).toEqual({ '1.1.0': 6 })
      expect(model.set.status).toMatchObject({ phase: 'Complete', counts: { total: 6, updated: 6 } })
    })
  },
)

test('F18 a machine that is deleted in mid-batch, and another one that comes under its name, are two', () => {
  const model = fleet(6)
  model.declare({ beacon: '1.1.0' }, { steps: [3], maxUnavailable: 3 })
  model.planTurn()
  model.defender()
  model.planTurn()
  const [name = ''] = model.set.status?.slices?.[0]?.machines ?? []
  const again = workingMachine(name, { versions: { beacon: '1.0.0' }, zone: 'z-0' })
  model.machines.set(name, { ...again, metadata: { ...again.metadata, uid: 'uid-another' } })
  model.settle()
  expect(model.versions('beacon')).toEqual({ '1.1.0': 6 })
  const asked = [...model.permits.values()].flatMap((p) => p.spec.targets).filter((t) => t.name === name)
  expect(asked.map((t) => t.uid)).toEqual([`uid-${name}`, 'uid-another'])
})

test('F18 a machine that comes under the name of one that was done does not pass for it when its slice asks again', () => {
  const model = fleet(6)
  const before = new Map(model.machines)
  model.declare({ beacon: '1.1.0' }, { steps: [3], maxUnavailable: 3 })
  until(model, () => model.set.status?.slices?.[0]?.phase === 'Switching')
  const [[id, permit] = []] = [...model.permits]
  const [done, ...others] = permit?.spec.targets ?? []
  if (id === undefined || permit === undefined || done === undefined) throw new Error('nothing was asked for')
  // One machine was done when the permit was revoked, and was recreated since, at the previous version. The others never started.
  const spec = { ...permit.spec, results: { [done.uid]: 'Succeeded' as const } }
  model.permits.set(id, { ...permit, spec, status: { ...permit.status, phase: 'Revoked' } })
  model.machines = before
  const again = workingMachine(done.name, { versions: { beacon: '1.0.0' }, zone: 'z-0' })
  const metadata = { ...again.metadata, uid: 'uid-another' }
  model.machines.set(done.name, { ...again, metadata, status: { ...again.status, phase: 'Joining' } })
  const slices = model.set.status?.slices?.map((w) => ({ ...w, phase: 'Planned' as const }))
  model.set = { ...model.set, status: { ...model.set.status, ...defined({ slices }) } }
  model.planTurn()
  expect(model.set.status?.slices?.map(activeMachines)).toEqual([others.map((t) => t.name)])
  // If it had stayed in the slice, the slice could not end: no permit covers it.
  for (let i = 0; i < 60; i++) model.round(60_000)
  expect(model.set.status?.revisions?.blocked).toBeUndefined()
})

test.each([1, 2, 3])(
  'percentages round to one machine at a time in a set of %i, and every machine gets there',
  (count) => {
    const model = fleet(count)
    model.declare({ beacon: '1.1.0' }, { steps: ['10%', '34%'], maxUnavailable: '30%', maxFailures: '10%' })
    const most: number[] = []
    for (let i = 0; i < 400 && model.versions('beacon')['1.1.0'] !== count; i++) {
      model.round()
      most.push(model.atWork().length)
      model.now += 10_000
    }
    expect(Math.max(...most)).toBe(1)
    expect(model.versions('beacon')).toEqual({ '1.1.0': count })
  },
)
