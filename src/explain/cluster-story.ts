// What happens to one cluster: upgrades and rollbacks of its control plane, and what the newest releases wait for there. Pure.
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { findCondition } from '#kube/conditions.ts'
import { formatDuration } from '#lib/duration.ts'
import { newestReleases } from './newest-releases.ts'
import { notesOf, type Finding } from './finding.ts'

const DONE: ReadonlySet<string> = new Set(['Healthy', 'Unchanged'])

/** Empty when every track is healthy there. */
export function clusterStory(name: string, releases: readonly Release[], now: number): readonly Finding[] {
  return newestReleases(releases).flatMap(({ metadata, status }) =>
    (status?.clusters ?? [])
      .filter((c) => c.name === name && !DONE.has(c.phase))
      .map((c): Finding => {
        const release = `release/${metadata.name ?? ''}`
        const since = Math.max(0, now - Date.parse(c.since))
        const state = c.phase === 'Failed' ? 'Blocked' : 'Waiting'
        const observed = c.waitingFor?.seen ?? c.message
        return {
          text: `${state} for ${formatDuration(since)}: ${c.phase} in ${release}`,
          urgency: state,
          ...(observed !== undefined && { below: notesOf([`observed: ${observed}`]) }),
          command: { line: `kubenode why ${release}`, does: 'see more' },
        }
      }),
  )
}

/** Git may no longer declare the Cluster, either on the hub directly or with a stage of a release: the guard blocks its removal there. */
export function removalStory(
  { metadata, spec }: Cluster,
  { source, releases = [] }: { readonly source?: FleetSource | undefined; readonly releases?: readonly Release[] },
  now: number,
): readonly Finding[] {
  const { name = '', namespace = '', deletionTimestamp } = metadata
  if (deletionTimestamp !== undefined) {
    const since = formatDuration(Math.max(0, now - Date.parse(deletionTimestamp)))
    const plane = spec.deletionPolicy === 'Delete' ? 'removed after a final snapshot' : 'kept'
    return [{ text: `Deleted ${since} ago: its control plane is ${plane} (deletionPolicy ${spec.deletionPolicy})` }]
  }
  const held = [
    ...(source?.status?.prunes ?? []).map((p) => p.held),
    ...newestReleases(releases).flatMap(({ status }) => (status?.clusters ?? []).flatMap(({ prune }) => prune ?? [])),
  ].find(({ clusters = [] }) => clusters.includes(`${namespace}/${name}`))
  if (held === undefined) return []
  return [
    {
      text: 'git no longer declares it; the prune guard holds its deletion',
      urgency: 'Waiting',
      command: { line: `kubenode approve ${held.digest}`, does: 'delete it' },
    },
  ]
}

/** The same command restores an expired cluster, or keeps one that is about to expire. */
export function lifetimeStory({ metadata, spec, status }: Cluster, now: number): readonly Finding[] {
  const { name = '', deletionTimestamp } = metadata
  const { phase, expiresAt } = status ?? {}
  if (expiresAt === undefined || deletionTimestamp !== undefined) return []
  const line = `kubenode cluster extend ${name} --for 2h --reason WHY`
  const end = Date.parse(expiresAt)
  if (phase === 'Expired')
    return [
      {
        text: `Expired ${formatDuration(Math.max(0, now - end))} ago: its time to live (${spec.ttl ?? 'none'}) ended at ${expiresAt}`,
        urgency: 'Stopped',
        below: notesOf([
          'its control plane is stopped and keeps its data, until it is started again or deleted',
          spec.deletionPolicy === 'Delete'
            ? 'git still declares it: a commit that removes it deletes it, with its machines, after a final snapshot'
            : 'git still declares it: a commit that removes it keeps its control plane (deletionPolicy Orphan)',
        ]),
        command: { line, does: 'start it again' },
      },
    ]
  if (findCondition(status?.conditions, 'Expiring')?.status !== 'True' || end <= now) return []
  return [
    {
      text: `Expires in ${formatDuration(end - now)}, at ${expiresAt}: its control plane is stopped then`,
      command: { line, does: 'keep it longer' },
    },
  ]
}

type Change = NonNullable<NonNullable<ClusterStatus>['change']>

export const changeStory = (change: Change | undefined): readonly Finding[] =>
  change === undefined
    ? []
    : [
        {
          text: `From ${change.from} to ${change.to}: ${change.message}`,
          below: notesOf([`way back: ${wayBackOf(change)}`]),
        },
      ]

export const wayBackOf = ({ wayBack, snapshot = '', since = '' }: Change): string =>
  wayBack === 'Programs'
    ? 'the old programs, in seconds; nothing is lost'
    : `a restore of ${snapshot}, with an approval; writes since ${since} are lost`
