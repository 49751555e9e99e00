// Pure: one condition of the node from what its sources found. It is True while any source says so, else Unknown while any source cannot say,
// else False: a source that finds nothing never hides the problem of another one.
import { MAX_TYPES, type Now, type Problem, type Problems } from './problems.ts'

/** A condition as it is reported, with the source whose reason and message it has. */
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
  // Conditions that are reported already keep their place when there are too many.
  const types = [...byType.keys()].sort((a, b) => Number(before.has(b)) - Number(before.has(a)))
  const combined = types.slice(0, MAX_TYPES).flatMap((type): readonly (readonly [string, Combined])[] => {
    const reported = spokesman(byType.get(type) ?? [])
    return reported === undefined ? [] : [[type, { ...reported, since: sinceOf(before.get(type), reported, now) }]]
  })
  return new Map(combined)
}

/** The finding that the condition shows: of those that are true the first one, so that its reason stays; of those that are over the last one. */
function spokesman(found: readonly Combined[]): Combined | undefined {
  const oldest = (some: readonly Combined[]) => [...some].sort((a, b) => a.since - b.since || order(a, b))[0]
  const newest = (some: readonly Combined[]) => [...some].sort((a, b) => b.since - a.since || order(a, b))[0]
  return oldest(found.filter((f) => f.isTrue)) ?? oldest(found.filter((f) => f.isUnknown === true)) ?? newest(found)
}

const order = (a: Combined, b: Combined): number => (a.source < b.source ? -1 : 1)

/** A condition that stays true while its sources change is not a new one. */
function sinceOf(before: Combined | undefined, reported: Combined, now: Now): number {
  if (before === undefined) return reported.since
  const isSame = before.isTrue === reported.isTrue && (before.isUnknown ?? false) === (reported.isUnknown ?? false)
  return isSame ? before.since : now.wall
}
