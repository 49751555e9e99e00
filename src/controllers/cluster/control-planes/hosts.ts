// The hosts of control planes of this hub, one for each flavor, and clients through them.
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

  /** The first one for a flavor that none serves: it has nothing of the Cluster, and the plan says so. */
  of({ spec }: Cluster): HostOf {
    return this.#all.find(({ host }) => host.name === spec.controlPlane?.flavor) ?? this.#all[0]
  }
}
