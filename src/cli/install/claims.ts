// The volumes that the pods of a release mount, and which of them the release makes itself. Pure.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { Wanted } from './checks/judge.ts'
import type { Release } from './release.ts'

const at = (v: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((o, key) => (isObject(o) ? o[key] : undefined), v)

const claimNames = (workload: KubeObject): readonly string[] => {
  const volumes = at(workload, 'spec', 'template', 'spec', 'volumes')
  return (Array.isArray(volumes) ? volumes : []).flatMap((v: unknown) => {
    const name = at(v, 'persistentVolumeClaim', 'claimName')
    return typeof name === 'string' ? [name] : []
  })
}

export function claimsOf({ objects }: Release): Wanted['claims'] {
  const made = objects.filter((o) => o.kind === 'PersistentVolumeClaim')
  return [...new Set(objects.flatMap(claimNames))].map((name) => {
    const own = made.find((o) => o.metadata.name === name)
    const storageClass = at(own, 'spec', 'storageClassName')
    return { name, isMade: own !== undefined, ...(typeof storageClass === 'string' && { storageClass }) }
  })
}
