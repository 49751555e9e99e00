// Checks that the components of a canary fit together, with the API server, and with what runs on a machine. A set makes the same checks, before any
// machine is marked. Pure.
import type { DeclaredComponent } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { circleProblem, skewProblem, specsNamed } from '#nodes/placement/component-problems.ts'
import { compatibilityOf, mixesOf, specsIn } from '#nodes/placement/compatibility.ts'
import { platformRefusal } from '#nodes/placement/node-needs.ts'
import type { Problem } from '#nodes/placement/problem.ts'
import { readSelector } from '#nodes/placement/selecting.ts'
import type { Seen } from '../seen.ts'

/** A problem that blocks the canary on every machine. */
export function problemOf({ canary, components, apiServer, missingSecret }: Seen): Problem | undefined {
  const selector = readSelector(canary.spec.selector)
  if (selector.kind === 'Unreadable') return { reason: 'InvalidSpec', message: selector.why }
  const found = specsNamed(canary.spec.components, components)
  if (found.kind === 'Problem') return found.problem
  if (missingSecret !== undefined)
    return {
      reason: 'ReferenceMissing',
      message: `a secret value is missing for ${missingSecret}`,
      unblock: 'a person puts the value into the Secret, or a commit corrects the reference',
    }
  return circleProblem(found.specs) ?? skewProblem(found.specs, apiServer)
}

type Why = string | undefined

export interface Fit {
  /** Why a component cannot go to a machine right now. */
  readonly now: (machine: Machine, wanted: DeclaredComponent) => Why
  /** Why the machine cannot take all components, in any order. */
  readonly everAll: (machine: Machine) => Why
}

/** Combinations that repeat across machines are checked once. */
export function fitOf({ canary, components }: Pick<Seen, 'canary' | 'components'>): Fit {
  const wanted = canary.spec.components
  const specOf = specsIn(components)
  const mixOf = mixesOf(specOf)
  const checks = new Map(
    wanted.map((w) => [w.name, compatibilityOf({ name: w.name, version: w.version }, specOf, mixOf)]),
  )
  const unfit = ({ status }: Machine, { name, version }: DeclaredComponent): Why => {
    const spec = specOf(name, version)
    return spec && platformRefusal(spec, status?.platform)
  }
  const now = (machine: Machine, w: DeclaredComponent): Why =>
    unfit(machine, w) ?? checks.get(w.name)?.(runsOn(machine))
  return {
    now,
    everAll: (machine) => {
      // Check each with all the others in place: components of one canary must not block each other.
      for (const w of wanted) {
        const others = wanted.filter((other) => other !== w)
        const why = unfit(machine, w) ?? checks.get(w.name)?.(runsWith(machine, others))
        if (why !== undefined) return `${machine.metadata.name}: ${w.name} ${w.version}: ${why}`
      }
      return undefined
    },
  }
}

const runsOn = (machine: Machine): string => runsWith(machine, [])

/** One line per component, sorted by name. */
function runsWith({ status }: Machine, wanted: readonly DeclaredComponent[]): string {
  const versions = new Map((status?.components ?? []).map((c) => [c.name, c.version]))
  for (const { name, version } of wanted) versions.set(name, version)
  return [...versions]
    .flatMap(([name, version]) => (version === undefined ? [] : [`${name} ${version}\n`]))
    .toSorted()
    .join('')
}
