// Pure: combines the findings of all sources into one condition of the node. It is True while any source reports True, else Unknown while any source
// reports Unknown, else False: a source that finds nothing never hides another one's problem. What one source found holds although another one cannot tell; the
// message says that it cannot.
import { withUnclear, withUnnamed } from '#nodes/named-devices.ts'
import { MAX_TYPES, type Now, type Problem, type Problems } from './problems.ts'

/** A condition as reported, with the source of its reason and message. */
export interface Combined extends Problem {
  readonly source: string
}

/** What each source found, by source. */
export type Findings = ReadonlyMap<string, Problems>

export function combine(before: ReadonlyMap<string, Combined>, findings: Findings, now: Now) {
  const byType = new Map<string, Combined[]>()
  for (const [source, problems] of findings)
    for (const problem of problems.values())
      byType.set(problem.type, [...(byType.get(problem.type) ?? []), { ...problem, source }])
  // Conditions that are already reported keep their place when there are too many.
  const types = [...byType.keys()].sort((a, b) => Number(before.has(b)) - Number(before.has(a)))
  const combined = types.slice(0, MAX_TYPES).flatMap((type): readonly (readonly [string, Combined])[] => {
    const found = byType.get(type) ?? []
    const reported = spokesman(found)
    if (reported === undefined) return []
    const others = reported.isTrue ? found.filter((f) => f.isTrue).map((f) => f.message) : []
    const unclear = reported.isTrue ? found.filter((f) => f.isUnknown === true).map((f) => f.source) : []
    const message = withUnclear(withUnnamed(type, reported.message, others), unclear)
    return [[type, { ...reported, message, since: sinceOf(before.get(type), reported, now) }]]
  })
  return new Map(combined)
}

/** The finding that the condition shows: the oldest true one, so that the reason stays stable. Else the oldest unknown one, else the newest. */
function spokesman(found: readonly Combined[]): Combined | undefined {
  const oldest = (some: readonly Combined[]) => [...some].sort((a, b) => a.since - b.since || order(a, b))[0]
  const newest = (some: readonly Combined[]) => [...some].sort((a, b) => b.since - a.since || order(a, b))[0]
  return oldest(found.filter((f) => f.isTrue)) ?? oldest(found.filter((f) => f.isUnknown === true)) ?? newest(found)
}

const order = (a: Combined, b: Combined): number => (a.source < b.source ? -1 : 1)

/** A condition that stays true while its sources change is not new. */
function sinceOf(before: Combined | undefined, reported: Combined, now: Now): number {
  if (before === undefined) return reported.since
  const isSame = before.isTrue === reported.isTrue && (before.isUnknown ?? false) === (reported.isUnknown ?? false)
  return isSame ? before.since : now.wall
}
