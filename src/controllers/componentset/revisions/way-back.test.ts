// Going back to a version that was healthy on this set, and what does not count as going back.
import { describe, expect, test } from 'vitest'
import { healthyBefore } from '#api/protocol/healthy-before.ts'
import { definitionDigest } from '#api/trust/statement.ts'
import { component } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

const HOUR = 3_600_000

/** Permits requested since then, in order, as `recovery of 5` or `rollout of 1`. */
function asked(model: RolloutModel, does: () => void): readonly string[] {
  const before = new Set(model.permits.values().map((p) => p.metadata.uid))
  does()
  return [...model.permits.values()]
    .filter((p) => !before.has(p.metadata.uid))
    .map(
      ({ spec }) => `${spec.recovery ? 'recovery' : 'rollout'} of ${spec.targets.length} to ${spec.component?.version}`,
    )
}

const goesTo = (model: RolloutModel, version: string): readonly string[] =>
  asked(model, () => {
    model.declare({ beacon: version })
    model.settle()
  })

/** All machines have 1.1.0, and had 1.0.0 before. */
function upgraded(count = 20): RolloutModel {
  const model = fleet(count)
  model.declare({ beacon: '1.1.0' }, { maxUnavailable: '100%' })
  model.settle()
  model.now += 2 * HOUR
  return model
}

const LADDER_TO = (version: string) => [1, 5, 10, 4].map((n) => `rollout of ${n} to ${version}`)

describe('a set whose commit is reverted', () => {
  test('goes back without a ladder after the new version was completed everywhere', () => {
    const model = upgraded()
    expect(goesTo(model, '1.0.0')).toEqual(['recovery of 20 to 1.0.0'])
    expect(model.versions('beacon')).toEqual({ '1.0.0': 20 })
    expect(model.set.status?.phase).toBe('Complete')
  })

  test('goes back without a ladder past a version in between', () => {
    const model = upgraded()
    model.declare({ beacon: '1.2.0' })
    model.settle()
    model.now += 2 * HOUR
    expect(goesTo(model, '1.0.0')).toEqual(['recovery of 20 to 1.0.0'])
  })

  test('goes back with one component while another one stays what it is', () => {
    const versions = { beacon: '1.0.0', scribe: '1.0.0' }
    const model = fleet(20, { versions })
    model.declare({ beacon: '1.1.0', scribe: '1.0.0' }, { maxUnavailable: '100%' })
    model.settle()
    model.declare({ beacon: '1.1.0', scribe: '1.1.0' })
    model.settle()
    model.now += 2 * HOUR
    const back = asked(model, () => {
      model.declare({ beacon: '1.0.0', scribe: '1.1.0' })
      model.settle()
    })
    expect(back).toEqual(['recovery of 20 to 1.0.0'])
  })

  test('climbs the ladder to a definition of the same name with other content', () => {
    const model = upgraded()
    const other = component('beacon', '1.0.0', { disruption: 'Drain' })
    model.components.set(other.metadata.name ?? '', other)
    expect(goesTo(model, '1.0.0')).toEqual(LADDER_TO('1.0.0'))
  })

  test('climbs the ladder to a version that was never completed here', () => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' }, { maxUnavailable: '100%', steps: [1, 5, 10, 50] })
    until(model, () => model.versions('beacon')['1.1.0'] === 1)
    model.declare({ beacon: '1.2.0' })
    model.settle()
    model.now += 2 * HOUR
    // The model's agents report nothing about earlier healthy versions.
    expect(goesTo(model, '1.1.0')).toEqual(LADDER_TO('1.1.0'))
  })

  test('brings machines back in one step that had the version before, and the others by the ladder', () => {
    const model = fleet(20)
    model.declare({ beacon: '1.1.0' }, { maxUnavailable: '100%' })
    until(model, () => model.versions('beacon')['1.1.0'] === 6)
    const entry = { version: '1.1.0', digest: definitionDigest(component('beacon', '1.1.0')) }
    for (const [name, m] of model.machines) {
      const reports = m.status?.components ?? []
      const recorded = reports.map((r) => (r.version === '1.1.0' ? { ...r, healthyBefore: [entry] } : r))
      model.machines.set(name, { ...m, status: { ...m.status, components: recorded } })
    }
    model.declare({ beacon: '1.2.0' })
    model.settle()
    expect(goesTo(model, '1.1.0')).toEqual(['recovery of 6 to 1.1.0', 'rollout of 5 to 1.1.0', 'rollout of 9 to 1.1.0'])
    expect(model.versions('beacon')).toEqual({ '1.1.0': 20 })
  })
})

test('a way back on which machines fail stops like a way forward, and says so', () => {
  const model = upgraded()
  model.quality = (_, v) => (v === '1.0.0' ? 'probe fails' : 'good')
  model.declare({ beacon: '1.0.0' }, { maxUnavailable: 4 })
  model.settle()
  expect(model.set.status).toMatchObject({
    phase: 'Blocked',
    revisions: { blocked: [{ component: 'beacon' }] },
    waitingFor: { predicate: 'RevisionFailed' },
  })
  expect(model.versions('beacon')).toEqual({ '1.1.0': 20 })
  expect([...model.permits.values()].filter((p) => p.spec.recovery)).toHaveLength(1)
})

describe('no way back is', () => {
  test('going forward again to what was fled from, also much later', () => {
    const model = upgraded()
    goesTo(model, '1.0.0')
    model.now += 24 * HOUR
    expect(goesTo(model, '1.1.0')).toEqual(LADDER_TO('1.1.0'))
  })

  test('the second one within an hour', () => {
    const model = upgraded()
    goesTo(model, '1.0.0')
    model.declare({ beacon: '1.1.0' })
    until(model, () => (model.versions('beacon')['1.1.0'] ?? 0) === 6)
    const back = goesTo(model, '1.0.0')
    expect(back.filter((b) => b.startsWith('recovery'))).toEqual([])
    expect(back[0]).toBe('rollout of 1 to 1.0.0')
  })

  test('but one is the next after an hour', () => {
    const model = upgraded()
    goesTo(model, '1.0.0')
    model.now += HOUR
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(goesTo(model, '1.0.0')).toEqual(['recovery of 20 to 1.0.0'])
  })

  test('and is known after a status was lost', () => {
    const model = upgraded()
    const { status: _, ...set } = model.set
    model.set = set
    expect(goesTo(model, '1.0.0')).toEqual(['recovery of 20 to 1.0.0'])
  })
})

test('commits that flip get one way back an hour', () => {
  const model = upgraded()
  const made = asked(model, () => {
    for (let n = 0; n < 40; n++) {
      model.declare({ beacon: n % 2 === 0 ? '1.0.0' : '1.1.0' })
      for (let i = 0; i < 5; i++) model.round()
    }
    model.declare({ beacon: '1.0.0' })
    model.settle()
  })
  expect(made.filter((m) => m.startsWith('recovery'))).toEqual(['recovery of 20 to 1.0.0'])
  expect(healthyBefore(model.revisions, 'beacon').map((e) => e.version)).toEqual(['1.0.0'])
})
