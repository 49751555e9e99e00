// Findings that are one cause: by the commit that brought them, else by their cause; the worst first. Pure.
import { causeKey, worstFirst } from '../../cause-key.ts'
import type { AttentionRow } from '../../topics.ts'

export interface Cause {
  /** Stable while the cause lasts. */
  readonly id: string
  /** Says most about it. */
  readonly first: AttentionRow
  /** The others, each an object that the same cause reached. */
  readonly others: readonly AttentionRow[]
  /** The oldest of them. */
  readonly since?: number
  readonly clusters: readonly string[]
}

/** A release repeats what its set says; the set knows which component and which machine. */
const says = (row: AttentionRow): number =>
  (row.title === undefined ? 0 : 2) + (row.object.kind === 'Release' || row.stops !== undefined ? 1 : 0)

export function causesOf(rows: readonly AttentionRow[]): readonly Cause[] {
  const groups = [...Map.groupBy(rows.toSorted(worstFirst), causeKey).entries()]
  return groups.flatMap(([id, group]) => {
    const [first, ...others] = group.toSorted((a, b) => says(b) - says(a) || sinceOf(a) - sinceOf(b))
    if (first === undefined) return []
    const times = group.flatMap(({ since }) => since ?? [])
    const clusters = [...new Set([first, ...others].map(({ object }) => object.cluster))]
    return [{ id, first, others, clusters, ...(times.length > 0 && { since: Math.min(...times) }) }]
  })
}

const sinceOf = ({ since = 0 }: AttentionRow): number => since

/** One thing a person may do, as a command or a state to wait for. */
export interface Way {
  readonly text: string
  readonly isCommand: boolean
  /** What it is for; left out for the first. */
  readonly does?: string
}

/** `kubenode rollback base; to retry, kubenode rollout retry base` is two commands, of which a user wants one. */
const OTHER_WAY = /; to ([a-z ]+), (?:run )?(?=kubenode |git )/

export function waysOf({ text, isCommand }: { readonly text: string; readonly isCommand: boolean }): readonly Way[] {
  if (!isCommand) return [{ text, isCommand }]
  const [first = '', ...rest] = text.split(OTHER_WAY)
  return [
    { text: first, isCommand },
    ...rest.flatMap((does, i) => (i % 2 === 0 ? [{ text: rest[i + 1] ?? '', isCommand, does }] : [])),
  ]
}
