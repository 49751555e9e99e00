// Whether the claims that pods mount get a volume: what is read about them, and what is wrong with one. Pods of a claim without a volume never start.
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import type { InstallContext } from '../context.ts'

interface SeenClaim {
  readonly name: string
  /** Pending, Bound or Lost; Pending as well until the first pod that mounts it, where its class waits for one. */
  readonly phase: string
  /** Undefined: the default. Empty: a volume without a class. */
  readonly storageClass: string | undefined
}

/** A claim that pods mount. */
export interface WantedClaim {
  readonly name: string
  /** Of one that the release makes. */
  readonly storageClass?: string
  readonly isMade: boolean
}

export interface Storage {
  readonly classes: readonly string[]
  readonly hasDefault: boolean
  /** Of volumes that people made, which need no StorageClass. */
  readonly volumeClasses: readonly string[]
  readonly claims: readonly SeenClaim[]
}

const storageClassType = coreKind('StorageClass')
const claimType = coreKind('PersistentVolumeClaim')
const volumeType: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
}

const field = (v: unknown, name: string): string | undefined => {
  const value = isObject(v) ? v[name] : undefined
  return typeof value === 'string' ? value : undefined
}

export async function observeStorage({ client }: Pick<InstallContext, 'client'>): Promise<Storage> {
  const [classes, claims, volumes] = await Promise.all([
    listAll(client, storageClassType),
    listAll(client, claimType, { namespace: SYSTEM_NAMESPACE }),
    listAll(client, volumeType),
  ])
  const isDefault = (o: KubeObject): boolean =>
    o.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true'
  return {
    classes: classes.map((c) => c.metadata.name ?? ''),
    hasDefault: classes.some(isDefault),
    volumeClasses: volumes.map((v) => field(v['spec'], 'storageClassName') ?? ''),
    claims: claims.map((c) => ({
      name: c.metadata.name ?? '',
      phase: field(c['status'], 'phase') ?? 'Pending',
      storageClass: field(c['spec'], 'storageClassName'),
    })),
  }
}

export interface StorageProblem {
  readonly claim: string
  readonly why: string
  readonly remedy: string
}

const NEW_CLASS = 'create it, or name another in --values'
const OTHER_CLASS = 'create it, or delete the claim and create it with another one of kubectl get storageclasses'

export function storageProblem(
  { name: claim, storageClass, isMade }: WantedClaim,
  { classes, hasDefault, volumeClasses, claims }: Storage,
): StorageProblem | undefined {
  const there = claims.find((c) => c.name === claim)
  if (there !== undefined) {
    const { phase, storageClass: own } = there
    if (phase === 'Lost')
      return { claim, why: 'its volume was deleted', remedy: 'delete the claim and create it again' }
    const isServed = [...classes, ...volumeClasses].includes(own ?? '') || (own === undefined && hasDefault)
    return phase === 'Bound' || isServed
      ? undefined
      : { claim, why: `StorageClass ${own || '(none given, and no default)'} does not exist`, remedy: OTHER_CLASS }
  }
  if (!isMade)
    return {
      claim,
      why: `it is not in namespace ${SYSTEM_NAMESPACE}`,
      remedy: `create it there; before the first installation, create the namespace as well (kubectl create namespace ${SYSTEM_NAMESPACE})`,
    }
  if (storageClass === undefined)
    return hasDefault ? undefined : { claim, why: 'the cluster has no default StorageClass', remedy: NEW_CLASS }
  return classes.includes(storageClass)
    ? undefined
    : { claim, why: `StorageClass ${storageClass} does not exist`, remedy: NEW_CLASS }
}
