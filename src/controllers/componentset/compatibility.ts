// Whether a component may go to a version on a machine, by what runs there: what it needs, and what needs it. Asked for each mix of versions once.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { componentObjectName } from '#lib/names.ts'
import { parseRange, parseVersion } from '#lib/semver.ts'
import type { Target } from './revisions.ts'

export type SpecOf = (component: string, version: string | undefined) => MachineComponentSpec | undefined

export function isInRange(version: string, range: string): boolean {
  const parsed = parseVersion(version)
  return parsed !== undefined && parseRange(range)?.(parsed) === true
}

/** Answers why not. `runs` is what a Reading says: `name version` a line. */
export function compatibilityOf(goal: Target, specOf: SpecOf): (runs: string) => string | undefined {
  const known = new Map<string, string | undefined>()
  const needs = goal.version === '' ? [] : (specOf(goal.component, goal.version)?.requires ?? [])
  return (runs) => {
    if (known.has(runs)) return known.get(runs)
    const versions = new Map(runs.split('\n').map((line) => line.split(' ', 2) as [string, string]))
    const why = lacks(needs, versions) ?? breaks(goal, versions, specOf)
    known.set(runs, why)
    return why
  }
}

function lacks(
  needs: NonNullable<MachineComponentSpec['requires']>,
  versions: ReadonlyMap<string, string>,
): string | undefined {
  for (const { component, range } of needs) {
    const running = versions.get(component)
    if (running === undefined || !isInRange(running, range))
      return `it needs ${component} ${range}, and ${running ?? 'none'} runs`
  }
  return undefined
}

/** What is broken already is not made worse. */
function breaks(goal: Target, versions: ReadonlyMap<string, string>, specOf: SpecOf): string | undefined {
  const before = versions.get(goal.component)
  for (const [name, version] of versions) {
    if (name === goal.component) continue
    const need = specOf(name, version)?.requires?.find((r) => r.component === goal.component)
    if (need === undefined || before === undefined || !isInRange(before, need.range)) continue
    if (goal.version === '' || !isInRange(goal.version, need.range))
      return `${name} ${version}, which runs, needs ${goal.component} ${need.range}`
  }
  return undefined
}

/** Looks versions up by their object names. */
export const specsIn =
  (components: { readonly get: (name: string) => { readonly spec: MachineComponentSpec } | undefined }): SpecOf =>
  (component, version = '') =>
    version === '' ? undefined : components.get(componentObjectName(component, version))?.spec
