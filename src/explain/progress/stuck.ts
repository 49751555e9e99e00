// Whether a fleet that does not match git yet can get there without a user: not if the commit is refused or does not render, or its release stopped. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { commitText, newestCommitText } from '#api/protocol/commit-title.ts'
import { findCondition } from '#kube/conditions.ts'
import { refusalOf, wayOfRefusal } from '../attention/source-findings.ts'
import { actionOf } from '../finding.ts'
import { withoutPush } from '../unblock.ts'
import type { FleetSeen } from './seen.ts'

/** Why waiting is useless for this commit; undefined: as far as known, it may still be reached. */
export function stuckWhy({ hub: { isReachable, sources, releases } }: FleetSeen, commit: string): string | undefined {
  const [source] = sources
  if (!isReachable || source === undefined) return undefined
  const refusal = isRefused(source, commit) ? refusalOf(source) : undefined
  if (refusal !== undefined) {
    const way = wayOfRefusal(source, refusal)
    return `commit ${calledIn(source, commit)} is refused; ${withoutPush(actionOf(way) ?? way.ends ?? '')}`
  }
  // An older release's wait does not matter for this commit.
  const stopped = releases.find(
    ({ spec, status }) => spec.commit === commit && findCondition(status?.conditions, 'Stalled')?.status === 'True',
  )
  if (stopped === undefined) return undefined
  const { name = '' } = stopped.metadata
  return `release ${name} is ${stopped.status?.phase ?? 'stopped'} and needs manual intervention: kubenode why release/${name}`
}

/** A commit with a rejected signature has no title. */
const calledIn = ({ status = {} }: FleetSource, commit: string): string =>
  status.commit === commit ? newestCommitText(status) : commitText(commit, {})

/** A failed fetch or apply is retried and may succeed, and so is a render that could not run. */
function isRefused({ status = {} }: FleetSource, commit: string): boolean {
  const { conditions, refused } = status
  const is = (type: string) => findCondition(conditions, type)
  if (is('Ready')?.status === 'True') return false
  if (refused?.commit === commit) return true
  const rendered = is('Rendered')
  return status.commit === commit && rendered?.status === 'False' && !RETRIED.has(rendered.reason)
}

const RETRIED: ReadonlySet<string> = new Set(['Progressing', 'RenderUnavailable'])
