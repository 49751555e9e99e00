// The hosted role, on a hub: runs controllers, approver or Defender of the hub's Clusters, each of which has an identity of its own in its cluster.
import { cluster } from '#api/kinds/cluster.ts'
import { figuresOfHost } from '../hosted/figures.ts'
import { ProgramHost } from '../hosted/host.ts'
import type { RoleSetup } from '../run/role.ts'
import type { RolesConfig } from './config.ts'

export const hostedRole = ({ hosted, node }: RolesConfig): RoleSetup => ({
  // Its Lease is given up after the role has ended: a fenced client would refuse that.
  setup({ plainClient: client, informers, clock, log, metrics }) {
    if (hosted === undefined) throw new Error('role hosted has no options')
    const report = figuresOfHost(metrics)
    return [new ProgramHost({ ...hosted, node, client, clusters: informers.of(cluster), clock, log, report })]
  },
})
