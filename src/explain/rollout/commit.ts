// The commit that a user must make, as far as it can be prepared here: what changes in which set, and its components afterwards. Pure.
import { stringify } from 'yaml'
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { type Component, type Revision, changesBetween } from './revisions.ts'
import { rolloutErrors } from './rollout-errors.ts'

export interface SetChange {
  readonly set: string
  readonly changes: readonly string[]
  readonly components: readonly Component[]
}

/** The change as text: for users, and as the part of the set that the commit must render. */
export function changeText({ set, changes, components }: SetChange): string {
  const spec = stringify({ spec: { components } }, { lineWidth: 0 })
  return [`# set/${set}`, ...changes.map((c) => `#   ${c}`), spec.trimEnd(), ''].join('\n')
}

export function rollbackChange(set: MachineComponentSet, to: Revision): SetChange {
  const changes = changesBetween(set.spec.components, to.components)
  return { set: set.metadata.name ?? '', changes, components: to.components }
}

/** The sets that the canary's machines get its components from, with the canary's versions. */
export function promotion(canary: ComponentCanary, sets: readonly MachineComponentSet[]): readonly SetChange[] {
  const { name = '' } = canary.metadata
  const { phase = 'Pending', promotedBy, waitingFor } = canary.status ?? {}
  if (phase === 'Promoted') throw new KubeNodeError(rolloutErrors.KN1373({ name, promotedBy: promotedBy ?? '' }))
  if (phase !== 'Passed')
    throw new KubeNodeError(
      rolloutErrors.KN1374({ name, phase, detail: waitingFor?.seen === undefined ? '' : ` (${waitingFor.seen})` }),
    )
  const changes = sets.flatMap((set) => changed(set, canary))
  if (changes.length > 0) return changes
  const names = canary.spec.components.map((c) => c.name).join(', ')
  throw new KubeNodeError(rolloutErrors.KN1375({ name, names }))
}

function changed(set: MachineComponentSet, { spec }: ComponentCanary): readonly SetChange[] {
  const components = set.spec.components.map((c) => {
    const tried = spec.components.find((t) => t.name === c.name)
    return tried === undefined ? c : { ...c, ...tried }
  })
  const changes = changesBetween(set.spec.components, components)
  return changes.length === 0 ? [] : [{ set: set.metadata.name ?? '', changes, components }]
}
