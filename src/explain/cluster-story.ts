// What happens to one cluster: the upgrade of its control plane and its way back, and what the newest releases wait for in it. Pure.
import type { ClusterStatus } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { formatDuration } from '#lib/duration.ts'
import { newestReleases } from './newest-releases.ts'

const DONE: ReadonlySet<string> = new Set(['Healthy', 'Unchanged'])

/** In the form of the other lines of `why`; none when every track is healthy there. */
export function clusterStory(name: string, releases: readonly Release[], now: number): readonly string[] {
  return newestReleases(releases).flatMap(({ metadata, status }) =>
    (status?.clusters ?? [])
      .filter((c) => c.name === name && !DONE.has(c.phase))
      .flatMap((c) => {
        const release = `release/${metadata.name ?? ''}`
        const since = Math.max(0, now - Date.parse(c.since))
        const state = c.phase === 'Failed' ? 'Blocked' : 'Waiting'
        const observed = c.waitingFor?.seen ?? c.message
        return [
          `${state} for ${formatDuration(since)}: ${c.phase} in ${release}`,
          ...(observed === undefined ? [] : [`  observed: ${observed}`]),
          `  kubenode why ${release}`,
        ]
      }),
  )
}

type Change = NonNullable<NonNullable<ClusterStatus>['change']>

export const changeStory = (change: Change | undefined): readonly string[] =>
  change === undefined
    ? []
    : [`From ${change.from} to ${change.to}: ${change.message}`, `  way back: ${wayBackOf(change)}`]

export const wayBackOf = ({ wayBack, snapshot = '', since = '' }: Change): string =>
  wayBack === 'Programs'
    ? 'the old programs, in seconds; nothing is lost'
    : `a restore of ${snapshot}, with an approval; writes since ${since} are lost`
