// Reads what the hub has for the programs of one Cluster: their kubeconfigs on the hub, and whether each leads in the cluster itself.
import { programPlace } from '#api/cluster-programs.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { HOSTED_PROGRAMS, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import type { KubeClient } from '#kube/client.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { lapsedAt, leaseType } from '#runtime/lease.ts'
import type { PlaneClients } from '../control-planes/clients.ts'
import { kubeconfigSeen, programSecretKey, SECRET } from '../control-planes/kubeconfig.ts'
import { idOf, type Leaders, type ProgramsSeen } from '../seen.ts'

/** A hanging API server must not delay other Clusters. */
const WITHIN_MS = 5_000

interface Tools {
  readonly client: KubeClient
  readonly clients: PlaneClients
  readonly now: () => number
}

export async function programsSeen(
  tools: Tools,
  cluster: Cluster,
  plane: ControlPlane | undefined,
  signal: AbortSignal,
): Promise<ProgramsSeen> {
  const { client } = tools
  const secrets = await Promise.all(
    HOSTED_PROGRAMS.map(async (program) => ({
      program,
      secret: await client.get(SECRET, programSecretKey(cluster, program), { signal }),
    })),
  )
  return {
    kubeconfigs: Object.fromEntries(
      secrets.flatMap(({ program, secret }) => (secret === undefined ? [] : [[program, kubeconfigSeen(secret)]])),
    ),
    leaders:
      plane?.state !== 'Running' || programPlace(cluster.spec) === 'None'
        ? undefined
        : await leadersOf(tools, cluster, signal),
  }
}

async function leadersOf({ clients, now }: Tools, cluster: Cluster, signal: AbortSignal): Promise<Leaders> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)])
  try {
    const leases = await clients.using(idOf(cluster), (client) =>
      Promise.all(
        HOSTED_PROGRAMS.map((program) =>
          client.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) }, { signal: within }),
        ),
      ),
    )
    const without = HOSTED_PROGRAMS.filter((_, n) => {
      const lease = leases[n]
      return lease === undefined || lapsedAt(lease, now()) !== undefined
    })
    return { kind: 'Read', without }
  } catch (error) {
    if (signal.aborted) throw error
    return { kind: 'Unread', why: printableLine(messageOf(error)) }
  }
}
