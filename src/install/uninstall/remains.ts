// Which objects of a cluster belong to an installation: by the Inventory, by our label together with our namespaces or names, and by the names that every
// release has. Found again after a kill at any step.
import { OWN_NAMESPACES, SYSTEM_NAMESPACE } from '#api/names.ts'
import { groupOf } from '#api/schema/resource.ts'
import { listAll } from '#kube/list-all.ts'
import { type InventoryRef, refOf, refText, type ObjectRef } from '#delivery/object-ref.ts'
import { byDeleteOrder } from '#delivery/order.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import { ifServed, type InstallContext } from '../context.ts'
import type { Installed } from '../observe.ts'
import { BY_LABEL } from '../observe.ts'

/** Kinds that an installation may have made anywhere, by API version. */
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

/** Made by the same names in every release, whatever the settings are. */
function shipped(): readonly ObjectRef[] {
  const { rest, hub } = releaseManifests()
  return [...rest, ...hub].map(refOf)
}

const OWN: ReadonlySet<string> = new Set(OWN_NAMESPACES)
const OWN_NAME = /^kubenode[-:]/

/**
 * Any tool may write the label: control planes from a commit have it, and so do namespaces and dashboards that someone sorts under KubeNode. With a namespace
 * goes all that is in it, so one that only has the label stays.
 */
function isInstalled({ kind, namespace, name }: ObjectRef): boolean {
  if (namespace !== '') return OWN.has(namespace)
  return kind === 'Namespace' ? OWN.has(name) : OWN_NAME.test(name)
}

/** Without definitions: those are a decision of their own. In the order of deletion. */
export async function remainsOf(
  { client, types }: InstallContext,
  { inventory }: Installed,
): Promise<readonly InventoryRef[]> {
  const labelled: ObjectRef[] = []
  for (const [apiVersion, kind] of LISTED) {
    // A kind that is not served has no objects. Any other answer is an error: an uninstall must not report as removed what it could not list.
    const type = await types.ofGroup(groupOf(apiVersion), kind)
    if (type === undefined) continue
    const found = (await ifServed(() => listAll(client, type, { labelSelector: BY_LABEL }))) ?? []
    labelled.push(...found.map((o) => refOf({ ...o, apiVersion, kind })).filter(isInstalled))
  }
  const all = new Map<string, InventoryRef>([...labelled, ...shipped(), ...inventory].map((r) => [refText(r), r]))
  return [...all.values()].filter((r) => r.kind !== 'CustomResourceDefinition').toSorted(byDeleteOrder)
}

/** Objects inside a namespace that goes whole need no deletion of their own. */
export const isInside = ({ namespace }: ObjectRef, removed: ReadonlySet<string>): boolean => removed.has(namespace)

export const namespacesIn = (refs: readonly ObjectRef[]): readonly string[] =>
  [...new Set([...refs.filter((r) => r.kind === 'Namespace').map((r) => r.name), SYSTEM_NAMESPACE])].toSorted()
