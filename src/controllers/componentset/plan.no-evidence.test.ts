// Events that prove nothing about a version stop no rollout: a silence that ends, and one bad machine if the version was healthy before.
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { component, heard, silenced } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, phases, until } from '#test/support/fleets/rollout-story.ts'
import { newRevision } from './revisions/revisions.ts'
import { commitToRevert } from './revisions/versions.ts'

const MINUTE_MS = 60_000

const update = (model: RolloutModel, name: string, change: (m: Machine) => Machine): void => {
  const machine = model.machines.get(name)
  if (machine !== undefined) model.machines.set(name, change(machine))
}

/** Neither the agent nor the Node sends heartbeats. */
const lost = (m: Machine, at: number): Machine => {
  const silent = silenced(m, at)
  return { ...silent, status: { ...silent.status, phase: 'Lost' } }
}
const back = (m: Machine, at: number): Machine => {
  const known = heard(m, at)
  return { ...known, status: { ...known.status, phase: 'Ready' } }
}

const switchingIn = (model: RolloutModel, step: number): string | undefined => {
  const machines = (model.set.status?.slices ?? []).filter((w) => w.step === step).flatMap((w) => w.machines)
  return model.atWork().find((name) => machines.includes(name))
}

const rounds = (model: RolloutModel, ms: number): void => {
  for (let n = 0; n < ms / 1_000; n++) model.round()
}

const isBlocked = (model: RolloutModel): boolean => model.set.status?.phase === 'Blocked'

describe.each([
  ['forward', '1.1.0', ['1.0.0']],
  ['back', '1.0.0', ['1.0.0', '1.1.0']],
] as const)('F42 a rollout %s', (_, goal, before) => {
  const begun = (count: number): RolloutModel => {
    const model = fleet(count)
    for (const version of before) {
      model.declare({ beacon: version }, { maxUnavailable: '50%', steps: [1, 2, 3, 4], maxFailures: 0 })
      model.settle()
    }
    model.declare({ beacon: goal })
    until(model, () => model.set.status?.phase === 'Progressing')
    return model
  }

  test.each([0, 1, 2, 3])(
    'is not stopped by a machine that is silent for a while amid its switch in step %d',
    (step) => {
      const model = begun(10)
      until(model, () => switchingIn(model, step) !== undefined || model.set.status?.phase === 'Complete')
      const name = switchingIn(model, step)
      // Going back is one step.
      if (name === undefined) return expect([goal, step > 0]).toEqual(['1.0.0', true])
      const from = model.now
      update(model, name, (m) => lost(m, from))
      rounds(model, 4 * MINUTE_MS)
      expect(isBlocked(model)).toBe(false)
      expect(model.set.status?.waitingFor).toMatchObject({
        predicate: 'LeaseExpired',
        seen: expect.stringContaining(
          `${name} is silent between two versions since ${new Date(from).toISOString().slice(0, 19)}Z`,
        ),
      })
      update(model, name, (m) => back(m, model.now))
      model.settle()
      expect([model.set.status?.phase, model.versions('beacon')]).toEqual(['Complete', { [goal]: 10 }])
      return undefined
    },
  )
})

test('F42 a machine that falls silent before its permit is granted makes way for another', () => {
  const model = fleet(10)
  const grant = model.defender.bind(model)
  model.defender = () => undefined
  model.declare({ beacon: '1.1.0' }, { maxUnavailable: '50%' })
  until(model, () => phases(model).includes('AwaitingPermit'))
  const [name = ''] = model.set.status?.slices?.[0]?.machines ?? []
  update(model, name, (m) => lost(m, model.now))
  // Like the real Defender: the health of a silent machine is unknown, so its target waits while it is silent.
  model.defender = () => {
    const waiting = [...model.permits].filter(
      ([, { spec }]) => spec.results === undefined && spec.targets.some((t) => t.name === name),
    )
    for (const [permit] of waiting) model.permits.delete(permit)
    grant()
    for (const [permit, object] of waiting) model.permits.set(permit, object)
  }
  rounds(model, 5 * MINUTE_MS)
  expect(model.versions('beacon')).toEqual({ '1.0.0': 1, '1.1.0': 9 })
  expect(isBlocked(model)).toBe(false)
  model.defender = grant
  update(model, name, (m) => back(m, model.now))
  model.settle()
  expect(model.versions('beacon')).toEqual({ '1.1.0': 10 })
})

