// The previews of a hub's sources as rows, and whether a wait for one has ended. Pure.
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { keyText, namespacedName } from '#api/schema/object-meta.ts'
import { branchOf, folderOf, previewsOf } from '#sync/previews/branches.ts'
import { inTime } from './cluster-columns.ts'

type Reported = NonNullable<NonNullable<FleetSource['status']>['previews']>[number]

export interface SeenPreview extends Reported {
  readonly namespace: string
  readonly source: string
  /** When its Cluster ends; undefined while there is none. */
  readonly expiresAt: string | undefined
}

export function previewsIn(sources: readonly FleetSource[], clusters: readonly Cluster[]): readonly SeenPreview[] {
  const ends = new Map(clusters.map((c) => [namespacedName(c), c.status?.expiresAt]))
  return sources.flatMap(({ metadata: { namespace = '', name = '' }, status }) =>
    (status?.previews ?? []).map((p) => ({
      ...p,
      namespace,
      source: name,
      expiresAt: p.cluster === undefined ? undefined : ends.get(keyText({ namespace, name: p.cluster })),
    })),
  )
}

export const PREVIEW_HEAD: readonly string[] = ['BRANCH', 'SOURCE', 'PHASE', 'COMMIT', 'CLUSTER', 'EXPIRES', 'MESSAGE']

const NONE = '<none>'

export const previewRow = (p: SeenPreview, now: number): readonly string[] => [
  p.branch,
  p.source,
  p.phase,
  p.commit === undefined ? NONE : shortCommit(p.commit),
  p.cluster ?? NONE,
  p.expiresAt === undefined ? NONE : inTime(p.expiresAt, now),
  p.message,
]

/** Whether the source creates previews for branches with this name. */
export const isGiven = ({ spec: { previews } }: FleetSource, branch: string): boolean => {
  const folder = previews === undefined ? undefined : `${folderOf(previews)}/`
  return folder !== undefined && branch.startsWith(folder) && branch.length > folder.length
}

/**
 * What is left of an earlier preview of the branch; undefined once sync has forgotten it. Until then a push of the same commit is given the cluster that was
 * used before.
 */
export function leftOfPreview(
  branch: string,
  sources: readonly FleetSource[],
  clusters: readonly Cluster[],
): string | undefined {
  const used = sources.flatMap((s) => previewsOf(clusters, namespacedName(s))).find((c) => branchOf(c) === branch)
  if (used !== undefined) return `cluster/${used.metadata.name ?? ''} of its earlier preview is not gone yet`
  const isListed = sources.some((s) => s.status?.previews?.some((p) => p.branch === branch))
  return isListed ? 'sync has not forgotten its earlier preview yet' : undefined
}

/** What a wait that is over has seen last. */
export function stillNot([preview]: readonly SeenPreview[]): string {
  if (preview === undefined) return 'sync has not seen the branch yet'
  return preview.phase === 'Waiting' ? `it still waits: ${preview.message}` : 'it is still being made'
}

export type PreviewWait = { readonly kind: 'Ready' | 'Failed' | 'Waiting'; readonly text: string }

/**
 * The status names the branch's newest commit in every phase, even while an earlier one still runs. The preview is done when it is Ready with the
 * requested commit. Without one, the newest commit that sync knows counts.
 */
export function judgePreview(branch: string, found: readonly SeenPreview[], commit: string | undefined): PreviewWait {
  const [preview] = found
  if (preview === undefined)
    return { kind: 'Waiting', text: `${branch} has no preview yet: sync has not seen the branch` }
  const { phase, message, commit: at = '', cluster } = preview
  const text = `${branch} is ${phase}: ${message}`
  // No further push recreates it for this branch.
  if (phase === 'Expired' || phase === 'Deleting') return { kind: 'Failed', text }
  if (commit !== undefined && !at.startsWith(commit))
    return { kind: 'Waiting', text: `${branch} is at commit ${shortCommit(at) || NONE}: ${phase}` }
  if (phase === 'Refused') return { kind: 'Failed', text }
  return phase === 'Ready'
    ? { kind: 'Ready', text: `${branch} is Ready on cluster/${cluster ?? ''}: ${message}` }
    : { kind: 'Waiting', text }
}
