// Building blocks for stories of rollouts: a fleet at rest, holds, and time that passes until a condition is true. Every status on the way is checked against
// its schema.
import { expect } from 'vitest'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { createValidator } from '#api/validate.ts'
import { GOOD, type HoldWish, component, componentSet, holdOf, workingMachine } from './rollout-fleet.ts'
import { type ModelOptions, RolloutModel } from './rollout-model.ts'

export const components = ['beacon', 'scribe'].flatMap((c) => [...GOOD, '2.0.0'].map((v) => component(c, v)))

const validator = createValidator()
/** A server rejects a status that violates its schema, and the rollout would stop. */
const problemsOf = (set: object) => validator.problems(machineComponentSet, JSON.parse(JSON.stringify(set)))

export interface Story extends Partial<ModelOptions> {
  readonly versions?: Readonly<Record<string, string>>
}

/** So many machines in three zones, all at 1.0.0 and at rest. */
export function fleet(count: number, { versions = { beacon: '1.0.0' }, ...more }: Story = {}): RolloutModel {
  const machines = Array.from({ length: count }, (_, i) =>
    workingMachine(`m-${String(i).padStart(4, '0')}`, { versions, zone: `z-${i % 3}` }),
  )
  const model = new RolloutModel({ machines, set: componentSet(versions), components, ...more })
  let checked = ''
  model.onPlan = ({ status }, { set }) => {
    const { spec } = set
    const text = JSON.stringify({ spec, status })
    // Most rounds change nothing.
    if (text !== checked) expect(problemsOf({ ...set, status })).toEqual([])
    checked = text
  }
  model.settle()
  return model
}

export const holdOn = (model: RolloutModel, effect: HoldEffect, more: HoldWish = {}): OperationalHold =>
  holdOf(effect, model.now, more)

const MOST_ROUNDS = 500

/** Rounds of a second until it is so. */
export function until(model: RolloutModel, isSo: () => boolean): void {
  for (let n = 0; n < MOST_ROUNDS; n++) {
    if (isSo()) return
    model.round()
  }
  throw new Error(`it never came to that: ${JSON.stringify(model.set.status?.waitingFor)}`)
}

export const phases = (model: RolloutModel): readonly string[] => (model.set.status?.slices ?? []).map((w) => w.phase)
