// Titles of commits, from the hub's releases in the other contexts or from the repository around the current folder.
import type { Release } from '#api/kinds/release.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { ServerOptions } from './connect.ts'

/** Titles of commits, for objects other than Releases. */
export async function releasesBeside(client: KubeClient, options: ServerOptions, io: Io): Promise<readonly Release[]> {
  const [{ contextsBeside }, { releasesKnown }] = await Promise.all([
    import('./contexts-beside.ts'),
    import('./releases-known.ts'),
  ])
  return releasesKnown(client, () => contextsBeside(options, io))
}

/** Titles of these commits: from Releases or, without a hub, from the current folder's repository. */
export async function calledBeside(
  client: KubeClient,
  commits: readonly string[],
  options: ServerOptions,
  io: Io,
): Promise<(commit: string) => string> {
  const [{ titledCommit }, { titlesHere }] = await Promise.all([
    import('#api/protocol/commit-title.ts'),
    import('#sync/git/titles-here.ts'),
  ])
  const releases = await releasesBeside(client, options, io)
  const unknown = commits.filter((commit) => !releases.some(({ spec }) => spec.commit === commit))
  const here = await titlesHere(io.cwd, unknown)
  return (commit) => here.get(commit) ?? titledCommit(commit, releases)
}
