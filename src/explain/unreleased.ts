// What a release cannot show: its source follows a newer commit that has no release yet, because it was refused or could not be rendered. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { newestCommitText } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { findCondition } from '#kube/conditions.ts'
import { formatDuration } from '#lib/duration.ts'
import { newestReleases } from './newest-releases.ts'
import type { Finding } from './finding.ts'

/** Only for the newest releases: an older one was replaced, so commits after it are not news. */
export function unreleased(
  release: Release,
  all: readonly Release[],
  source: FleetSource,
  now: number,
): readonly Finding[] {
  const isNewest = newestReleases(all).some((r) => r.metadata.name === release.metadata.name)
  const { commit } = source.status ?? {}
  return isNewest && commit !== release.spec.commit ? notReady(source, now) : []
}

/** A source that is not Ready, and where to read why. */
function notReady(source: FleetSource, now: number): readonly Finding[] {
  const { name = '' } = source.metadata
  const ready = findCondition(source.status?.conditions, 'Ready')
  if (ready?.status !== 'False') return []
  const at = Date.parse(ready.lastTransitionTime)
  const since = Number.isFinite(at) ? ` for ${formatDuration(Math.max(0, now - at))}` : ''
  return [
    {
      text: `source/${name} is not Ready${since}: ${ready.reason}${source.status?.commit === undefined ? '' : `; its newest commit is ${newestCommitText(source.status)}`}`,
      urgency: 'Failed',
      command: { line: `kubenode why source/${name}`, does: 'see why' },
    },
  ]
}
