// Which of a cluster's objects belong to an installation: by the Inventory, by KubeNode's label together with its namespaces or names, and by names that every
// release has. Finds them again after a kill at any step.
import { OWN_NAMESPACES, SYSTEM_NAMESPACE } from '#api/names.ts'
import { groupOf } from '#api/schema/resource.ts'
import { listAll } from '#kube/list-all.ts'
import { type InventoryRef, refOf, refText, type ObjectRef } from '#delivery/object-ref.ts'
import { byDeleteOrder } from '#delivery/order.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import { ifServed, type InstallContext } from '../context.ts'
import type { Installed } from '../observe.ts'
import { BY_LABEL } from '../observe.ts'

/** Kinds that an installation may create anywhere, by API version. */
const LISTED: readonly (readonly [string, string])[] = [
  ['v1', 'Namespace'],
  ['v1', 'ServiceAccount'],
  ['v1', 'Service'],
  ['v1', 'ConfigMap'],
  ['v1', 'Secret'],
  ['v1', 'ResourceQuota'],
  ['apps/v1', 'Deployment'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['networking.k8s.io/v1', 'NetworkPolicy'],
  ['scheduling.k8s.io/v1', 'PriorityClass'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding'],
  ['admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy'],
  ['admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicyBinding'],
  ['flowcontrol.apiserver.k8s.io/v1', 'FlowSchema'],
  ['flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration'],
]

/** Objects with the same names in every release, whatever the settings. */
function shipped(): readonly ObjectRef[] {
  const { rest, hub } = releaseManifests()
  return [...rest, ...hub].map(refOf)
}

const OWN: ReadonlySet<string> = new Set(OWN_NAMESPACES)
const OWN_NAME = /^kubenode[-:]/

/**
 * Any tool may set the label: control planes from a commit have it, and so do namespaces and dashboards that a user files under KubeNode. Deleting a namespace
 * deletes everything in it, so one that only has the label stays.
 */
function isInstalled({ kind, namespace, name }: ObjectRef): boolean {
  if (namespace !== '') return OWN.has(namespace)
  return kind === 'Namespace' ? OWN.has(name) : OWN_NAME.test(name)
}

/** In deletion order, without definitions, which are decided separately. */
export async function remainsOf(
  { client, types }: InstallContext,
  { inventory }: Installed,
): Promise<readonly InventoryRef[]> {
  const labelled: ObjectRef[] = []
  for (const [apiVersion, kind] of LISTED) {
    // A kind that is not served has no objects. Any other response is an error: an uninstall must not report as removed what it could not list.
    const type = await types.ofGroup(groupOf(apiVersion), kind)
    if (type === undefined) continue
    const found = (await ifServed(() => listAll(client, type, { labelSelector: BY_LABEL }))) ?? []
    labelled.push(...found.map((o) => refOf({ ...o, apiVersion, kind })).filter(isInstalled))
  }
  const all = new Map<string, InventoryRef>([...labelled, ...shipped(), ...inventory].map((r) => [refText(r), r]))
  return [...all.values()].filter((r) => r.kind !== 'CustomResourceDefinition').toSorted(byDeleteOrder)
}

/** Objects in a namespace that is deleted whole need no separate deletion. */
export const isInside = ({ namespace }: ObjectRef, removed: ReadonlySet<string>): boolean => removed.has(namespace)

export const namespacesIn = (refs: readonly ObjectRef[]): readonly string[] =>
  [...new Set([...refs.filter((r) => r.kind === 'Namespace').map((r) => r.name), SYSTEM_NAMESPACE])].toSorted()
