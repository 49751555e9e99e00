// Conditions of one source alone, without a board: what a monitor finds.
import type { ConditionStore } from '#agent/detect/npd/monitor-port.ts'
import { withFinding, withSighting, type Problem, type Problems } from '#agent/detect/problems.ts'

export function oneSource(): ConditionStore & { readonly all: () => readonly Problem[] } {
  let problems: Problems = new Map()
  const now = { wall: 0, mono: 0 }
  const source = 'one'
  return {
    source,
    all: () => [...problems.values()],
    problem: (type) => problems.get(type),
    reported: (type) => {
      const found = problems.get(type)
      return found && { ...found, source }
    },
    find: (type, finding) => {
      problems = withFinding(problems, type, finding, now)
    },
    see: (type) => {
      problems = withSighting(problems, type, now)
    },
  }
}
