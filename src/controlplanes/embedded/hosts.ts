// A hub's control plane hosts: embedded ones behind a socket, Kubernetes programs as workloads, or both.
import { FIELD_MANAGERS, programUser } from '#api/names.ts'
import type { ControlPlaneHost } from '../port.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Versions } from './version-file.ts'

interface Config {
  readonly controlPlanes?: string | undefined
  readonly versions?: Versions | undefined
}

interface Context {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly connect: (config: ConnectionConfig) => KubeClient & { close?(): void }
}

export async function hostsOf(
  { controlPlanes, versions }: Config,
  context: Context,
): Promise<readonly ControlPlaneHost[]> {
  return [
    ...(controlPlanes === undefined ? [] : [await embeddedHost(controlPlanes)]),
    ...(versions === undefined ? [] : [await kubernetesHost(versions, context)]),
  ]
}

async function embeddedHost(socket: string): Promise<ControlPlaneHost> {
  const [{ SocketHost }, { EMBEDDED }] = await Promise.all([import('./socket.ts'), import('./embedded.ts')])
  return new SocketHost(socket, EMBEDDED)
}

async function kubernetesHost(versions: Versions, { client, clock, log, connect }: Context): Promise<ControlPlaneHost> {
  const [{ KubernetesHost }, { readingsOf, storeSizeOf }, { sealAgainWith }] = await Promise.all([
    import('../kubernetes/host.ts'),
    import('../kubernetes/readings.ts'),
    import('../kubernetes/reseal.ts'),
  ])
  const read = () => versions((problem) => log.warn('the version file is not used as it is', { problem }))
  return new KubernetesHost({
    client,
    fieldManager: FIELD_MANAGERS.cluster,
    clock,
    versions: () => read().rows,
    network: () => read().network,
    defaults: () => read().defaults,
    readLog: async ({ namespace, name }, container, lastLines) => {
      const tail = lastLines === undefined ? '' : `&tailLines=${lastLines}`
      const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?container=${container}${tail}`
      return (await client.raw({ method: 'GET', path })).text
    },
    access: [
      { kind: 'User', name: programUser('cluster') },
      { kind: 'ServiceAccount', name: 'kubenode-cluster' },
    ],
    readings: readingsOf({ hub: client, connect }),
    storeSize: storeSizeOf({ connect }),
    sealAgain: sealAgainWith({ connect }),
  })
}
