// Finds the Releases of a hub, which are in KubeNode's own namespace.
import { approval, type Approval } from '#api/kinds/approval.ts'
import { type FleetSource, fleetSource } from '#api/kinds/fleet-source.ts'
import { release, type Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { newestReleases } from '../newest-releases.ts'
import { isCommit } from './commit-trace.ts'
import { absent, findOne, namesOf } from '../objects/find-object.ts'

export const releasesOn = (client: KubeClient): Promise<readonly Release[]> =>
  listAll(client, release, { namespace: SYSTEM_NAMESPACE })

export const sourcesOn = (client: KubeClient): Promise<readonly FleetSource[]> =>
  listAll(client, fleetSource, { namespace: SYSTEM_NAMESPACE })

export const approvalsOn = (client: KubeClient): Promise<readonly Approval[]> => listAll(client, approval)

/** By name, or by the commit as `history` shows it if only one track has a Release of it. */
export async function releaseCalled(client: KubeClient, word: string): Promise<Release> {
  if (isCommit(word)) {
    const [own, ...others] = (await releasesOn(client)).filter((r) => r.spec.commit.startsWith(word))
    if (own !== undefined && others.length === 0) return own
  }
  const own = await findOne(client, release, word)
  if (own !== undefined) return own
  const newest = await newestOf(client, word)
  // If several start with the word, the one in progress is meant.
  const known = newest === undefined ? await namesOf(client, release) : [newest.metadata.name ?? '']
  throw absent({ client, noun: 'release', name: word, known, plural: release.plural })
}

const newestOf = async (client: KubeClient, track: string): Promise<Release | undefined> =>
  newestReleases(await releasesOn(client).catch(() => [])).find((r) => r.spec.track === track)

/** For commands that only show: a track's name also means its newest Release. */
export async function releaseOrNewestOf(client: KubeClient, word: string): Promise<Release> {
  return (await newestOf(client, word)) ?? releaseCalled(client, word)
}
