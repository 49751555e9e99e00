// A stage as it is for a revert that brings back what was healthy. Pure.
import type { Stage } from './gates.ts'
import type { ReleaseSeen } from './release-seen.ts'
import type { StageInput } from './stage-entry.ts'

/** As the stage is for a revert that brings back what was healthy, where its pipeline exempts it from something by name. */
export function withExemptions(input: StageInput): StageInput {
  const { stage, seen } = input
  const { windows, before = [], ...rest } = withoutApprovals(stage, seen)
  // Readings before it would hold the very change that mends them.
  const kept = { ...rest, before: before.filter((gate) => gate.approval !== undefined) }
  return {
    ...input,
    stage: windows === undefined || seen.exempt?.has('Windows') === true ? kept : { ...kept, windows },
  }
}

export function withoutApprovals(stage: Stage, { exempt }: ReleaseSeen): Stage {
  if (exempt?.has('Approvals') !== true) return stage
  const { before = [], gates = [], after = [] } = stage
  const others = (all: typeof gates) => all.filter((gate) => gate.approval === undefined)
  return {
    ...stage,
    before: before.filter((gate) => gate.approval === undefined),
    gates: others(gates),
    after: others(after),
  }
}