test('F42 a machine that does not come back within five minutes counts', () => {
  const model = fleet(10)
  model.declare({ beacon: '1.1.0' })
  until(model, () => model.atWork().length > 0)
  const [name = ''] = model.atWork()
  update(model, name, (m) => lost(m, model.now))
  rounds(model, 6 * MINUTE_MS)
  expect(model.set.status).toMatchObject({ phase: 'Blocked' })
  expect(model.set.status?.revisions?.blocked?.[0]?.reason).toContain(`${name} fell silent between two versions`)
})

describe('F42 a silence in the soak', () => {
  const soaking = (): { readonly model: RolloutModel; readonly name: string } => {
    const model = fleet(10)
    const inspections = [{ name: 'well', componentsHealthy: {}, timeout: '10s' }]
    model.declare({ beacon: '1.1.0' }, { soak: '3m', inspections })
    until(model, () => phases(model).includes('Soaking'))
    const name = model.set.status?.slices?.find((w) => w.phase === 'Soaking')?.machines[0] ?? ''
    update(model, name, (m) => lost(m, model.now))
    return { model, name }
  }

  test('that ends stops nothing', () => {
    const { model, name } = soaking()
    rounds(model, 100_000)
    expect([isBlocked(model), model.set.status?.waitingFor?.predicate]).toEqual([false, 'InspectionFailed'])
    update(model, name, (m) => back(m, model.now))
    model.settle()
    expect(model.set.status?.phase).toBe('Complete')
  })

  test('that does not end fails the inspection', () => {
    const { model } = soaking()
    rounds(model, 6 * MINUTE_MS)
    expect([isBlocked(model), model.set.status?.revisions?.blocked?.[0]?.reason]).toEqual([
      true,
      expect.stringContaining('no heartbeat from its agent'),
    ])
  })
})

describe('F42 a version that was healthy on the set before', () => {
  /** Each version was fully rolled out, one after another. */
  const after = (...versions: readonly string[]) => {
    const bad = new Set<string>()
    const model = fleet(12, { quality: (_, version, name) => (bad.has(`${version} ${name}`) ? 'probe fails' : 'good') })
    for (const version of versions) {
      model.declare({ beacon: version }, { maxUnavailable: '50%', maxFailures: 0 })
      model.settle()
      expect(model.set.status?.phase).toBe('Complete')
    }
    return { model, bad }
  }
  const targetsIn = (model: RolloutModel, before: ReadonlySet<unknown>): readonly string[] =>
    [...model.permits.values()].filter((p) => !before.has(p)).flatMap((p) => p.spec.targets.map((t) => t.name))
  const names = (model: RolloutModel): readonly string[] => [...model.machines.keys()]

  test.each([
    ['the last one', ['1.0.0', '1.1.0']],
    ['one long before', ['1.0.0', '1.1.0', '1.2.0', '2.0.0']],
  ])('is not blocked by one machine: %s', (_, versions) => {
    for (const name of names(fleet(12))) {
      const { model, bad } = after(...versions)
      bad.add(`1.0.0 ${name}`)
      model.declare({ beacon: '1.0.0' })
      model.settle()
      expect([name, isBlocked(model), model.versions('beacon')['1.0.0']]).toEqual([name, false, 11])
    }
  })

  test('that people went back from is not blocked by one machine when they go forward again', () => {
    const { model, bad } = after('1.0.0', '1.1.0', '1.0.0')
    bad.add('1.1.0 m-0000')
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect([isBlocked(model), model.versions('beacon')]).toEqual([false, { '1.0.0': 1, '1.1.0': 11 }])
  })

  test('is blocked by a second machine, where maxFailures says so', () => {
    const { model, bad } = after('1.0.0', '1.1.0', '1.0.0')
    const before = new Set(model.permits.values())
    for (const name of names(model)) bad.add(`1.1.0 ${name}`)
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect([isBlocked(model), model.versions('beacon')]).toEqual([true, { '1.0.0': 12 }])
    const tried = targetsIn(model, before)
    expect([tried.length > 1, tried.length < 8]).toEqual([true, true])
  })

  test('and has different content now is new: one machine blocks it', () => {
    const { model, bad } = after('1.0.0', '1.1.0', '1.0.0')
    const before = new Set(model.permits.values())
    const changed = component('beacon', '1.1.0', { disruption: 'Drain' })
    model.components.set(changed.metadata.name ?? '', changed)
    for (const name of names(model)) bad.add(`1.1.0 ${name}`)
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect([isBlocked(model), targetsIn(model, before).length]).toEqual([true, 1])
  })
})

