// What a cluster with a new repository still waits for, until it matches one commit. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { newestCommitText } from '#api/protocol/commit-title.ts'

export type SourceProgress = { readonly kind: 'Applied' } | { readonly kind: 'Waiting'; readonly why: string }

/** Whether everything matches the commit: the hub, and all other clusters if the fleet has any. */
export function sourceProgress(source: FleetSource | undefined, commit: string): SourceProgress {
  if (source === undefined) return waiting('the FleetSource is not readable yet')
  const { commit: seen, conditions = [], tracks = [] } = source.status ?? {}
  const bad = conditions.find((c) => ['Fetched', 'Rendered', 'Applied'].includes(c.type) && c.status === 'False')
  if (bad !== undefined) return waiting(`${bad.reason}: ${bad.message}`)
  if (seen === undefined) return waiting('sync has not fetched it yet')
  if (seen !== commit) return waiting(`sync is at commit ${newestCommitText(source.status ?? {})}`)
  const applied = conditions.find((c) => c.type === 'Applied')
  if (applied?.status !== 'True') return waiting('sync has not applied it yet')
  const behind = tracks.find((t) => t.release !== undefined && t.appliedCommit !== commit)
  return behind === undefined ? { kind: 'Applied' } : waiting(`release ${behind.release ?? ''} is rolling out`)
}

const waiting = (why: string): SourceProgress => ({ kind: 'Waiting', why })
