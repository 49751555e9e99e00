// Machines that a bad first version broke get the next version first, and cost no budget: no commit, revert or retry waits for them.
import { describe, expect, test } from 'vitest'
import { component, componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import type { Share } from './slices/share.ts'
import { components, fleet, holdOn, until } from '#test/support/fleets/rollout-story.ts'

type Quality = ReturnType<RolloutModel['quality']>

/** Beacon runs everywhere. Scribe is new, and its version 1.0.0 does not run at all. */
function withBrokenFirstInstall(count: number, maxUnavailable: Share) {
  const bad = new Map<string, Quality>([['1.0.0', 'breaks']])
  const model = fleet(count, { quality: (c, v) => (c === 'scribe' ? (bad.get(v) ?? 'good') : 'good') })
  model.declare({ beacon: '1.0.0', scribe: '1.0.0' }, { maxUnavailable })
  model.settle()
  expect([model.set.status?.phase, broken(model)]).toEqual(['Blocked', 1])
  return { model, bad }
}

const broken = (model: RolloutModel): number =>
  [...model.machines.values()].filter((m) => m.status?.components?.some((c) => c.state === 'Failed') === true).length

const targetsOf = (model: RolloutModel, version: string): readonly string[] =>
  [...model.permits.values()]
    .filter((p) => p.spec.component?.version === version)
    .flatMap((p) => p.spec.targets.map((t) => t.name))

describe.each([
  [1, 1],
  [3, 1],
  [6, 2],
  [12, '10%'],
  [12, '50%'],
] as const)('F44 a first install that failed, %d machines, maxUnavailable %s', (count, maxUnavailable) => {
  test('is mended by the next commit, which goes to the broken machine first', () => {
    const { model } = withBrokenFirstInstall(count, maxUnavailable)
    const [first] = targetsOf(model, '1.0.0')
    model.declare({ beacon: '1.0.0', scribe: '1.1.0' })
    model.settle()
    expect(targetsOf(model, '1.1.0')[0]).toBe(first)
    expect([model.set.status?.phase, model.versions('scribe')]).toEqual(['Complete', { '1.1.0': count }])
  })

  test('is tried again on the same machine alone when the next commit is no better, and the one after it mends', () => {
    const { model, bad } = withBrokenFirstInstall(count, maxUnavailable)
    bad.set('1.1.0', 'breaks')
    model.declare({ beacon: '1.0.0', scribe: '1.1.0' })
    model.settle()
    expect([model.set.status?.phase, broken(model), targetsOf(model, '1.1.0')]).toEqual([
      'Blocked',
      1,
      targetsOf(model, '1.0.0'),
    ])
    model.declare({ beacon: '1.0.0', scribe: '1.2.0' })
    model.settle()
    expect([model.set.status?.phase, model.versions('scribe')]).toEqual(['Complete', { '1.2.0': count }])
  })

  test('is taken back by a revert', () => {
    const { model } = withBrokenFirstInstall(count, maxUnavailable)
    model.declare({ beacon: '1.0.0' })
    model.settle()
    expect([model.set.status?.phase, broken(model)]).toEqual(['Complete', 0])
    expect([...model.machines.values()].flatMap((m) => m.status?.components ?? []).map((c) => c.name)).not.toContain(
      'scribe',
    )
  })

  test('goes on by a retry once its cause is gone', () => {
    const { model, bad } = withBrokenFirstInstall(count, maxUnavailable)
    bad.clear()
    model.now += 60_000
    model.holds = [holdOn(model, 'Retry')]
    model.settle()
    expect([model.set.status?.phase, model.versions('scribe')]).toEqual(['Complete', { '1.0.0': count }])
  })

  test('holds up no commit for another component', () => {
    const { model } = withBrokenFirstInstall(count, maxUnavailable)
    model.declare({ beacon: '1.1.0', scribe: '1.1.0' })
    model.settle()
    expect([model.set.status?.phase, model.versions('beacon'), model.versions('scribe')]).toEqual([
      'Complete',
      { '1.1.0': count },
      { '1.1.0': count },
    ])
  })
})

test('F44 the first version of a whole set is mended like any other', () => {
  const machines = [0, 1, 2].map((i) => workingMachine(`m-${i}`))
  const set = componentSet({ scribe: '1.0.0' }, { maxUnavailable: 1 })
  const model = new RolloutModel({ machines, set, components, quality: (_, v) => (v === '1.0.0' ? 'breaks' : 'good') })
  model.settle()
  expect(model.set.status?.phase).toBe('Blocked')
  model.declare({ scribe: '1.1.0' })
  model.settle()
  expect([model.set.status?.phase, model.versions('scribe')]).toEqual(['Complete', { '1.1.0': 3 }])
})

test('F44 a machine on which the version that works elsewhere is unwell comes last while others are free, and is tried when nothing else is', () => {
  const story = (maxUnavailable: number) => {
    const model = fleet(4)
    const [name = '', sick] = [...model.machines][1] ?? []
    const unwell = (sick?.status?.components ?? []).map((c) => ({ ...c, state: 'Degraded' as const }))
    if (sick !== undefined) model.machines.set(name, { ...sick, status: { ...sick.status, components: unwell } })
    model.declare({ beacon: '1.1.0' }, { maxUnavailable })
    model.settle()
    expect([model.set.status?.phase, model.versions('beacon')]).toEqual(['Complete', { '1.1.0': 4 }])
    return targetsOf(model, '1.1.0').indexOf(name)
  }
  expect([story(1), story(2)]).toEqual([0, 3])
})

describe('F44 a version that no agent accepts', () => {
  const refused = (count: number, maxUnavailable: Share) => {
    const quality = new Map<string, Quality>([['1.1.0', 'refused']])
    const model = fleet(count, { quality: (_, v) => quality.get(v) ?? 'good' })
    model.declare({ beacon: '1.1.0' }, { maxUnavailable, progressDeadline: '10m' })
    return { model, quality }
  }

  test('makes its step wait and say why, and is no failure', () => {
    const { model } = refused(4, 1)
    until(model, () => model.set.status?.waitingFor?.predicate === 'SignatureInvalid')
    expect(model.set.status).toMatchObject({
      phase: 'Progressing',
      counts: { failed: 0, healthy: 0, updated: 0 },
      waitingFor: {
        predicate: 'SignatureInvalid',
        seen: expect.stringMatching(/^beacon step 1 of 2: m-000\d: KN8013: cannot install it/),
      },
    })
    expect(model.versions('beacon')).toEqual({ '1.0.0': 4 })
  })

  test('goes on by itself once it is accepted', () => {
    const { model, quality } = refused(4, 1)
    until(model, () => model.set.status?.waitingFor?.predicate === 'SignatureInvalid')
    quality.clear()
    model.settle()
    expect([model.set.status?.phase, model.versions('beacon')]).toEqual(['Complete', { '1.1.0': 4 }])
  })

  test.each([
    ['1', 4, 1],
    ['2', 6, 2],
    ['all', 4, 4],
  ])(
    'stops at the progress deadline with that reason, and the next commit goes on (maxUnavailable %s)',
    (_, n, most) => {
      const { model } = refused(n, most)
      model.settle()
      expect(model.set.status).toMatchObject({ phase: 'Blocked', counts: { failed: 0 } })
      expect(model.set.status?.revisions?.blocked?.[0]?.reason).toMatch(/no progress for 10m; m-\d+: .*KN8013/)
      model.declare({ beacon: '1.2.0' })
      model.settle()
      expect([model.set.status?.phase, model.versions('beacon')]).toEqual(['Complete', { '1.2.0': n }])
    },
  )
})

describe('F44 a machine on which two components were installed badly, as on a new node', () => {
  const relays = ['1.0.0', '1.1.0'].map((v) => component('relay', v)).map((c) => [c.metadata.name ?? '', c] as const)
  const versions = { beacon: '1.0.0', relay: '1.0.0', scribe: '1.0.0' }

  function withTwo(count: number, maxUnavailable: Share) {
    const quality = (c: string, v: string): Quality => (c !== 'beacon' && v === '1.0.0' ? 'breaks' : 'good')
    const model = fleet(count, { quality, versions: { beacon: '1.0.0' } })
    model.components = new Map([...model.components, ...relays])
    model.declare(versions, { maxUnavailable, soak: '0s' })
    const [name = '', m] = [...model.machines][0] ?? []
    const told = Object.entries(versions).map(([c, version]) => ({ name: c, version, attempt: 1, setRef: 'base' }))
    const reports = (m?.status?.components ?? []).concat(
      ['relay', 'scribe'].map((c) => {
        const since = '2026-01-05T09:00:00Z'
        return { name: c, desired: '1.0.0', attempt: 1, state: 'Failed' as const, since }
      }),
    )
    if (m !== undefined)
      model.machines.set(name, {
        ...m,
        spec: { ...m.spec, components: told },
        status: { ...m.status, components: reports },
      })
    model.settle()
    expect(broken(model)).toBe(1)
    return model
  }

  test.each([
    [1, 1],
    [3, 1],
    [4, 2],
    [12, '50%'],
  ] as const)('is mended by a commit for both: %d machines, maxUnavailable %s', (count, maxUnavailable) => {
    const model = withTwo(count, maxUnavailable)
    model.declare({ ...versions, relay: '1.1.0', scribe: '1.1.0' })
    model.settle()
    expect([model.set.status?.phase, model.versions('relay'), model.versions('scribe')]).toEqual([
      'Complete',
      { '1.1.0': count },
      { '1.1.0': count },
    ])
  })

  test('is mended by one commit after the other: what is still broken speaks against no other machine', () => {
    const model = withTwo(4, 2)
    model.declare({ ...versions, relay: '1.1.0' })
    model.settle()
    expect(model.set.status?.revisions?.blocked?.map((b) => b.component) ?? []).not.toContain('relay')
    expect(model.versions('relay')['1.1.0']).toBeGreaterThan(0)
    model.declare({ ...versions, relay: '1.1.0', scribe: '1.1.0' })
    model.settle()
    expect([model.set.status?.phase, model.versions('relay'), model.versions('scribe')]).toEqual([
      'Complete',
      { '1.1.0': 4 },
      { '1.1.0': 4 },
    ])
  })
})
