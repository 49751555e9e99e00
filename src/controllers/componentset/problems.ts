// What keeps a declared revision from even one machine: unknown components, requirements that do not fit, inspections that nobody can do yet.
import type { Reason } from '#api/catalogue.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { installOrder } from '#api/requires.ts'
import { componentObjectName } from '#lib/names.ts'
import { parseRange, parseVersion } from '#lib/semver.ts'
import { unsupportedInspection } from './inspect.ts'
import type { WantedComponent } from './revisions.ts'
import type { Seen } from './seen.ts'

export interface Problem {
  readonly reason: Reason
  readonly message: string
}

export function problemOf({ set, sets, components }: Seen, wanted: readonly WantedComponent[]): Problem | undefined {
  const unsupported = unsupportedInspection(set.spec.rollout)
  if (unsupported !== undefined)
    return {
      reason: 'UnsupportedField',
      message: `inspection ${unsupported.name} is of a kind that cannot be done yet; use nodeReady, componentsHealthy or conditionAbsent`,
    }
  const specs: MachineComponentSpec[] = []
  for (const { name, version } of wanted) {
    const component = components.get(componentObjectName(name, version))
    if (component === undefined)
      return {
        reason: 'ComponentMissing',
        message: `there is no MachineComponent ${name} ${version}; commit it or correct the version`,
      }
    specs.push(component.spec)
  }
  return unmetRequirement(set, specs, sets) ?? circle(specs)
}

/** A requirement may also be met by what another set declares. */
function unmetRequirement(
  set: MachineComponentSet,
  specs: readonly MachineComponentSpec[],
  sets: readonly MachineComponentSet[],
): Problem | undefined {
  const others = sets.filter((s) => s.metadata.name !== set.metadata.name).flatMap((s) => s.spec.components)
  for (const { component, version, requires = [] } of specs)
    for (const need of requires) {
      const here = specs.find((s) => s.component === need.component)
      const offered = here === undefined ? others.filter((c) => c.name === need.component) : [here]
      if (offered.some((c) => isInRange(c.version, need.range))) continue
      const seen =
        offered.length === 0 ? 'no set declares it' : `declared is ${offered.map((c) => c.version).join(', ')}`
      return {
        reason: 'RequirementUnmet',
        message: `${component} ${version} needs ${need.component} ${need.range}, and ${seen}; declare a version in that range`,
      }
    }
  return undefined
}

const circle = (specs: readonly MachineComponentSpec[]): Problem | undefined =>
  installOrder(specs) === undefined
    ? {
        reason: 'RequirementUnmet',
        message: 'the components require each other in a circle; break it in their requires',
      }
    : undefined

export function isInRange(version: string, range: string): boolean {
  const parsed = parseVersion(version)
  return parsed !== undefined && parseRange(range)?.(parsed) === true
}
