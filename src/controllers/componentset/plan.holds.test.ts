// Pause, pin, retry and abort at every step of a rollout.
import { activeMachines } from '#api/protocol/part.ts'
import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { fleet, holdOn, phases, until } from '#test/support/fleets/rollout-story.ts'

const ordered = (model: ReturnType<typeof fleet>) =>
  [...model.machines.values()].filter((m) => m.spec.components?.some((c) => c.switch !== undefined)).length

describe('F18 a hold that pauses a set', () => {
  test('while its permit is asked for: the machines are let go, and asked for again when it ends', () => {
    const model = fleet(10)
    model.declare({ beacon: '1.1.0' })
    model.planTurn()
    expect(phases(model)).toEqual(['AwaitingPermit'])
    model.holds = [holdOn(model, 'Pause')]
    for (let i = 0; i < 20; i++) model.round()
    expect(phases(model)).toEqual(['Planned'])
    expect([...model.permits.values()].map((p) => Object.values(p.spec.results ?? {}))).toEqual([['Released']])
    expect(model.set.status).toMatchObject({ phase: 'Paused', waitingFor: { predicate: 'HoldPause' } })
    expect(model.versions('beacon')).toEqual({ '1.0.0': 10 })
    model.holds = []
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 10 })
  })

  test('while machines switch: what has begun ends, what has not is let go, and the step has only what was tried', () => {
    const model = fleet(30)
    model.declare({ beacon: '1.1.0' }, { steps: [10], maxUnavailable: 10 })
    until(model, () => phases(model)[0] === 'Switching')
    const names = model.set.status?.slices?.[0]?.machines ?? []
    // Two machines of the slice have their orders. The others are not staged yet.
    for (const name of names.slice(0, 2))
      for (let i = 0; i < 3 && ordered(model) < 2; i++) {
        model.machineController(name)
        model.agent(name)
      }
    model.holds = [holdOn(model, 'Pause')]
    until(model, () => phases(model)[0] === 'Soaking' || phases(model)[0] === 'Inspecting')
    const tried = (model.set.status?.slices ?? []).slice(0, 1).flatMap(activeMachines)
    expect(model.versions('beacon')).toEqual({ '1.0.0': 30 - tried.length, '1.1.0': tried.length })
    expect(tried.length).toBeGreaterThan(0)
    expect(tried.length).toBeLessThan(10)
    model.holds = []
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 30 })
  })

  test('with no machine begun: the step was not tried and is not passed', () => {
    const model = fleet(10)
    model.declare({ beacon: '1.1.0' })
    model.planTurn()
    model.defender()
    model.planTurn()
    expect(phases(model)).toEqual(['Switching'])
    model.holds = [holdOn(model, 'Freeze')]
    for (let i = 0; i < 10; i++) model.round()
    expect(phases(model)).toEqual([])
    expect(model.set.status?.waitingFor?.predicate).toBe('HoldFreeze')
  })
})

test('a hold on one machine lets it go from its slice, and the others go on', () => {
  const model = fleet(10)
  model.declare({ beacon: '1.1.0' }, { steps: [3], maxUnavailable: 3 })
  model.planTurn()
  const [held = ''] = model.set.status?.slices?.[0]?.machines ?? []
  model.holds = [holdOn(model, 'Pause', { target: { kind: 'Machine', name: held } })]
  until(model, () => model.versions('beacon')['1.1.0'] === 9)
  expect(model.set.status?.skipped).toEqual([{ machine: held, reason: 'hold hold-pause' }])
})

describe.each([
  ['Node', (name: string) => ({ kind: 'Node' as const, name })],
  ['MachineSet', () => ({ kind: 'MachineSet' as const, name: 'pool-a' })],
])('a Freeze of the %s of one machine', (_, targetOf) => {
  const owner = { apiVersion: API_GROUP_VERSION, kind: 'MachineSet', name: 'pool-a', uid: 'u', controller: true }
  const freeze = (model: ReturnType<typeof fleet>, name: string) => {
    const m = model.machines.get(name)
    if (m !== undefined) model.machines.set(name, { ...m, metadata: { ...m.metadata, ownerReferences: [owner] } })
    model.holds = [holdOn(model, 'Freeze', { target: targetOf(name) })]
  }

  test('keeps it out of every slice, so that no slice waits for it', () => {
    const model = fleet(10)
    freeze(model, 'm-0003')
    model.declare({ beacon: '1.1.0' }, { steps: [3], maxUnavailable: 3 })
    const asked = new Set<string>()
    model.onPlan = ({ status }) => status.slices?.forEach((w) => w.machines.forEach((m) => asked.add(m)))
    until(model, () => model.versions('beacon')['1.1.0'] === 9)
    expect(asked.size).toBe(9)
    expect(asked).not.toContain('m-0003')
    expect(model.set.status?.skipped).toEqual([{ machine: 'm-0003', reason: 'hold hold-freeze' }])
  })

  test('takes it out of a slice that waits for its permit, and lets it in again when the hold ends', () => {
    const model = fleet(10)
    model.declare({ beacon: '1.1.0' }, { steps: [3], maxUnavailable: 3 })
    model.planTurn()
    freeze(model, model.set.status?.slices?.[0]?.machines[0] ?? '')
    until(model, () => model.versions('beacon')['1.1.0'] === 9)
    const end = Date.parse(model.holds[0]?.spec.until ?? '')
    expect(model.now).toBeLessThan(end)
    // No other event follows: the set requeues itself.
    model.settle()
    expect(model.now).toBeGreaterThan(end)
    expect(model.versions('beacon')).toEqual({ '1.1.0': 10 })
  })
})

