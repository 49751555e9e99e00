// Decides which of the hub's Clusters get programs on this machine, which lose them, and which are removed. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { nameHere } from '#explain/progress/seen.ts'
import { findCondition } from '#kube/conditions.ts'
import { badClusterName } from './layout.ts'

export interface Hosted {
  /** Name of its folder. */
  readonly name: string
  /** ID of its control plane on the host. */
  readonly id: string
  readonly uid: string
}

export interface ClustersObserved {
  readonly starting: readonly Hosted[]
  /** Clusters whose programs stop. */
  readonly ending: readonly string[]
  /** Folders of Clusters that no longer exist. */
  readonly removed: readonly string[]
  readonly refused: readonly { readonly name: string; readonly why: string }[]
}

/** The Cluster on this machine; undefined for a registered one, which runs elsewhere. */
function hostedOf(cluster: Cluster): Hosted | undefined {
  const { namespace = '', name = '', uid = '' } = cluster.metadata
  const here = nameHere(cluster)
  return here === undefined ? undefined : { name: here, id: `${namespace}.${name}`, uid }
}

/** The control plane that a folder belongs to. */
export const idOfFolder = (name: string): string => (name.includes('.') ? name : `${SYSTEM_NAMESPACE}.${name}`)

export function planClusters(
  clusters: readonly Cluster[],
  here: readonly Hosted[],
  folders: readonly string[],
): ClustersObserved {
  const declared = clusters.flatMap((cluster) => {
    const hosted = hostedOf(cluster)
    return hosted === undefined ? [] : [{ hosted, cluster, why: badClusterName(hosted.name) }]
  })
  const served = declared.filter(({ why }) => why === undefined)
  const known = new Map(here.map((h) => [h.name, h]))
  const ending = here.filter(({ name, uid }) => {
    const found = served.find(({ hosted }) => hosted.name === name)
    return found === undefined || found.hosted.uid !== uid || isExpired(found.cluster)
  })
  const names = new Set(served.map(({ hosted }) => hosted.name))
  return {
    starting: served.flatMap(({ hosted, cluster }) => {
      const before = known.get(hosted.name)
      const isNew = before === undefined || before.uid !== hosted.uid
      return isNew && answers(cluster) && !isExpired(cluster) ? [hosted] : []
    }),
    ending: ending.map(({ name }) => name),
    removed: folders.filter((name) => !names.has(name)),
    refused: declared.flatMap(({ hosted, why }) => (why === undefined ? [] : [{ name: hosted.name, why }])),
  }
}

/** Not ready for programs: the API server may answer, but kinds and roles are missing. */
const UNFINISHED: readonly (string | undefined)[] = [undefined, 'Pending', 'Creating', 'Addons']

const answers = ({ status }: Cluster): boolean =>
  findCondition(status?.conditions, 'Ready')?.status === 'True' && !UNFINISHED.includes(status?.phase)

const isExpired = ({ status }: Cluster): boolean => status?.phase === 'Expired'
