// Whether a fleet that is not yet as git says can become so without a person: a commit that is refused or does not render, and a release that stopped, cannot. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { commitText, newestCommitText } from '#api/protocol/commit-title.ts'
import { findCondition } from '#kube/conditions.ts'
import type { FleetSeen } from './seen.ts'

/** Why waiting is useless for this commit; undefined: it may still be reached, as far as is known. */
export function stuckWhy({ hub: { isReachable, sources, releases } }: FleetSeen, commit: string): string | undefined {
  const [source] = sources
  if (!isReachable || source === undefined) return undefined
  if (isRefused(source, commit))
    return `commit ${calledIn(source, commit)} is refused; only a new commit changes that: kubenode why source/${source.metadata.name ?? ''}`
  // What an older release waits for says nothing about this commit.
  const stopped = releases.find(
    ({ spec, status }) => spec.commit === commit && findCondition(status?.conditions, 'Stalled')?.status === 'True',
  )
  if (stopped === undefined) return undefined
  const { name = '' } = stopped.metadata
  return `release ${name} is ${stopped.status?.phase ?? 'stopped'} and needs manual intervention: kubenode why release/${name}`
}

/** A commit that was refused for its signature has no title. */
const calledIn = ({ status = {} }: FleetSource, commit: string): string =>
  status.commit === commit ? newestCommitText(status) : commitText(commit, {})

/** A fetch or an apply that failed is tried again and may succeed. */
function isRefused({ status = {} }: FleetSource, commit: string): boolean {
  const { conditions, refused } = status
  const is = (type: string) => findCondition(conditions, type)
  if (is('Ready')?.status === 'True') return false
  if (refused?.commit === commit) return true
  const rendered = is('Rendered')
  return status.commit === commit && rendered?.status === 'False' && rendered.reason !== 'Progressing'
}
