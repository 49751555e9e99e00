// Whether a component may go to a version on a machine, given what runs there: its requirements, and those of others. Evaluated once per mix of versions.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import { componentObjectName } from '#lib/names.ts'
import { parseRange, parseVersion } from '#lib/semver.ts'

export type SpecOf = (component: string, version: string | undefined) => MachineComponentSpec | undefined

export function isInRange(version: string, range: string): boolean {
  const parsed = parseVersion(version)
  return parsed !== undefined && parseRange(range)?.(parsed) === true
}

type Needs = NonNullable<MachineComponentSpec['requires']>

/** What runs on a group of identical machines. */
interface Mix {
  readonly versions: ReadonlyMap<string, string>
  /** Those that have requirements. Most components have none. */
  readonly needy: readonly { readonly name: string; readonly version: string; readonly needs: Needs }[]
}

export type MixOf = (runs: string) => Mix

/** While components roll out side by side, each machine may run another mix. */
const MOST_MIXES = 10_000

/** `runs` lists every component that runs on a machine, one `name version` per line. The same on most machines. */
export function mixesOf(specOf: SpecOf): MixOf {
  const known = new Map<string, Mix>()
  // Asked once per component of a machine. The texts of two machines are equal, yet comparing them takes time.
  let last: { readonly runs: string; readonly mix: Mix } | undefined
  const mixOf = (runs: string): Mix => {
    const before = known.get(runs)
    if (before !== undefined) return before
    const lines = runs.split('\n').filter((line) => line !== '')
    const versions = new Map(lines.map((line) => line.split(' ', 2) as [string, string]))
    const needy = [...versions].flatMap(([name, version]) => {
      const needs = specOf(name, version)?.requires
      return needs === undefined || needs.length === 0 ? [] : [{ name, version, needs }]
    })
    const mix = { versions, needy }
    if (known.size >= MOST_MIXES) known.clear()
    known.set(runs, mix)
    return mix
  }
  return (runs) => {
    if (last?.runs !== runs) last = { runs, mix: mixOf(runs) }
    return last.mix
  }
}

/** Returns the reason if it may not. */
export function compatibilityOf(
  goal: ComponentTarget,
  specOf: SpecOf,
  mixOf: MixOf,
): (runs: string) => string | undefined {
  const needs = goal.version === undefined ? [] : (specOf(goal.name, goal.version)?.requires ?? [])
  return (runs) => {
    const mix = mixOf(runs)
    return lacks(needs, mix) ?? breaks(goal, mix)
  }
}

function lacks(needs: Needs, { versions }: Mix): string | undefined {
  for (const { component, range } of needs) {
    const running = versions.get(component)
    if (running === undefined || !isInRange(running, range))
      return `requires ${component} ${range}, running: ${running ?? 'none'}`
  }
  return undefined
}

/** An already broken requirement is not made worse. */
function breaks(goal: ComponentTarget, { versions, needy }: Mix): string | undefined {
  const before = versions.get(goal.name)
  for (const { name, version, needs } of needy) {
    const need = name === goal.name ? undefined : needs.find((r) => r.component === goal.name)
    if (need === undefined || before === undefined || !isInRange(before, need.range)) continue
    if (goal.version === undefined || !isInRange(goal.version, need.range))
      return `${name} ${version}, which is running, requires ${goal.name} ${need.range}`
  }
  return undefined
}

/** Looks versions up by their object names. */
export const specsIn =
  (components: { readonly get: (name: string) => { readonly spec: MachineComponentSpec } | undefined }): SpecOf =>
  (component, version = '') =>
    version === '' ? undefined : components.get(componentObjectName(component, version))?.spec
