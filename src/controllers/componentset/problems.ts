// What keeps a declared revision from even one machine: unknown components, requirements that do not fit, versions too far from the API server's.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { requirementCircle } from '#api/requires.ts'
import { componentObjectName } from '#lib/names.ts'
import { parseVersion } from '#lib/semver.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import { isInRange } from './compatibility.ts'
import { unsupportedInspection } from './inspect.ts'
import type { Problem } from './problem.ts'
import type { Reading } from './reading.ts'
import type { WantedComponent } from './revisions.ts'
import type { Seen } from './seen.ts'

export function problemOf(
  seen: Seen,
  wanted: readonly WantedComponent[],
  members: readonly Reading[],
): Problem | undefined {
  const { set, components } = seen
  const unsupported = unsupportedInspection(set.spec.rollout, seen.canInspect)
  if (unsupported !== undefined) return unsupported
  const specs: MachineComponentSpec[] = []
  for (const { name, version } of wanted) {
    const component = components.get(componentObjectName(name, version))
    if (component === undefined)
      return {
        reason: 'ComponentMissing',
        message: `there is no MachineComponent ${name} ${version}; commit it or correct the version`,
      }
    if (component.spec.type === 'Script')
      return {
        reason: 'InvalidSpec',
        message: `${name} ${version} is of type Script, which only repairs run; take it out of the set`,
      }
    specs.push(component.spec)
  }
  if (seen.missingSecret !== undefined)
    return {
      reason: 'ReferenceMissing',
      message: `a secret value is not to be had for ${seen.missingSecret}`,
      unblock: 'the Secret has it, or the reference is corrected',
    }
  return circle(specs) ?? unmetRequirement(specs, () => offersOf(seen, members)) ?? skewOf(specs, seen.apiServer)
}

/** A requirement may also be met by what another set declares for machines of ours. */
function offersOf({ set, sets }: Seen, members: readonly Reading[]): readonly WantedComponent[] {
  return sets
    .filter((s) => s.metadata.name !== set.metadata.name && s.metadata.deletionTimestamp === undefined)
    .filter((s) => members.length === 0 || sharesMachines(s, members))
    .flatMap((s) => s.spec.components)
}

function sharesMachines({ spec }: MachineComponentSet, members: readonly Reading[]): boolean {
  const selector = selectorOf(spec.selector)
  return members.some((m) => matchesSelector(selector, m.machine.metadata.labels))
}

function unmetRequirement(
  specs: readonly MachineComponentSpec[],
  offers: () => readonly WantedComponent[],
): Problem | undefined {
  for (const { component, version, requires = [] } of specs)
    for (const need of requires) {
      const here = specs.find((s) => s.component === need.component)
      const offered = here === undefined ? offers().filter((c) => c.name === need.component) : [here]
      if (offered.some((c) => isInRange(c.version, need.range))) continue
      const seen =
        offered.length === 0
          ? 'no set declares it for these machines'
          : `declared is ${offered.map((c) => c.version).join(', ')}`
      return {
        reason: 'RequirementUnmet',
        message: `${component} ${version} needs ${need.component} ${need.range}, and ${seen}; declare a version in that range`,
      }
    }
  return undefined
}

function circle(specs: readonly MachineComponentSpec[]): Problem | undefined {
  const names = requirementCircle(specs)
  return (
    names && {
      reason: 'RequirementUnmet',
      message: `the components require each other in a circle: ${names.join(' → ')}; declare a version of one that requires none of the others`,
    }
  )
}

/** Minor versions only say how far things are apart within one major version. */
function skewOf(specs: readonly MachineComponentSpec[], apiServer: string | undefined): Problem | undefined {
  for (const { component, version, skew } of specs) {
    if (skew === undefined) continue
    const server = apiServer === undefined ? undefined : parseVersion(apiServer, { suffix: 'vendor' })
    if (server === undefined)
      return {
        reason: 'SafetyReadingUnknown',
        message: `how far ${component} ${version} is from the API server is not known: the server does not tell its version`,
        unblock: 'the server answers /version',
      }
    const own = parseVersion(version, { suffix: 'vendor' })
    const ahead = own && own.numbers[1] - server.numbers[1]
    if (own?.numbers[0] === server.numbers[0] && ahead !== undefined) {
      if (ahead <= skew.maxAheadOfApiServer && -ahead <= skew.maxBehindApiServer) continue
    }
    return {
      reason: 'SkewRefused',
      message: `${component} ${version} may be ${skew.maxAheadOfApiServer} minors newer and ${skew.maxBehindApiServer} older than the API server, which is ${apiServer}; declare a version in that range, or upgrade the control plane first`,
    }
  }
  return undefined
}
