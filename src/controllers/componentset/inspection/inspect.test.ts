// Inspections of things outside the cluster gate the next step: an inspection that has not run yet, or does not pass, keeps it closed.
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { fleet, phases, until } from '#test/support/fleets/rollout-story.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { type CheckResult, type WantedInspection, wantedInspections } from './inspections.ts'
import { InspectionReads } from './inspection-reads.ts'
import { defined } from '#lib/defined.ts'

const http = [{ name: 'page', http: { url: 'http://shop.test/', expectedStatus: 200 }, timeout: '5m' }]
const pod = (port?: number) => [
  {
    name: 'dns',
    podProbe: { image: 'probe:1', command: ['true'], ...defined({ port }) },
    timeout: '5m',
  },
]

/** From now on every inspection returns this. */
function inspectionResults(model: RolloutModel, result: CheckResult | undefined): void {
  const before = model.onPlan
  model.onPlan = (made, seen) => {
    before(made, seen)
    const wanted = wantedInspections({ ...seen.set, status: made.status })
    model.looks = new Map(result === undefined ? [] : wanted.map((w) => [w.key, result]))
  }
}

const begun = (inspections: typeof http | ReturnType<typeof pod>) => {
  const model = fleet(10)
  model.declare({ beacon: '1.1.0' }, { inspections })
  return model
}

describe('an inspection over the network', () => {
  test('that holds lets the rollout go on to the end', () => {
    const model = begun(http)
    inspectionResults(model, { holds: true, seen: '' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 10 })
  })

  test.each([
    ['was not looked at', undefined, 'check is running'],
    ['does not hold', { holds: false, seen: 'shop.test answers 500, 200 is expected' }, 'shop.test answers 500'],
  ])('that %s keeps the step, and blocks the revision when its time is over', (_, result, says) => {
    const model = begun(http)
    inspectionResults(model, result)
    until(model, () => phases(model)[0] === 'Inspecting')
    for (let i = 0; i < 100; i++) model.round()
    expect(phases(model)).toEqual(['Inspecting'])
    expect(model.set.status?.waitingFor).toMatchObject({
      predicate: 'InspectionFailed',
      seen: expect.stringContaining(says),
    })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 9, '1.1.0': 1 })
    expect(model.set.status?.revisions?.blocked).toMatchObject([{ reason: expect.stringContaining('inspection page') }])
  })

  test('that is looked at for the first time since the controllers were away blocks nothing', () => {
    const model = begun(http)
    until(model, () => phases(model)[0] === 'Inspecting')
    model.round()
    model.now += 3_600_000
    const [key = ''] = wantedInspections(model.set).map((w) => w.key)
    model.looking = new Set([key])
    model.planTurn()
    expect(phases(model)).toEqual(['Inspecting'])
    inspectionResults(model, { holds: true, seen: '' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 10 })
  })

  test('that nothing here can do is said before the first machine', () => {
    const model = begun(http)
    const seen = model.seen.bind(model)
    model.seen = () => ({ ...seen(), canInspect: { http: false, prometheus: false, podProbe: false } })
    model.settle()
    expect(model.permits.size).toBe(0)
    expect(model.set.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'UnsupportedField' }),
    )
  })
})

describe('an inspection by a pod', () => {
  const setPods = (model: RolloutModel, status: object) => {
    model.probePods = model.probePods.map((p) => ({ ...p, status: { ...p.status, ...status } }))
  }

  test('starts one on a machine that has the version, waits until it has succeeded, and ends it', () => {
    const model = begun(pod())
    until(model, () => model.probePods.length > 0)
    const [started] = model.probePods
    const [machine] = model.set.status?.slices?.[0]?.machines ?? []
    expect(started?.spec).toMatchObject({ nodeName: machine, automountServiceAccountToken: false })
    for (let i = 0; i < 60; i++) model.round()
    expect([phases(model), model.probePods.length]).toEqual([['Inspecting'], 1])
    setPods(model, { phase: 'Succeeded' })
    until(model, () => (model.set.status?.slices ?? []).some((w) => w.step === 1))
    expect(model.probePods.some((p) => p.metadata.name === started?.metadata.name)).toBe(false)
  })

  test('holds while it answers on its port', () => {
    const model = begun(pod(8080))
    until(model, () => model.probePods.length > 0)
    setPods(model, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] })
    until(model, () => phases(model)[0] === 'Soaking')
  })

  test('that fails blocks the revision, and leaves no pod', () => {
    const model = begun(pod())
    until(model, () => model.probePods.length > 0)
    setPods(model, { phase: 'Failed' })
    model.settle()
    expect(model.set.status?.phase).toBe('Blocked')
    expect(model.probePods).toEqual([])
  })
})

describe('looks', () => {
  const wanted = (key: string): WantedInspection => ({ key, inspection: { name: key, timeout: '5m' } })
  const set = { name: 'base', uid: 'u' }
  const looking = () => {
    const clock = new VirtualClock()
    const woken: string[] = []
    const asked: { readonly name: string; readonly answer: (result: CheckResult) => void }[] = []
    const inspections = new InspectionReads(
      {
        can: { http: true, prometheus: true, podProbe: true },
        check: ({ name }) => new Promise((answer) => void asked.push({ name, answer })),
      },
      clock,
      (name) => void woken.push(name),
    )
    return { clock, woken, asked, inspections }
  }
  const settled = () => new Promise((done) => void setImmediate(done))

  test('are taken in the background, one at a time for a thing, and tell the set when they say something new', async () => {
    const { asked, woken, inspections } = looking()
    expect([...inspections.read(set, [wanted('a')])]).toEqual([])
    inspections.read(set, [wanted('a')])
    expect(asked.map((a) => a.name)).toEqual(['a'])
    asked[0]?.answer({ holds: true, seen: '' })
    await settled()
    expect(woken).toEqual(['base'])
    expect([...inspections.read(set, [wanted('a')])]).toEqual([['a', { holds: true, seen: '' }]])
    expect(asked).toHaveLength(1)
  })

  test('are taken again after a while, and an old one says nothing', async () => {
    const { clock, asked, inspections } = looking()
    inspections.read(set, [wanted('a')])
    asked[0]?.answer({ holds: true, seen: '' })
    await settled()
    await clock.advance(15_000)
    expect(inspections.read(set, [wanted('a')]).size).toBe(1)
    expect(asked).toHaveLength(2)
    await clock.advance(60_000)
    expect(inspections.read(set, [wanted('a')]).size).toBe(0)
  })

  test('of a step that is no longer inspected are forgotten', async () => {
    const { asked, inspections } = looking()
    inspections.read(set, [wanted('a')])
    asked[0]?.answer({ holds: true, seen: '' })
    await settled()
    inspections.read(set, [])
    expect(inspections.read(set, [wanted('a')]).size).toBe(0)
  })
})
