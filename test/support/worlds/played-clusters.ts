// A hub on which Clusters of flavor kubernetes run, with the real controller and the real host; pods are played by their status.
import { FIELD_MANAGERS, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { KubernetesHost, type KubernetesHostOptions } from '#controlplanes/kubernetes/host.ts'
import { planeNamespace, PlaneRecords } from '#controlplanes/kubernetes/plane-record.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { asLeader } from '#test/support/servers/as-leader.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isNotFound } from '#kube/errors.ts'
import { ALL_WELL, REAL_VERSIONS } from './kubernetes-host-world.ts'
import { listVersions } from './shipped-hub.ts'
import { clusterWorld, type ClusterWorld } from './cluster-world.ts'
import { OPENED_LOG, playPods, type PlayedHub } from './played-pods.ts'

const EVERY_MS = 100
const NAME = 'one'
/** A played API server answers nothing, so a deletion waits for machines that it may have: a controller whose clock is this far ahead does not. */
export const MACHINES_OVER_MS = 11 * 60_000
export const PLAYED_NAMESPACE = planeNamespace(`${SYSTEM_NAMESPACE}.${NAME}`)

export interface PlayedClusters extends ClusterWorld {
  /** Another one each time, as another leader has. */
  newHost(more?: Partial<KubernetesHostOptions>): KubernetesHost
  untilSeen(what: string, holds: (cluster: Cluster) => boolean): Promise<Cluster>
  /** Of flavor kubernetes, at a port of this host. */
  declareKubernetes(
    version: string,
    controlPlane?: Partial<NonNullable<Cluster['spec']['controlPlane']>>,
    name?: string,
  ): Promise<void>
}

export async function playedClusters(hub: PlayedHub = {}): Promise<PlayedClusters> {
  const world = await clusterWorld()
  await world.stopController()
  const { url, ca, cert, key } = world.hub
  const client = new HttpKubeClient({
    server: url,
    ca: { data: ca },
    clientCertificate: { cert: { data: cert }, key: { data: key } },
    impersonate: { user: programUser('cluster') },
  })
  const newHost = (more: Partial<KubernetesHostOptions> = {}) =>
    new KubernetesHost({
      client: asLeader(client),
      fieldManager: FIELD_MANAGERS.cluster,
      clock: systemClock,
      versions: () => REAL_VERSIONS,
      access: [{ kind: 'User', name: programUser('cluster') }],
      readLog: async () => OPENED_LOG,
      readings: async () => ALL_WELL,
      ...more,
    })
  await listVersions(world.admin, REAL_VERSIONS)
  const end = new AbortController()
  const playing = play(world, hub, end.signal)
  return {
    ...world,
    newHost,
    async untilSeen(what, holds) {
      let seen: Cluster | undefined
      try {
        await world.until(what, async () => (seen = await world.get(NAME)) !== undefined && holds(seen))
      } catch (error) {
        throw new Error(`${String(error)}: ${JSON.stringify(seen?.status)}`, { cause: error })
      }
      return seen as Cluster
    },
    declareKubernetes: (version, controlPlane = {}, name = NAME) =>
      world.declare(name, {
        version,
        controlPlane: {
          flavor: 'kubernetes',
          endpoint: { type: 'NodePort', host: '127.0.0.1' },
          upgrade: { soak: '0s', chain: false },
          ...controlPlane,
        },
      }),
    close: async () => {
      await world.stopController()
      end.abort()
      await playing
      client.close()
      await world.close()
    },
  }
}

async function play({ admin }: ClusterWorld, hub: PlayedHub, signal: AbortSignal): Promise<void> {
  const records = new PlaneRecords(admin, 'test')
  while (!signal.aborted) {
    for (const { namespace } of await records.all())
      // Its objects come and go meanwhile.
      await playPods(admin, namespace.metadata.name ?? '', hub).catch((error: unknown) => {
        if (!isNotFound(error) && !/conflict|already|modified/i.test(String(error))) throw error
      })
    await systemClock.sleep(EVERY_MS)
  }
}