describe('what is stopped says which command frees it', () => {
  const adviceOf = (model: RolloutModel) => ({
    unblock: model.set.status?.waitingFor?.unblock,
    stalled: model.set.status?.conditions?.find((c) => c.type === 'Stalled' && c.status === 'True')?.message,
  })

  test('a new version: go back, or try again', () => {
    const model = fleet(4, { quality: (_, v) => (v === '1.1.0' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.1.0' })
    model.settle()
    const { unblock, stalled } = adviceOf(model)
    expect([unblock, stalled]).toEqual([
      expect.stringMatching(/kubenode rollback base; .*kubenode rollout retry base --reason WHY$/),
      expect.stringMatching(/kubenode rollout retry base --reason WHY$/),
    ])
  })

  const commit = (digit: string): string => digit.repeat(40)
  const applied = (model: RolloutModel, digit: string): void => {
    const annotations = { [ANNOTATIONS.commit]: commit(digit) }
    model.set = { ...model.set, metadata: { ...model.set.metadata, annotations } }
  }

  test.each([
    [
      'as the Release of its commit says it',
      ['b'],
      /^run git revert --no-edit bbbbbbbbbbbb && git push; to retry, kubenode rollout retry base /,
    ],
    ['another commit changed the set since', ['b', 'c'], /^run kubenode rollback base; /],
    ['an edit that is no commit', ['b', ';'], /^run kubenode rollback base; /],
  ] as const)('a new version from a commit: %s', (_, [brought, since], wanted) => {
    const model = fleet(4, { quality: (_, v) => (v === '1.1.0' ? 'probe fails' : 'good') })
    applied(model, 'a')
    model.settle()
    applied(model, brought)
    model.declare({ beacon: '1.1.0' })
    model.settle()
    if (since !== undefined) applied(model, since)
    model.settle()
    expect([isBlocked(model), adviceOf(model).unblock]).toEqual([true, expect.stringMatching(wanted)])
  })

  test('a configuration that fails with the same version: the commit of the version is not named', () => {
    const model = fleet(4, { quality: (_, v) => (v === '1.1.0' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.1.0' })
    applied(model, 'b')
    const revision = newRevision(model.set, [])
    const revisions = { update: revision, current: undefined, all: [revision] }
    const versions = [{ component: 'beacon', version: '1.1.0', commit: commit('a') }]
    const since = { ...model.set, status: { ...model.set.status, versions } }
    expect([commitToRevert(revisions, model.set, 'beacon'), commitToRevert(revisions, since, 'beacon')]).toEqual([
      commit('b'),
      undefined,
    ])
  })

  test('a version that was healthy before: no revert to what people went away from', () => {
    const bad = { is: false }
    const model = fleet(4, { quality: (_, v) => (bad.is && v === '1.1.0' ? 'probe fails' : 'good') })
    for (const version of ['1.1.0', '1.0.0']) {
      model.declare({ beacon: version }, { maxUnavailable: 4 })
      model.settle()
    }
    bad.is = true
    model.declare({ beacon: '1.1.0' })
    model.settle()
    const { unblock, stalled } = adviceOf(model)
    expect([isBlocked(model), unblock, stalled]).toEqual([
      true,
      expect.not.stringContaining('rollback'),
      expect.stringMatching(/kubenode rollout retry base --reason WHY$/),
    ])
  })

  test('a failure that is tolerated and leaves nothing to do', () => {
    const model = fleet(1, { quality: (_, v) => (v === '1.1.0' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.1.0' }, { maxFailures: 1 })
    model.settle()
    const { unblock, stalled } = adviceOf(model)
    expect([model.set.status?.waitingFor?.predicate, unblock, stalled]).toEqual([
      'RolledBackByAgent',
      expect.stringContaining('kubenode rollout retry base --reason WHY'),
      expect.stringMatching(/m-0000: RolledBack.*kubenode rollout retry base --reason WHY$/),
    ])
  })

  test('a failure that is tolerated beside machines that were updated', () => {
    const model = fleet(4, { quality: (_, v, m) => (v === '1.1.0' && m === 'm-0000' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.1.0' }, { maxFailures: 1, maxUnavailable: 4 })
    model.settle()
    const ready = model.set.status?.conditions?.find((c) => c.type === 'Ready')?.message
    expect([model.set.status?.phase, ready]).toEqual([
      'Complete',
      expect.stringMatching(
        /^3 of 4 machines updated; 1 failed, such as m-0000: RolledBack.*kubenode rollout retry base/,
      ),
    ])
  })
})
