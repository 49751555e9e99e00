// The cluster role, on a hub: runs the control planes of Clusters.
import { clusterModule } from '#controllers/cluster/reconcile.ts'
import { addonsOf, type Addons } from '#controllers/cluster/addons/built-in.ts'
import { hostsOf } from '#controlplanes/embedded/hosts.ts'
import { versionFile, type Versions } from '#controlplanes/embedded/version-file.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { MIB } from '#lib/bytes.ts'
import { VERSION } from '#lib/program-version.ts'
import { partsOf } from '#runtime/module.ts'
import { clientOf } from '../run/connect.ts'
import type { RoleSetup } from '../run/role.ts'
import { runErrors } from '../run/run-errors.ts'
import type { RolesConfig } from './config.ts'
import { inClustersFile } from '../hosted/in-clusters-file.ts'

/** The administrator of a cluster may fill it: what is read of one, at worst, leaves room in a heap of 256 MiB, which is for all of them. */
const OF_CLUSTERS = { parsed: 4 * MIB, text: 16 * MIB, listed: 12 * MIB }

/** Everything `kubenode install` applies except the programs. */
function releaseAddons(): Addons {
  const { kinds, rest } = releaseManifests()
  return addonsOf(VERSION, kinds, rest)
}

export function clusterRole(config: RolesConfig): RoleSetup {
  const { controlPlaneVersions: file } = config
  // Read before it leads: a user learns of a mistake at once, and a standby keeps what was valid.
  return leading(config, file === undefined ? undefined : versionFile(file))
}

const leading = (config: RolesConfig, versions: Versions | undefined): RoleSetup => ({
  async setup(context) {
    const connect = (connection: ConnectionConfig) => clientOf(connection, 'kubenode-cluster', OF_CLUSTERS)
    const [first, ...others] = await hostsOf({ controlPlanes: config.controlPlanes, versions }, { ...context, connect })
    if (first === undefined) throw new KubeNodeError(runErrors.KN1002_planes())
    let known: Addons | undefined
    const inClusters = inClustersFile(config.programsInClusters, config.artifactCaData)
    const running = clusterModule.setup({
      ...context,
      events: context.events('cluster'),
      hosts: [first, ...others],
      connect,
      hostsPrograms: config.hostsPrograms === true,
      inClusters: async () => inClusters(),
      addons: () => Promise.resolve((known ??= releaseAddons())),
    })
    return partsOf(running, context.supervision)
  },
})