test('a Freeze of the cluster stops a set, which says so', () => {
  const model = fleet(5)
  model.declare({ beacon: '1.1.0' })
  model.holds = [holdOn(model, 'Freeze', { target: { kind: 'Cluster', selector: {} } })]
  for (let i = 0; i < 10; i++) model.round()
  expect(model.versions('beacon')).toEqual({ '1.0.0': 5 })
  expect(model.set.status).toMatchObject({ phase: 'Paused', waitingFor: { predicate: 'HoldFreeze' } })
})

test('a window that closes takes back what no machine has begun', () => {
  const model = fleet(5)
  model.declare(
    { beacon: '1.1.0' },
    { windows: [{ cron: '0 10 * * *', duration: '1h', timeZone: 'UTC' }], steps: [5], maxUnavailable: 5 },
  )
  model.planTurn()
  expect(phases(model)).toEqual(['AwaitingPermit'])
  model.now += 3_600_000
  for (let i = 0; i < 10; i++) model.round()
  expect(model.set.status?.waitingFor?.predicate).toBe('WaitingForWindow')
  expect(model.versions('beacon')).toEqual({ '1.0.0': 5 })
})

describe('a hold that pins', () => {
  const twice = () => {
    const model = fleet(8)
    const [first] = model.revisions
    model.declare({ beacon: '1.1.0' }, { maxUnavailable: 4 })
    model.settle()
    model.declare({ beacon: '1.2.0' })
    model.settle()
    return { model, first: first?.metadata.name ?? '' }
  }

  test('brings machines to a kept revision that is neither declared nor the last healthy one', () => {
    const { model, first } = twice()
    model.holds = [holdOn(model, 'Pin', { to: first })]
    until(model, () => model.set.status?.phase === 'Complete' && model.set.status.revisions?.update === first)
    expect(model.versions('beacon')).toEqual({ '1.0.0': 8 })
    expect(model.set.status?.revisions).toEqual({ current: first, update: first })
    model.holds = []
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.2.0': 8 })
  })

  test('renders the configuration of that revision again', () => {
    const { model, first } = twice()
    const values = { level: 'debug' }
    model.revisions = model.revisions.map((r) =>
      r.metadata.name === first ? { ...r, data: { components: [{ name: 'beacon', version: '1.0.0', values }] } } : r,
    )
    model.holds = [holdOn(model, 'Pin', { to: first })]
    model.planTurn()
    expect([...model.configs]).toHaveLength(1)
  })

  test('to what is no revision says so, and nothing moves', () => {
    const { model } = twice()
    model.holds = [holdOn(model, 'Pin', { to: 'base-nothing' })]
    model.declare({ beacon: '2.0.0' })
    for (let i = 0; i < 20; i++) model.round()
    expect(model.set.status?.waitingFor?.predicate).toBe('ReferenceMissing')
    expect(model.set.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', status: 'True' }))
    expect(model.versions('beacon')).toEqual({ '1.2.0': 8 })
  })
})

describe('a revision that failed', () => {
  const failed = () => {
    let isBad = true
    const model = fleet(10, { quality: (_, v) => (v === '1.2.0' && isBad ? 'breaks' : 'good') })
    model.declare({ beacon: '1.2.0' })
    model.settle()
    return { model, mend: () => void (isBad = false) }
  }

  test('says which machine failed and what its probe said, also when that machine has gone back and reports of something else', () => {
    const turn = { detail: `HTTP 500 from /health:\n${'x'.repeat(200)}` }
    const model = fleet(10, { quality: (_, v) => (v === '1.2.0' ? 'probe fails' : 'good') })
    const agent = model.agent.bind(model)
    model.agent = (name) => {
      agent(name)
      const m = model.machines.get(name)
      const components = m?.status?.components?.map((c) =>
        c.state === 'RolledBack' ? { ...c, message: `probe http: ${turn.detail}` } : c,
      )
      if (m !== undefined && components !== undefined)
        model.machines.set(name, { ...m, status: { ...m.status, components } })
    }
    model.declare({ beacon: '1.2.0' })
    model.settle()
    const [first] = [...model.machines.values()]
    expect(first?.status?.components).toMatchObject([{ version: '1.0.0', desired: '1.0.0', state: 'Healthy' }])
    const detail =
      'beacon: step 1 of 3: 1 machine failed (0 allowed); m-0000: RolledBack: probe http: HTTP 500 from /health: x'
    const { conditions, waitingFor, revisions } = model.set.status ?? {}
    const of = (type: string) => conditions?.find((c) => c.type === type)?.message
    expect(of('RevisionBlocked')).toContain(detail)
    expect(of('Stalled')).toContain(detail)
    expect(of('Stalled')).toMatch(/; run kubenode rollback base; to retry, kubenode rollout retry base --reason WHY$/)
    expect(waitingFor?.seen).toContain(detail)
    expect(`beacon: ${revisions?.blocked?.[0]?.reason}`).toContain(detail)
  })

  test('is kept with its evidence on its ControllerRevision, and binds although the status is lost', () => {
    const { model } = failed()
    const revision = model.revisions.find((r) => r.metadata.name === model.set.status?.revisions?.update)
    const evidence = JSON.parse(revision?.metadata.annotations?.['kubenode.io/blocked'] ?? '[]') as object[]
    expect(evidence).toMatchObject([{ component: 'beacon', machines: [expect.stringContaining('m-0000: Failed')] }])
    const asked = model.permits.size
    const { status: _, ...lost } = model.set
    model.set = lost
    model.settle()
    expect(model.set.status?.revisions?.blocked).toMatchObject([{ component: 'beacon' }])
    expect(model.permits.size).toBe(asked)
  })

  test('is tried again when a hold says so, also on the machine that broke with it, and its evidence says since when', () => {
    const { model, mend } = failed()
    mend()
    model.now += 60_000
    model.holds = [holdOn(model, 'Retry')]
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.2.0': 10 })
    expect(model.set.status?.phase).toBe('Complete')
    const notes = model.revisions.map((r) => r.metadata.annotations?.['kubenode.io/blocked']).filter(Boolean)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain('liftedAt')
  })

  test('is tried a second time when a second hold says so while the first is still in force', () => {
    const { model, mend } = failed()
    model.now += 60_000
    const made = holdOn(model, 'Retry')
    const first = { ...made, spec: { ...made.spec, until: new Date(model.now + 86_400_000).toISOString() } }
    model.holds = [first]
    until(model, () => model.set.status?.phase !== 'Blocked')
    until(model, () => model.set.status?.phase === 'Blocked')
    mend()
    model.now += 60_000
    expect(Date.parse(first.spec.until)).toBeGreaterThan(model.now)
    const again = holdOn(model, 'Retry')
    model.holds = [first, { ...again, metadata: { ...again.metadata, name: `${again.metadata.name}-again` } }]
    until(model, () => model.set.status?.phase !== 'Blocked')
    expect(Date.parse(first.spec.until)).toBeGreaterThan(model.now)
  })

  test('fails once more when it is tried again and is still bad', () => {
    const { model } = failed()
    model.now += 60_000
    model.holds = [holdOn(model, 'Retry')]
    model.settle()
    expect(model.set.status?.phase).toBe('Blocked')
    expect(model.versions('beacon')['1.2.0'] ?? 0).toBeLessThan(2)
  })
})

test('a hold that aborts gives up what is rolled out; with onFailure Rollback the machines go back', () => {
  const model = fleet(20)
  model.declare({ beacon: '1.1.0' }, { onFailure: 'Rollback' })
  until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) >= 3)
  model.holds = [holdOn(model, 'Abort')]
  model.settle()
  expect(model.versions('beacon')).toEqual({ '1.0.0': 20 })
  expect(model.set.status?.revisions?.blocked).toMatchObject([{ reason: expect.stringContaining('hold-abort') }])
})

test('no condition of a set is without words, at rest and while it is held', () => {
  const model = fleet(3)
  const silent = () => model.set.status?.conditions?.filter((c) => c.message === '').map((c) => c.type)
  expect(silent()).toEqual([])
  model.holds = [holdOn(model, 'Pause')]
  model.declare({ beacon: '1.1.0' })
  model.round()
  expect(silent()).toEqual([])
})
