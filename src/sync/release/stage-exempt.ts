// The stage as it applies to a revert that restores healthy content. Pure.
import type { Stage } from './gates.ts'
import type { ReleaseSeen } from './release-seen.ts'
import type { StageInput } from './stage-entry.ts'

/** The stage as it applies to a revert that restores healthy content, with the exemptions that its pipeline lists. */
export function withExemptions(input: StageInput): StageInput {
  const { stage, seen } = input
  const { windows, before = [], ...rest } = withoutApprovals(stage, seen)
  // Earlier readings would block the very change that fixes them.
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
