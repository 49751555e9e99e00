// What commits are called: by the releases of the hub that the other contexts name, or by the repository around the current folder.
import type { Release } from '#api/kinds/release.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { ServerOptions } from './connect.ts'

/** What commits are called, for what is no Release. */
export async function releasesBeside(client: KubeClient, options: ServerOptions, io: Io): Promise<readonly Release[]> {
  const [{ contextsBeside }, { releasesKnown }] = await Promise.all([
    import('./contexts-beside.ts'),
    import('./releases-known.ts'),
  ])
  return releasesKnown(client, () => contextsBeside(options, io))
}

/** What these commits are called: as a Release says or, without a hub, the repository of the current folder. */
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
