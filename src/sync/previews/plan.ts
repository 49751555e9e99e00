// Decides what happens to a source's branches: which keep their cluster, which may get one, which wait and why, and which clusters are deleted. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import { MAX_PREVIEWS_SHOWN, type FleetSource } from '#api/kinds/fleet-source.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { someOf } from '#lib/some-of.ts'
import { branchOf, isFor, isUsable, previewFor, previewName, type PreviewOf } from './branches.ts'

export type PreviewStatus = NonNullable<NonNullable<FleetSource['status']>['previews']>[number]

export interface PreviewsSeen {
  readonly source: FleetSource
  /** Commits of the matching branches. */
  readonly heads: ReadonlyMap<string, string>
  /** The Clusters that were made for branches. */
  readonly own: readonly Cluster[]
  /** Why no new Cluster can be made now. */
  readonly problem: string | undefined
  /** Names of all Clusters in the namespace. */
  readonly names: ReadonlySet<string>
}

interface Branch {
  readonly branch: string
  readonly commit: string
}

interface PreviewsPlan {
  readonly remove: readonly Cluster[]
  readonly keep: readonly (Branch & { readonly cluster: Cluster })[]
  /** In this order, while there is room. */
  readonly begin: readonly Branch[]
  /** No action for these now. */
  readonly idle: readonly PreviewStatus[]
  /** How many clusters may be made. */
  readonly room: number
}

export function planPreviews({ source, heads, own, problem, names }: PreviewsSeen): PreviewsPlan {
  const key = namespacedName(source)
  const { previews } = source.spec
  const before = new Map((source.status?.previews ?? []).map((p) => [p.branch, p]))
  const isFollowed = (branch: string) => branch === source.spec.ref.branch
  const branches = [...heads]
    .filter(([branch]) => isUsable(branch) && !isFollowed(branch))
    .map(([branch, commit]) => ({ branch, commit }))
    .toSorted((a, b) => (a.branch < b.branch ? -1 : 1))
  const idle: PreviewStatus[] = []
  const keep: (Branch & { readonly cluster: Cluster })[] = []
  const begin: Branch[] = []
  for (const { branch, commit } of branches) {
    const of = previews === undefined ? { branch, only: undefined } : previewFor(previews, branch, commit)
    const cluster = own.find((c) => isFor(c, of))
    const name = previewName(key, of)
    // What the status names may also have been made for an earlier commit, or in the other mode.
    const made = before.get(branch)?.cluster === name
    if (cluster?.metadata.deletionTimestamp !== undefined)
      idle.push({ branch, commit, cluster: name, phase: 'Deleting', message: 'its cluster is being deleted' })
    else if (cluster !== undefined) keep.push({ branch, commit, cluster })
    else if (made) idle.push({ branch, commit, cluster: name, phase: 'Expired', message: expired(of) })
    else if (names.has(name)) idle.push({ branch, commit, phase: 'Refused', message: taken(name) })
    else if (problem !== undefined) idle.push({ branch, commit, phase: 'Waiting', message: problem })
    else begin.push({ branch, commit })
  }
  const remove = own.filter((c) => !keep.some((k) => k.cluster === c) && c.metadata.deletionTimestamp === undefined)
  // Clusters that are being deleted still run. Ended ones must stay listed: a branch that drops out of the list would get a second cluster.
  const listed = keep.length + idle.filter((i) => i.cluster !== undefined).length
  const running = own.length
  const room = Math.max(0, Math.min((previews?.max ?? 0) - running, MAX_PREVIEWS_SHOWN - listed))
  return { remove, keep, begin, idle, room }
}

const expired = ({ only }: PreviewOf): string =>
  `its cluster has ended: its time to live is over, or it was deleted; ${only === undefined ? 'delete the branch and push it again' : 'push another commit'} for another one`

const taken = (name: string): string => `Cluster ${name} exists and was not made for this branch: delete or rename it`

const MOST_HOLDERS_SHOWN = 3

/** Whose a cluster is, as others that wait for its room read it. */
export const holderOf = (cluster: Cluster): string =>
  cluster.metadata.deletionTimestamp === undefined ? branchOf(cluster) : `${branchOf(cluster)} (is being deleted)`

export const waitsForRoom = ({ branch, commit }: Branch, max: number, holders: readonly string[]): PreviewStatus => ({
  branch,
  commit,
  phase: 'Waiting',
  message: `${counted(max, 'preview')} at most${holders.length === 0 ? '' : `, now ${someOf(holders, MOST_HOLDERS_SHOWN)}`}: waits until another branch is deleted or its preview expires`,
})

/** Branches that have or had a cluster come first; the others while there is room. */
export function shownPreviews(all: readonly PreviewStatus[]): readonly PreviewStatus[] {
  const order = ({ cluster, branch }: PreviewStatus) => `${cluster === undefined ? 1 : 0} ${branch}`
  return all.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, MAX_PREVIEWS_SHOWN)
}
