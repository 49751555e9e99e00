// What sync found when it read a source at a user's request. sync answers in the status, with the time of the request. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { newestCommitText } from '#api/protocol/commit-title.ts'
import { findCondition } from '#kube/conditions.ts'

export interface SourceAnswer {
  readonly line: string
  readonly isGood: boolean
}

/** Undefined: sync has not read it yet. `at`: the time of the request. */
export function sourceAnswer({ metadata, status = {} }: FleetSource, at: string): SourceAnswer | undefined {
  const word = `source/${metadata.name ?? ''}`
  const handled = status.lastHandledReconcileAt ?? ''
  // A later request counts too.
  if (handled === at || Date.parse(handled) > Date.parse(at)) return found(word, status)
  const paused = findCondition(status.conditions, 'Paused')
  if (paused?.status !== 'True') return undefined
  return { line: `${word} is paused: ${paused.message}; run kubenode resume ${word}`, isGood: false }
}

function found(word: string, status: NonNullable<FleetSource['status']>): SourceAnswer {
  const { conditions = [], renderErrors = [] } = status
  const bad = ['Fetched', 'SourceVerified', 'Rendered', 'Applied']
    .map((type) => findCondition(conditions, type))
    .find((c) => c?.status === 'False')
  if (bad === undefined) return { line: `${word}: at commit ${newestCommitText(status)}, up to date`, isGood: true }
  const message = (bad.type === 'Rendered' ? renderErrors[0] : undefined) ?? bad.message
  return { line: `${word}: ${message}`, isGood: false }
}
