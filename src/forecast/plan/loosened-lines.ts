// What a commit loosens, with similar findings merged into one line, so that many of one kind do not push others out of a truncated list. Pure.
import type { Loosened } from '../loosened/loosened.ts'

export interface LoosenedLine {
  readonly objects: readonly string[]
  readonly clusters: readonly string[]
  readonly text: string
}

interface Finding {
  readonly cluster: string
  readonly object: string
  readonly text: string
}

/** Lists the first finding of every object before the second one of any. */
export function loosenedLines(loosened: readonly Loosened[]): readonly LoosenedLine[] {
  const findings = loosened
    .flatMap(({ cluster, object, what }) => what.map((text, nth) => ({ nth, cluster, object, text })))
    .toSorted((a, b) => a.nth - b.nth)
  const inCluster = grouped(findings, ({ cluster, text }) => [cluster, text])
  return grouped(
    inCluster.map((of) => ({ first: of[0], objects: distinct(of, 'object') })),
    ({ first, objects }) => [first.text, ...objects],
  ).map((of) => ({
    text: of[0].first.text,
    objects: of[0].objects,
    clusters: distinct(
      of.map(({ first }) => first),
      'cluster',
    ),
  }))
}

/** Objects missing from the list; each line names at most this many. */
export function unnamedIn(
  lines: readonly LoosenedLine[],
  { shown, named }: { readonly shown: number; readonly named: number },
): readonly string[] {
  const seen = new Set(lines.slice(0, shown).flatMap((l) => l.objects.slice(0, named)))
  return [...new Set(lines.flatMap((l) => l.objects))].filter((object) => !seen.has(object))
}

type NotEmpty<T> = readonly [T, ...(readonly T[])]

const grouped = <T>(all: readonly T[], keyOf: (one: T) => readonly string[]): readonly NotEmpty<T>[] =>
  [...Map.groupBy(all, (one) => JSON.stringify(keyOf(one))).values()].flatMap(([first, ...rest]) =>
    first === undefined ? [] : [[first, ...rest] as const],
  )

const distinct = (all: readonly Finding[], name: 'object' | 'cluster'): readonly string[] => [
  ...new Set(all.map((one) => one[name])),
]
