// Which branches of a repository may have a preview, and the Cluster that is created for one. Pure. Anyone with push access can choose a branch name, so
// only a digest and a few plain characters of it become part of a name.
import { without } from '#lib/without.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster as clusterKind, type Cluster, type ClusterInput } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS, PREVIEW_PREFIX } from '#api/names.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import { withoutEnds } from '#lib/without-ends.ts'
import { sha256Hex } from '#lib/sha256.ts'

export type Previews = NonNullable<FleetSource['spec']['previews']>

const MAX_BRANCH = 200
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/
/** Git itself rejects such refs, but a hostile server may list them. */
const NO_REF = /\.\.|\/\/|\/\.|\.lock(\/|$)|[./]$/

export const isUsable = (branch: string): boolean =>
  branch.length <= MAX_BRANCH && PLAIN.test(branch) && !NO_REF.test(branch)

/** `preview/*` as a folder. */
export const folderOf = ({ branches }: Previews): string => branches.slice(0, -'/*'.length)

const MAX_SLUG = 24
const DIGEST_CHARS = 10

/** What one Cluster is for: a branch, or one commit of it. */
export interface PreviewOf {
  readonly branch: string
  /** Undefined: whatever the branch contains. */
  readonly only: string | undefined
}

/** What a branch at this commit gets. */
export const previewFor = ({ mode }: Previews, branch: string, commit: string): PreviewOf => ({
  branch,
  only: mode === 'Commit' ? commit : undefined,
})

export const isFor = (cluster: Cluster, { branch, only }: PreviewOf): boolean =>
  branchOf(cluster) === branch && cluster.metadata.annotations?.[ANNOTATIONS.previewCommit] === only

/** Starts like the branch, for readers; the digest keeps similar branches, and commits, apart. */
export function previewName(source: string, { branch, only }: PreviewOf): string {
  const parts = [source, branch, ...(only === undefined ? [] : [only])]
  const digest = sha256Hex(parts.join('\n')).slice(0, DIGEST_CHARS)
  const slug = branch
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG)
  const plain = withoutEnds(slug, /-/)
  return `${PREVIEW_PREFIX}${plain === '' ? '' : `${plain}-`}${digest}`
}

/**
 * The source with this branch as its ref: the same trust, but without everything that a branch must not have: keys that open Secrets, pushes, plans of
 * the fleet.
 */
export function followingBranch(source: FleetSource, branch: string): FleetSource {
  const spec = without(source.spec, 'decryption', 'push', 'requirePlan', 'previews')
  const { status: _, ...object } = source
  return { ...object, spec: { ...spec, ref: { branch } } }
}

export const branchOf = ({ metadata }: Cluster): string => metadata.annotations?.[ANNOTATIONS.previewBranch] ?? ''

/** The Clusters that sync made for branches of the source, in its namespace. A Cluster that git declares never counts, whatever its labels claim. */
export const previewsOf = (clusters: readonly Cluster[], key: string): readonly Cluster[] =>
  clusters.filter(
    ({ metadata }) =>
      metadata.annotations?.[ANNOTATIONS.previewOf] === key &&
      metadata.annotations[ANNOTATIONS.source] === undefined &&
      key.startsWith(`${metadata.namespace ?? ''}/`),
  )

/** Why the template cannot be used; undefined when it can. A template made by a branch or a user could decide what previews are. */
export function templateProblem(source: FleetSource, template: Cluster | undefined): string | undefined {
  const { template: name = '' } = source.spec.previews ?? {}
  if (template === undefined) return `Cluster ${name}, the template, is not on the hub: declare it in git`
  if (template.metadata.annotations?.[ANNOTATIONS.source] !== namespacedName(source))
    return `Cluster ${name}, the template, is not declared by this source`
  return template.spec.controlPlane === undefined
    ? `Cluster ${name}, the template, has no control plane on the hub`
    : undefined
}

/** A copy of the template without values that only one cluster can have: its port and host, its snapshots, and one-time requests. */
export function previewCluster(source: FleetSource, of: PreviewOf, template: Cluster): ClusterInput {
  const { namespace = '' } = source.metadata
  const key = namespacedName(source)
  const { version, network, stage, programs, controlPlane = { flavor: 'embedded' as const } } = template.spec
  const plane = without(controlPlane, 'endpoint', 'snapshot', 'snapshots', 'restore')
  const { ttl = '4h' } = source.spec.previews ?? {}
  return {
    apiVersion: API_GROUP_VERSION,
    kind: clusterKind.kind,
    metadata: {
      name: previewName(key, of),
      namespace,
      annotations: {
        [ANNOTATIONS.previewOf]: key,
        [ANNOTATIONS.previewBranch]: of.branch,
        ...(of.only !== undefined && { [ANNOTATIONS.previewCommit]: of.only }),
      },
    },
    spec: {
      ...defined({ version, network, stage, programs }),
      controlPlane: plane,
      deletionPolicy: 'Delete',
      ttl,
    },
  }
}
