// What a hub refuses: versions without images, other programs' ports and namespaces, and more control planes than its limit. Pure.
import type { ControlPlaneRequest, PutResult } from '../port.ts'
import { rowOf, versionsIn } from '../upgrade/versions.ts'
import { planeNamespace, type PlaneRecord } from './plane-record.ts'
import type { ServedVersion } from './version-file.ts'

type Refused = Extract<PutResult, { readonly kind: 'Refused' }>

export function unservedVersion({ version }: ControlPlaneRequest, rows: readonly ServedVersion[]): Refused | undefined {
  if (rowOf(rows, version) !== undefined) return undefined
  return {
    kind: 'Refused',
    reason: 'VersionNotServed',
    message: `version ${version} is not in the version file; it has ${versionsIn(rows)}`,
  }
}

/** For a control plane that does not exist yet, next to the living ones. */
export function noPlace(
  { port, shape }: ControlPlaneRequest,
  others: readonly PlaneRecord[],
  most: number,
): Refused | undefined {
  const isNodePort = shape?.endpoint?.type === 'NodePort' && port !== undefined
  const holder = isNodePort ? others.find((o) => o.address?.nodePort === port) : undefined
  if (holder !== undefined)
    return { kind: 'Refused', reason: 'EndpointTaken', message: `port ${port} belongs to ${holder.id}` }
  if (others.length < most) return undefined
  return {
    kind: 'Refused',
    reason: 'HostFull',
    message: `${others.length} of ${most} control planes are on this hub; delete one first`,
  }
}

export const takenNamespace = (id: string): Refused => ({
  kind: 'Refused',
  reason: 'NamespaceTaken',
  message: `namespace ${planeNamespace(id)} belongs to another Cluster, or was made by a person`,
})
