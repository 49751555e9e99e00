// Clients of control planes on the hub, for the cluster controller itself. Each is created for one task, with a certificate that lives for minutes.
import { programUser } from '#api/names.ts'
import type { ControlPlaneHost } from '#controlplanes/port.ts'
import type { KubeClient } from '#kube/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'

const LIFE_MS = 10 * 60_000

export interface ClosableClient extends KubeClient {
  close?(): void
}

export class PlaneClients {
  readonly #host: ControlPlaneHost
  readonly #connect: (config: ConnectionConfig) => ClosableClient

  constructor(host: ControlPlaneHost, connect: (config: ConnectionConfig) => ClosableClient) {
    this.#host = host
    this.#connect = connect
  }

  async using<T>(id: string, work: (client: KubeClient) => Promise<T>): Promise<T> {
    const identity = { user: programUser('cluster'), groups: ['system:masters'], lifeMs: LIFE_MS }
    const text = await this.#host.kubeconfig(id, identity)
    if (text === undefined) throw new Error(`${id} is gone`)
    const client = this.#connect(parseSafeKubeconfig(text, id).config)
    try {
      return await work(client)
    } finally {
      client.close?.()
    }
  }
}
