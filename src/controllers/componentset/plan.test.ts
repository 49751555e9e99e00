// Rollout stories with the planner, the machine controller's decisions and agents in memory.
import { describe, expect, test } from 'vitest'
import { readyNode, component, componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { components, fleet, until } from '#test/support/fleets/rollout-story.ts'

const stepSizes = (model: RolloutModel): readonly number[] => {
  const sizes = new Map<string, number>()
  for (const [name, { spec }] of model.permits) {
    const step = /-s(\d+)-/.exec(name)?.[1] ?? ''
    sizes.set(step, (sizes.get(step) ?? 0) + spec.targets.length)
  }
  return [...sizes].toSorted(([a], [b]) => Number(a) - Number(b)).map(([, n]) => n)
}

describe('a rollout', () => {
  test('that has nothing to do asks for nothing and makes the declared revision the current one', () => {
    const model = fleet(3)
    expect(model.permits.size).toBe(0)
    expect(model.set.status?.phase).toBe('Complete')
    expect(model.set.status?.revisions?.current).toBe(model.set.status?.revisions?.update)
    expect(model.set.status?.waitingFor).toBeUndefined()
  })

  test('of a set without components is done', () => {
    const model = fleet(2, { set: componentSet({}) })
    expect(model.set.status?.phase).toBe('Complete')
  })

  test('asks for no machine twice while nobody decides about the first question', () => {
    const versions = { beacon: '1.0.0', scribe: '1.0.0' }
    const model = fleet(30, { versions })
    model.declare({ beacon: '1.1.0', scribe: '1.0.0' }, { maxUnavailable: '100%', steps: [10] })
    model.planTurn()
    model.declare({ beacon: '1.1.0', scribe: '1.1.0' })
    for (let turn = 0; turn < 5; turn++) model.planTurn()
    const asked = [...model.permits.values()].flatMap(({ spec }) => spec.targets.map((t) => t.name))
    expect(asked.length).toBeGreaterThan(15)
    expect(new Set(asked).size).toBe(asked.length)
  })

  test('climbs the ladder 1, 5, 10, 50, 100, 100 … to the last machine', () => {
    const model = fleet(300)
    model.set = {
      ...model.set,
      spec: { ...model.set.spec, rollout: { ...model.set.spec.rollout, maxUnavailable: 100 } },
    }
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 300 })
    expect(stepSizes(model)).toEqual([1, 5, 10, 50, 100, 100, 34])
    expect(model.set.status).toMatchObject({
      phase: 'Complete',
      counts: { total: 300, updated: 300, healthy: 300, failed: 0, skipped: 0 },
    })
  })

  test('of a bad version stops at the first machine, which went back by itself, and blocks the revision', () => {
    const model = fleet(20, { quality: (_, v) => (v === '1.2.0' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.2.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 20 })
    expect(model.set.status?.phase).toBe('Blocked')
    expect(model.set.status?.revisions?.blocked).toMatchObject([{ component: 'beacon' }])
    expect(model.permits.size).toBe(1)
    expect(model.set.status?.waitingFor?.predicate).toBe('RevisionFailed')
  })

  test('is undone by a revert, as a recovery without a ladder', () => {
    const model = fleet(40, { quality: (_, v) => (v === '1.2.0' ? 'probe fails' : 'good') })
    const good = model.set.status?.revisions?.current
    model.declare({ beacon: '1.1.0' })
    for (let i = 0; i < 200 && (model.versions('beacon')['1.1.0'] ?? 0) < 8; i++) {
      const made = model.round()
      model.now += Math.min(made.requeueAfter ?? 0, 30_000)
    }
    model.declare({ beacon: '1.0.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 40 })
    expect(model.set.status?.revisions).toEqual({ current: good, update: good })
    expect(model.revisions).toHaveLength(2)
    const back = [...model.permits.values()].filter((p) => p.spec.component?.version === '1.0.0')
    expect(back.length).toBeGreaterThan(0)
    expect(back.every((p) => p.spec.recovery)).toBe(true)
  })

  test('with onFailure Rollback brings back what had the bad version', () => {
    const model = fleet(30, { quality: (_, v, m) => (v === '1.2.0' && m >= 'm-0003' ? 'breaks' : 'good') })
    model.declare({ beacon: '1.2.0' }, { onFailure: 'Rollback', maxFailures: 1, spread: [] })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 30 })
    expect(model.set.status?.phase).toBe('Blocked')
  })

  test('of two components lets each climb by itself, and a change of one restarts only that one', () => {
    const machines = Array.from({ length: 30 }, (_, i) =>
      workingMachine(`m-${i}`, { versions: { beacon: '1.0.0', scribe: '1.0.0' } }),
    )
    const model = new RolloutModel({ machines, set: componentSet({ beacon: '1.0.0', scribe: '1.0.0' }), components })
    model.settle()
    model.declare({ beacon: '1.1.0', scribe: '1.1.0' }, { maxUnavailable: 4 })
    while ((model.versions('scribe')['1.1.0'] ?? 0) < 5) model.now += Math.min(model.round().requeueAfter ?? 0, 30_000)
    const steps = () =>
      Math.max(...(model.set.status?.slices ?? []).filter((w) => w.component === 'scribe').map((w) => w.step))
    const before = steps()
    model.declare({ beacon: '1.2.0', scribe: '1.1.0' })
    model.round()
    expect(steps()).toBeGreaterThanOrEqual(before)
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.2.0': 30 })
    expect(model.versions('scribe')).toEqual({ '1.1.0': 30 })
  })

  test('that is superseded by another new version does not pass that one off as a way back', () => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' })
    until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) >= 3)
    model.declare({ beacon: '1.2.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.2.0': 20 })
    const asked = [...model.permits.values()].filter((p) => p.spec.component?.version === '1.2.0')
    expect(asked.every((p) => !p.spec.recovery)).toBe(true)
    expect(asked[0]?.spec.targets).toHaveLength(1)
  })

  test('by percentages takes shares of the machines that count', () => {
    const model = fleet(40)
    model.declare({ beacon: '1.1.0' }, { steps: ['5%', '25%', '100%'], maxUnavailable: '100%' })
    model.settle()
    expect(stepSizes(model)).toEqual([2, 10, 28])
  })

  test('tries every kind of hardware in its first batches, whether it is declared or seen on the Node', () => {
    const kernels = ['5.10.134', '6.1.0', '6.12.41']
    const machines = Array.from({ length: 60 }, (_, i) =>
      workingMachine(`m-${String(i).padStart(2, '0')}`, {
        versions: { beacon: '1.0.0' },
        class: i < 58 ? 'plain' : 'gpu',
      }),
    )
    const model = new RolloutModel({ machines, set: componentSet({ beacon: '1.0.0' }), components })
    for (const [i, name] of [...model.nodes.keys()].entries())
      model.nodes.set(name, {
        ...readyNode(name),
        status: { ...readyNode(name).status, nodeInfo: { kernelVersion: kernels[i < 50 ? 0 : i < 56 ? 1 : 2] ?? '' } },
      })
    model.settle()
    model.declare({ beacon: '1.1.0' }, { maxUnavailable: '20%' })
    until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) >= 6)
    model.round()
    const tried = model.set.status?.coverage?.filter((c) => c.healthy > 0).map((c) => c.class)
    expect(tried).toEqual(['gpu.6.12', 'plain.5.10', 'plain.6.1', 'plain.6.12'])
  })

  test('does not fail for the few machines that never get ready, and says which they are', () => {
    const model = fleet(150)
    const stuck = ['m-0100', 'm-0149']
    const turn = model.agent.bind(model)
    model.agent = (name) => {
      const isFetching = model.machines.get(name)?.status?.components?.some((c) => c.state === 'Fetching') === true
      if (!isFetching || !stuck.includes(name)) turn(name)
    }
    model.declare({ beacon: '1.1.0' }, { steps: [10, 50, 100], maxUnavailable: 50, maxFailures: 2 })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 2, '1.1.0': 148 })
    expect(model.set.status?.revisions?.blocked).toBeUndefined()
    expect(model.set.status?.skipped?.map((s) => s.machine)).toEqual(stuck)
  })

  test('goes on with others when the Defender protects the first machine', () => {
    const model = fleet(10)
    const grant = model.defender.bind(model)
    model.defender = () => {
      for (const [name, permit] of model.permits) {
        const { targets } = permit.spec
        if (permit.status !== undefined || !targets.some((t) => t.name === 'm-0000')) continue
        const verdicts = targets.map((t) => ({
          target: t.uid,
          gate: 'Protect' as const,
          verdict: 'Denied' as const,
          seen: 'it is protected',
        }))
        model.permits.set(name, {
          ...permit,
          status: { phase: 'Denied', decidedAt: new Date(model.now).toISOString(), verdicts },
        })
      }
      grant()
    }
    model.declare({ beacon: '1.1.0' })
    until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) === 9)
    expect(model.set.status?.skipped).toEqual([
      { machine: 'm-0000', reason: 'denied by the Defender: gate Protect: it is protected' },
    ])
  })

  test('leaves a component to the set with the higher priority, says so, and counts the machines all the same', () => {
    const model = fleet(6)
    model.others = [componentSet({ beacon: '2.0.0' }, {}, { name: 'strong', priority: 10 })]
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(model.permits.size).toBe(0)
    expect(model.set.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Conflicting',
        status: 'True',
        message: 'set strong (priority 10) takes precedence for beacon on 6 machines',
      }),
    )
  })

  const silenced = (model: RolloutModel, names: readonly string[]): void => {
    for (const name of names) {
      const m = model.machines.get(name)
      if (m !== undefined) model.machines.set(name, { ...m, status: { ...m.status, phase: 'Lost' } })
    }
  }

  test('is not done while a zone of machines is silent that run what was before', () => {
    const model = fleet(40)
    const zone = [...model.machines.keys()].slice(0, 10)
    silenced(model, zone)
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(model.permits.size).toBe(0)
    // Even if the others got there another way.
    for (const [name, m] of model.machines) {
      if (zone.includes(name)) continue
      const told = { name: 'beacon', version: '1.1.0', setRef: 'base', attempt: 2 }
      const report = { ...told, desired: '1.1.0', state: 'Healthy' as const, since: new Date(model.now).toISOString() }
      const { setRef: _, ...reported } = report
      model.machines.set(name, {
        ...m,
        spec: { ...m.spec, components: [told] },
        status: { ...m.status, components: [reported] },
      })
    }
    model.round()
    expect(model.set.status).toMatchObject({
      phase: 'Progressing',
      waitingFor: { predicate: 'ZoneOutage' },
      counts: { updated: 30, total: 40 },
    })
    expect(model.set.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }))
  })

  test('whose slice is let go whole goes on at that step, not at one machine again', () => {
    const model = fleet(100)
    model.declare({ beacon: '1.1.0' }, { maxUnavailable: 50 })
    until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) === 16)
    until(model, () => (model.set.status?.slices ?? []).some((w) => w.step === 3 && w.phase === 'AwaitingPermit'))
    const taken = (model.set.status?.slices ?? []).filter((w) => w.step === 3).flatMap((w) => w.machines)
    const before = taken.map((n) => [n, model.machines.get(n)] as const)
    silenced(model, taken)
    model.settle()
    expect((model.set.status?.slices ?? []).filter((w) => w.step === 3)).toEqual([])
    for (const [n, m] of before) if (m !== undefined) model.machines.set(n, m)
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 100 })
    const sizes = [...model.permits.values()].map((p) => p.spec.targets.length)
    expect(sizes.filter((n) => n === 1)).toHaveLength(1)
  })

  test('F21 goes on beside a set and a hold whose selectors cannot be read', () => {
    const model = fleet(6)
    const unreadable = { matchLabels: { 'no key!': 'x' } }
    model.others = [componentSet({ beacon: '2.0.0' }, {}, { name: 'poison', priority: 10, selector: unreadable })]
    model.holds = [
      {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'OperationalHold',
        metadata: { name: 'poison' },
        spec: {
          target: { kind: 'MachineComponentSet', selector: unreadable },
          effect: 'Retry',
          author: 'somebody',
          reason: '',
          until: '2030-01-01T00:00:00Z',
        },
      },
    ]
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 6 })
  })

  test('F21 whose own selector cannot be read says so, and touches nothing', () => {
    const model = fleet(6)
    // The story validates every set against its schema, which this one breaks.
    model.onPlan = () => undefined
    model.set = { ...model.set, spec: { ...model.set.spec, selector: { matchLabels: { 'no key!': 'x' } } } }
    model.round()
    expect(model.permits.size).toBe(0)
    expect(model.set.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'InvalidSpec' }),
    )
  })

  test('stays done when machines that have everything fall silent', () => {
    const model = fleet(40)
    const before = model.set.status?.phase
    silenced(model, [...model.machines.keys()].slice(0, 10))
    model.settle()
    expect([before, model.set.status?.phase]).toEqual(['Complete', 'Complete'])
  })

  test('that is done but for a silent machine says which one it skipped', () => {
    const model = fleet(40)
    silenced(model, ['m-0007'])
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.0.0': 1, '1.1.0': 39 })
    expect(model.set.status?.phase).toBe('Complete')
    expect(model.set.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Ready',
        status: 'True',
        message: '39 of 40 machines are updated; skipped for now: 1, such as m-0007: phase Lost',
      }),
    )
    expect(model.set.status?.consistency).toEqual([{ component: 'beacon', consistent: 39, total: 40 }])
  })

  test('asks for a drain and a reboot where the operating system is what changes', () => {
    const os = ['13.1', '13.2'].map((v) => component('os', v, { type: 'OS', disruption: 'Reboot' }))
    const machines = [
      workingMachine('m-0', { versions: { os: '13.1' } }),
      workingMachine('m-1', { versions: { os: '13.1' } }),
    ]
    const model = new RolloutModel({ machines, set: componentSet({ os: '13.1' }), components: os })
    model.settle()
    model.declare({ os: '13.2' })
    model.settle()
    expect(model.versions('os')).toEqual({ '13.2': 2 })
    expect([...model.permits.values()].map((p) => p.spec.operations)).toEqual(
      Array.from({ length: 2 }, () => ['SwitchComponent', 'Drain', 'Reboot']),
    )
  })
})
