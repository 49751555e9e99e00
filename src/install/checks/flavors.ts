// Compares the flavors and versions of control planes that a release serves with the Clusters of the hub: one that runs without its host is neither upgraded nor
// deleted, and says so only in its own status.
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { programPlace } from '#api/cluster-programs.ts'
import { CONTROL_PLANE_VERSIONS, FINALIZERS } from '#api/names.ts'
import { notReady } from '#explain/cluster-phase.ts'
import { listAll } from '#kube/list-all.ts'
import { fieldAt } from '#lib/fields.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { ifServed, type InstallContext } from '../context.ts'
import type { Release } from '../release.ts'

type Flavor = NonNullable<Cluster['spec']['controlPlane']>['flavor']

export const SETTINGS: Readonly<Record<Flavor, string>> = {
  embedded: 'controlPlanes.claim',
  kubernetes: 'controlPlanes.kubernetes',
}

/** A Cluster with a control plane on this hub. */
export interface Hosted {
  readonly name: string
  readonly flavor: Flavor
  /** That its API server runs, or is to run when nothing does yet. */
  readonly version: string
  /** Its host has begun to make it. */
  readonly isMade: boolean
  /** The hub is to run its controllers, approver and Defender, at least until the cluster does. */
  readonly wantsPrograms: boolean
  /** Why it is not Ready, or not known to be, although its control plane was. */
  readonly unready?: Pick<Condition, 'status' | 'reason' | 'message'> | undefined
}

export async function hostedClusters(context: InstallContext): Promise<readonly Hosted[]> {
  let all: readonly Cluster[] = []
  await ifServed(async () => void (all = await listAll(context.client, clusterKind)))
  return all.flatMap(({ metadata, spec, status }): readonly Hosted[] =>
    spec.controlPlane === undefined
      ? []
      : [
          {
            name: `${metadata.namespace ?? ''}/${metadata.name ?? ''}`,
            flavor: spec.controlPlane.flavor,
            version: status?.versions?.find(({ part }) => part === 'apiserver')?.version ?? spec.version ?? '',
            isMade: (metadata.finalizers ?? []).includes(FINALIZERS.cluster),
            wantsPrograms: programPlace(spec) !== 'None',
            unready: notReady(status),
          },
        ],
  )
}

export interface ServedPlanes {
  readonly flavors: readonly Flavor[]
  /** Of flavor kubernetes. */
  readonly versions: readonly string[]
  readonly storageClass: string | undefined
  /** The hub runs controllers, approver and Defender of its Clusters. */
  readonly hostsPrograms: boolean
}

const FLAGS: Readonly<Record<Flavor, string>> = {
  embedded: '--control-planes',
  kubernetes: '--control-plane-versions',
}

/** Undefined for a release without programs: nothing is known of its settings. */
export function servedPlanes({ objects }: Release): ServedPlanes | undefined {
  const deployments = objects.filter((o) => o.kind === 'Deployment')
  if (deployments.length === 0) return undefined
  const args = deployments.filter((o) => o.metadata.name === 'kubenode-cluster').flatMap(argsOf)
  const file = fileOf(objects)
  return {
    flavors: (['embedded', 'kubernetes'] as const).filter((flavor) => args.includes(FLAGS[flavor])),
    versions: file.versions.map(({ version }) => version),
    storageClass: file.defaults?.storageClass,
    hostsPrograms: args.includes('--host-programs'),
  }
}

function argsOf(deployment: KubeObject): readonly unknown[] {
  const containers = fieldAt(deployment, 'spec', 'template', 'spec', 'containers')
  return (Array.isArray(containers) ? containers : []).flatMap((c: unknown) => {
    const args = fieldAt(c, 'args')
    return Array.isArray(args) ? (args as readonly unknown[]) : []
  })
}

interface File {
  readonly versions: readonly { readonly version: string }[]
  readonly defaults?: { readonly storageClass?: string }
}

/** Made from settings that were validated. */
function fileOf(objects: readonly KubeObject[]): File {
  const map = objects.find((o) => o.kind === 'ConfigMap' && o.metadata.name === CONTROL_PLANE_VERSIONS)
  const text = fieldAt(map, 'data', 'versions.json')
  return typeof text === 'string' ? (JSON.parse(text) as File) : { versions: [] }
}

export interface FlavorGaps {
  /** Made here, of a flavor that the release does not serve. */
  readonly dropped: readonly Hosted[]
  /** Made here, with a version that the release has no row of. */
  readonly unlisted: readonly Hosted[]
  /** Declared, and nothing was made for them yet. */
  readonly waiting: readonly Hosted[]
}

export function flavorGaps(served: ServedPlanes, hosted: readonly Hosted[]): FlavorGaps {
  const isServed = ({ flavor }: Hosted): boolean => served.flavors.includes(flavor)
  return {
    dropped: hosted.filter((c) => c.isMade && !isServed(c)),
    unlisted: hosted.filter(
      (c) => c.isMade && c.flavor === 'kubernetes' && isServed(c) && !served.versions.includes(c.version),
    ),
    waiting: hosted.filter((c) => !c.isMade && !isServed(c)),
  }
}
