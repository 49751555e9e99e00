// What plans keep from one to the next saves work and decides nothing: each plan equals the one of a set that is seen for the first time.
import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import { without } from '#lib/without.ts'
import { BAD, GOOD, POOL, component, heard, readyNode, silenced } from '#test/support/fleets/rollout-fleet.ts'
import type { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { components, fleet, holdOn } from '#test/support/fleets/rollout-story.ts'
import { plan } from './plan.ts'

const MACHINES = 12
const SEEDS = 60
const ROUNDS = 60

const withPool = (machine: Machine, labels: Readonly<Record<string, string>>): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, labels },
})

const withStatus = (machine: Machine, status: object): Machine => ({
  ...machine,
  status: { ...machine.status, ...status },
})

/** Something that people, hosts or other sets do. */
function disturb(model: RolloutModel, random: Random): void {
  const names = [...model.machines.keys()]
  const name = names[random.below(names.length)] ?? ''
  const machine = model.machines.get(name)
  if (machine === undefined) return
  const put = (changed: Machine) => model.machines.set(name, changed)
  const versions = [...GOOD, ...GOOD, BAD]
  const version = () => versions[random.below(versions.length)] ?? ''
  switch (random.below(10)) {
    case 0:
      return model.declare({ beacon: version(), scribe: version() })
    case 1:
      return model.declare({ beacon: version() })
    case 2:
      return void put(withPool(machine, random.below(2) === 0 ? {} : POOL))
    case 3:
      model.machines.delete(name)
      return void (random.below(3) > 0 && put(machine))
    case 4:
      return void put(withStatus(machine, { conditions: [silenced] }))
    case 5:
      return void (model.holds = [...model.holds, holdOn(model, 'Pause', { target: { kind: 'Machine', name } })].slice(
        -3,
      ))
    case 6:
      model.holds = []
      return
    case 7:
      return void model.nodes.delete(name)
    case 8: {
      const reports = machine.status?.components?.map((c, n) => (n === 0 ? { ...c, state: 'Degraded' as const } : c))
      return void put(withStatus(machine, { components: reports }))
    }
    default:
      model.quality = (_, of) => (of === BAD ? 'probe fails' : 'good')
  }
}

function heal(model: RolloutModel): void {
  for (const [name, machine] of model.machines) {
    const components = machine.status?.components?.map((c) => (c.state === 'Degraded' ? { ...c, state: 'Healthy' } : c))
    model.machines.set(name, withStatus(withPool(machine, POOL), { components, conditions: [heard] }))
    if (!model.nodes.has(name)) model.nodes.set(name, readyNode(name))
  }
  model.holds = []
}

test('a plan that keeps what earlier ones found out equals one that keeps nothing', () => {
  let asked = 0
  for (let seed = 0; seed < SEEDS; seed++) {
    const random = seededRandom(seed)
    const bad = ['beacon', 'scribe'].map((c) => component(c, BAD))
    const model = fleet(MACHINES, {
      versions: { beacon: '1.0.0', scribe: '1.0.0' },
      components: [...components, ...bad],
    })
    model.onPlan = (made, seen) => {
      asked += made.actions.filter((a) => a.kind === 'RequestPermit').length
      expect(made, `seed ${seed}`).toEqual(plan(without(seen, 'memo'), model.now, model.rules))
    }
    for (let round = 0; round < ROUNDS; round++) {
      if (random.below(4) === 0) disturb(model, random)
      if (random.below(12) === 0) heal(model)
      model.round(15_000)
    }
  }
  // Otherwise hardly anything happened.
  expect(asked).toBeGreaterThan(5 * SEEDS)
})
