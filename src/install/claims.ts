// The volumes that a release's pods mount, and which of them the release creates. Used only by the installer before it waits for those pods: sync does not
// wait, and reports a pod that does not start in its health. Pure.
import { fieldAt } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Wanted } from './checks/judge.ts'
import { accessModesOf } from './checks/storage.ts'
import type { Release } from './release.ts'

const claimNames = (workload: KubeObject): readonly string[] => {
  const volumes = fieldAt(workload, 'spec', 'template', 'spec', 'volumes')
  return (Array.isArray(volumes) ? volumes : []).flatMap((v: unknown) => {
    const name = fieldAt(v, 'persistentVolumeClaim', 'claimName')
    return typeof name === 'string' ? [name] : []
  })
}

const replicasOf = (workload: KubeObject): number => {
  const replicas = fieldAt(workload, 'spec', 'replicas')
  return typeof replicas === 'number' ? replicas : 1
}

export function claimsOf({ objects }: Release): Wanted['claims'] {
  const made = objects.filter((o) => o.kind === 'PersistentVolumeClaim')
  return [...new Set(objects.flatMap(claimNames))].map((name) => {
    const own = made.find((o) => o.metadata.name === name)
    const storageClass = fieldAt(own, 'spec', 'storageClassName')
    const modes = accessModesOf(own)
    const pods = objects.filter((o) => claimNames(o).includes(name)).reduce((sum, o) => sum + replicasOf(o), 0)
    return { name, pods, modes, isMade: own !== undefined, ...(typeof storageClass === 'string' && { storageClass }) }
  })
}
