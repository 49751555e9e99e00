// Checks whether the claims that pods mount get a volume. Pods of a claim without a volume never start.
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { InstallContext } from '../context.ts'

interface SeenClaim {
  readonly name: string
  /** Pending, Bound or Lost. Also Pending until the first pod mounts it, if its class waits for one. */
  readonly phase: string
  /** Undefined: the default. Empty: a volume without a class. */
  readonly storageClass: string | undefined
  /** Of the volume, once it exists. */
  readonly modes: readonly string[]
}

/** A claim that pods mount. */
export interface WantedClaim {
  readonly name: string
  /** Set for a claim that the release creates. */
  readonly storageClass?: string
  readonly isMade: boolean
  readonly modes: readonly string[]
  /** How many pods mount it. */
  readonly pods: number
}

export interface Storage {
  readonly classes: readonly string[]
  readonly hasDefault: boolean
  /** Classes of manually created volumes, which need no StorageClass. */
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

export const accessModesOf = (claim: unknown): readonly string[] => {
  const modesIn = (part: 'status' | 'spec'): readonly unknown[] => {
    const owner = isObject(claim) ? claim[part] : undefined
    const modes = isObject(owner) ? owner['accessModes'] : undefined
    return Array.isArray(modes) ? modes : []
  }
  const granted = modesIn('status')
  return (granted.length > 0 ? granted : modesIn('spec')).filter((m) => typeof m === 'string')
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
      modes: accessModesOf(c),
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

const SHARED_MODES = ['ReadOnlyMany', 'ReadWriteMany']

export interface NarrowClaim {
  readonly claim: string
  readonly mode: string
  readonly pods: string
  /** `ReadWriteOncePod`: the second pod never starts. With single-node access, all pods must run on that node. */
  readonly isForOnePod: boolean
}

/** A claim mounted by more pods than its volume allows on different nodes. */
export function narrowClaim(
  { name: claim, modes: wanted, pods }: WantedClaim,
  { claims }: Pick<Storage, 'claims'>,
): NarrowClaim | undefined {
  const modes = claims.find((c) => c.name === claim)?.modes ?? wanted
  const [mode] = modes
  if (pods < 2 || mode === undefined || modes.some((m) => SHARED_MODES.includes(m))) return undefined
  return { claim, mode, pods: String(pods), isForOnePod: modes.every((m) => m === 'ReadWriteOncePod') }
}
