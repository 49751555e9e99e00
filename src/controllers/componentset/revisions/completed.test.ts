// What a set remembers of its completed ladders.
import { describe, expect, test } from 'vitest'
import { healthyBefore } from '#api/protocol/healthy-before.ts'
import { definitionDigest } from '#api/trust/statement.ts'
import { component } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'

const known = (model: RolloutModel, name = 'beacon') => healthyBefore(model.revisions, name).map((e) => e.version)

describe('a set remembers', () => {
  test('the version that it has at rest, with the digest of its definition', () => {
    const model = fleet(3)
    expect(healthyBefore(model.revisions, 'beacon')).toMatchObject([
      { version: '1.0.0', digest: definitionDigest(component('beacon', '1.0.0')) },
    ])
  })

  test('every version whose ladder was completed, and none whose ladder was not', () => {
    const model = fleet(12)
    model.declare({ beacon: '1.1.0' })
    model.settle()
    expect(known(model)).toEqual(['1.1.0', '1.0.0'])
    model.declare({ beacon: '2.0.0' })
    until(model, () => (model.versions('beacon')['2.0.0'] ?? 0) > 3)
    expect(known(model)).toEqual(['1.1.0', '1.0.0'])
    model.settle()
    expect(known(model)).toEqual(['2.0.0', '1.1.0', '1.0.0'])
  })

  test('no version that failed', () => {
    const model = fleet(12, { quality: (_, v) => (v === '1.2.0' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.2.0' })
    model.settle()
    expect(known(model)).toEqual(['1.0.0'])
  })

  test('each component by itself, also while another one still climbs', () => {
    const versions = { beacon: '1.0.0', scribe: '1.0.0' }
    const model = fleet(12, { versions, quality: (c, v) => (c === 'scribe' && v === '1.2.0' ? 'probe fails' : 'good') })
    model.declare({ beacon: '1.1.0', scribe: '1.2.0' })
    model.settle()
    expect([known(model), known(model, 'scribe')]).toEqual([['1.1.0', '1.0.0'], ['1.0.0']])
  })

  test('what it had when it completed before anything was kept', () => {
    const model = fleet(12)
    model.revisions = model.revisions.map((r) => ({ ...r, metadata: { ...r.metadata, annotations: {} } }))
    model.declare({ beacon: '1.1.0' })
    model.planTurn()
    model.planTurn()
    expect(known(model)).toEqual(['1.0.0'])
  })

  test('as long as the revision is kept, and writes it once', () => {
    const model = fleet(3)
    let writes = 0
    model.onPlan = ({ actions }) => void (writes += actions.filter((a) => a.kind === 'KeepCompleted').length)
    for (let n = 0; n < 5; n++) model.round()
    expect(writes).toBe(0)
  })

  test('is Complete while a canary switches a machine of it: that is not its own work', () => {
    const model = fleet(5)
    const [name = ''] = [...model.machines.keys()]
    const m = model.machines.get(name)
    if (m === undefined) throw new Error('no machine')
    const [told] = m.spec.components ?? []
    const order = {
      name: 'beacon',
      version: '1.1.0',
      attempt: 2,
      canaryRef: 'try',
      setRef: 'base',
      switch: { attempt: 2, permit: 'p' },
    }
    model.machines.set(name, { ...m, spec: { ...m.spec, components: [{ ...told, ...order }] } })
    model.planTurn()
    expect(model.set.status?.phase).toBe('Complete')
  })
})
