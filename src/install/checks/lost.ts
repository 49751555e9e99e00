// Finds parts of an installation that were deleted or weakened since: admission policies, rights, the list of revoked agents, Secrets that programs only
// update. Pure.
import { refOf, refText } from '#delivery/object-ref.ts'
import { isChanged } from '#kube/admission-policies.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Alteration } from './altered.ts'

/** Kinds whose loss no other check reports. */
const KEPT_KINDS: readonly string[] = [
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ConfigMap',
  'Secret',
]
/** The same for what `install` recorded: other tools may leave them out on purpose, and other releases have others. */
const RECORDED_KINDS: readonly string[] = [
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'Service',
  'NetworkPolicy',
]

/** `recorded`: the objects that the installation has, by `refText`. One of another release never had what only this one brings. */
export function isKept(object: KubeObject, recorded: ReadonlySet<string>, isSameRelease: boolean): boolean {
  const isRecorded = recorded.has(refText(refOf(object)))
  if (KEPT_KINDS.includes(object.kind)) return isSameRelease || recorded.size === 0 || isRecorded
  return RECORDED_KINDS.includes(object.kind) && isRecorded
}

const REMEDY = 'run kubenode install with its settings again, which sets it back'

/** `liveOf` undefined: it does not exist. Policies of another release differ on purpose, so only deleted ones are reported then. */
export function lostParts(
  shipped: readonly KubeObject[],
  liveOf: (object: KubeObject) => KubeObject | undefined,
  isSameRelease: boolean,
): readonly Alteration[] {
  return shipped.flatMap((object): readonly Alteration[] => {
    const live = liveOf(object)
    const { namespace, name } = object.metadata
    const what = `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
    if (live === undefined) return [{ object: what, how: 'it was deleted', remedy: REMEDY }]
    const isPolicy = object.kind.startsWith('ValidatingAdmissionPolicy')
    if (!isPolicy || !isSameRelease || !isChanged(object, live)) return []
    return [{ object: what, how: 'it is no longer as this release installs it', remedy: REMEDY }]
  })
}
