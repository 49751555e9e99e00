// Problems of a declared revision that rule out every machine: unknown components, unmet requirements, versions too far from the API server's.
import type { RevisedComponent } from '#api/protocol/set-revision.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { matchesSelector } from '#kube/selector.ts'
import { isInRange } from '#nodes/placement/compatibility.ts'
import { platformCheck } from '#nodes/placement/node-needs.ts'
import { circleProblem, skewProblem, specsNamed } from '#nodes/placement/component-problems.ts'
import type { Problem } from '#nodes/placement/problem.ts'
import { readSelector } from '#nodes/placement/selecting.ts'
import { unsupportedInspection } from '../inspection/inspect.ts'
import type { Reading } from '../members/reading.ts'
import type { Seen } from '../seen.ts'

/** With a shorter deadline, an attempt fails just for lack of time. */
const LEAST_DEADLINE_MS = 10_000

export function problemOf(
  seen: Seen,
  wanted: readonly RevisedComponent[],
  members: readonly Reading[],
): Problem | undefined {
  const { set, components } = seen
  const read = readSelector(set.spec.selector)
  if (read.kind === 'Unreadable') return { reason: 'InvalidSpec', message: read.why }
  const deadline = parseDuration(set.spec.rollout.progressDeadline)
  if (deadline < LEAST_DEADLINE_MS)
    return {
      reason: 'InvalidSpec',
      message: `spec.rollout.progressDeadline ${set.spec.rollout.progressDeadline} is too short for a machine to switch (minimum ${formatDuration(LEAST_DEADLINE_MS)})`,
    }
  const unsupported = unsupportedInspection(set.spec.rollout, seen.canInspect)
  if (unsupported !== undefined) return unsupported
  const found = specsNamed(wanted, components)
  if (found.kind === 'Problem') return found.problem
  const { specs } = found
  if (seen.missingSecret !== undefined)
    return {
      reason: 'ReferenceMissing',
      message: `a secret value is missing for ${seen.missingSecret}`,
      unblock: 'a person puts the value into the Secret, or a commit corrects the reference',
    }
  return (
    circleProblem(specs) ??
    unmetRequirement(specs, () => offersOf(seen, members)) ??
    skewProblem(specs, seen.apiServer) ??
    unfitEverywhere(specs, members)
  )
}

/** One machine that fits is enough: the others are skipped, each with its reason. */
function unfitEverywhere(specs: readonly MachineComponentSpec[], members: readonly Reading[]): Problem | undefined {
  if (members.length === 0) return undefined
  for (const spec of specs) {
    const check = platformCheck(spec)
    let first: string | undefined
    const isUnfit = members.every(({ name, machine }) => {
      const why = check(machine.status?.platform ?? {})
      first ??= why && `${name}: ${spec.component} ${spec.version} ${why}`
      return why !== undefined
    })
    if (isUnfit)
      return {
        reason: 'RequirementUnmet',
        message: `no machine of the set can run a declared version (first: ${first}); declare a version that fits them`,
      }
  }
  return undefined
}

/** Another set that covers the same machines may declare the required component. */
function offersOf({ set, sets }: Seen, members: readonly Reading[]): readonly RevisedComponent[] {
  return sets
    .filter((s) => s.metadata.name !== set.metadata.name && s.metadata.deletionTimestamp === undefined)
    .filter((s) => members.length === 0 || sharesMachines(s, members))
    .flatMap((s) => s.spec.components)
}

function sharesMachines({ spec }: MachineComponentSet, members: readonly Reading[]): boolean {
  const read = readSelector(spec.selector)
  if (read.kind === 'Unreadable') return false
  return members.some((m) => matchesSelector(read.selector, m.machine.metadata.labels))
}

function unmetRequirement(
  specs: readonly MachineComponentSpec[],
  offers: () => readonly RevisedComponent[],
): Problem | undefined {
  for (const { component, version, requires = [] } of specs)
    for (const need of requires) {
      const here = specs.find((s) => s.component === need.component)
      const offered = here === undefined ? offers().filter((c) => c.name === need.component) : [here]
      if (offered.some((c) => isInRange(c.version, need.range))) continue
      const seen =
        offered.length === 0
          ? 'no set declares it for these machines'
          : `${offered.map((c) => c.version).join(', ')} is declared`
      return {
        reason: 'RequirementUnmet',
        message: `${component} ${version} needs ${need.component} ${need.range}, and ${seen}; declare a version in that range`,
      }
    }
  return undefined
}
