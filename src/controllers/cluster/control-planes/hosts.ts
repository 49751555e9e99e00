// The hub's control plane hosts, one per flavor, and the clients that connect through them.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { ControlPlaneHost } from '#controlplanes/port.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { type ClosableClient, PlaneClients } from './clients.ts'

export interface HostOf {
  readonly host: ControlPlaneHost
  readonly clients: PlaneClients
}

export class Hosts {
  readonly #all: readonly [HostOf, ...HostOf[]]

  constructor(
    [first, ...others]: readonly [ControlPlaneHost, ...ControlPlaneHost[]],
    connect: (config: ConnectionConfig) => ClosableClient,
  ) {
    const of = (host: ControlPlaneHost): HostOf => ({ host, clients: new PlaneClients(host, connect) })
    this.#all = [of(first), ...others.map(of)]
  }

  /** If no host serves the flavor, returns the first one. It has nothing of this Cluster, and the plan reports that. */
  of({ spec }: Cluster): HostOf {
    return this.#all.find(({ host }) => host.name === spec.controlPlane?.flavor) ?? this.#all[0]
  }
}
