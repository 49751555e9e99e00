// Checks the component versions of a list together: their requirements, and cycles, in which no component could be installed first.
import { parseRange, parseVersion } from '#lib/semver.ts'
import type { MachineComponentInput } from './kinds/machine-component.ts'
import { PROBLEM_CODES, pointerTo, type Problem } from './problem.ts'

type Spec = MachineComponentInput['spec']

/** Problems of a list for one machine; pointers start with the list index. */
export function requirementProblems(specs: readonly Spec[]): readonly Problem[] {
  const byName = new Map(specs.map((s) => [s.component, s]))
  return [...specs.flatMap((s, i) => unmet(s, i, byName)), ...circleProblems(specs, byName)]
}

function unmet(spec: Spec, i: number, byName: ReadonlyMap<string, Spec>): readonly Problem[] {
  return (spec.requires ?? []).flatMap(({ component, range }, k) => {
    const pointer = pointerTo('', i, 'spec', 'requires', k)
    const other = byName.get(component)
    if (other === undefined)
      return [{ code: PROBLEM_CODES.rule, pointer, message: `needs ${component} ${range}, which is not in the list` }]
    const version = parseVersion(other.version)
    if (version !== undefined && parseRange(range)?.(version) === true) return []
    return [
      {
        code: PROBLEM_CODES.rule,
        pointer,
        seen: other.version,
        message: `needs a different version of ${component}`,
        allowed: range,
      },
    ]
  })
}

function circleProblems(specs: readonly Spec[], byName: ReadonlyMap<string, Spec>): readonly Problem[] {
  const circle = firstCircle(specs, byName)
  if (circle === undefined) return []
  const at = specs.findIndex((s) => s.component === circle[0])
  return [
    {
      code: PROBLEM_CODES.rule,
      pointer: pointerTo('', at, 'spec', 'requires'),
      message: `is circular: ${circle.join(' → ')}`,
    },
  ]
}

/** Depth first; reaching a name on the current path closes a cycle. */
function firstCircle(specs: readonly Spec[], byName: ReadonlyMap<string, Spec>): readonly string[] | undefined {
  const done = new Set<string>()
  const visit = (name: string, way: readonly string[]): readonly string[] | undefined => {
    const start = way.indexOf(name)
    if (start !== -1) return [...way.slice(start), name]
    if (done.has(name)) return undefined
    for (const { component } of byName.get(name)?.requires ?? []) {
      const circle = visit(component, [...way, name])
      if (circle !== undefined) return circle
    }
    done.add(name)
    return undefined
  }
  for (const { component } of specs) {
    const circle = visit(component, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

/** Components that require each other in a cycle, with the first one repeated at the end. Whatever else is declared, they can never be installed together. */
export const requirementCircle = (specs: readonly Spec[]): readonly string[] | undefined =>
  firstCircle(specs, new Map(specs.map((s) => [s.component, s])))

/** The install order: requirements first. Undefined for a cycle. */
export function installOrder(specs: readonly Spec[]): readonly string[] | undefined {
  const byName = new Map(specs.map((s) => [s.component, s]))
  if (firstCircle(specs, byName) !== undefined) return undefined
  const order = new Set<string>()
  const place = ({ component, requires = [] }: Spec): void => {
    for (const r of requires) {
      const other = byName.get(r.component)
      if (other !== undefined && !order.has(r.component)) place(other)
    }
    order.add(component)
  }
  specs.forEach(place)
  return [...order]
}
