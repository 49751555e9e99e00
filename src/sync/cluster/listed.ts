// Which objects of a commit only the installer of a cluster can allow: those in system namespaces, workloads that name a service account, and pods
// with the power of their node. The installer lists one by giving sync the verb `declare` on it; admission policy kubenode-declared holds the same.
import { API_GROUP } from '#api/kind.ts'
import { DECLARE_VERB, SYSTEM_NAMESPACE_PREFIXES } from '#api/names.ts'
import { numbered } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import type { DesiredObject, Rejected, RenderedTarget } from '../render/rendered.ts'
import { refText } from '../object-ref.ts'
import { syncErrors } from '../sync-errors.ts'

/** What the installer has to have listed, as a right in our API group. */
export interface Listing {
  /** `daemonsets`, or `daemonsets/<account>`. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
  /** Why it needs one. */
  readonly why: string
}

const PLURALS: Readonly<Record<string, string>> = {
  'apps/Deployment': 'deployments',
  'apps/StatefulSet': 'statefulsets',
  'apps/DaemonSet': 'daemonsets',
  '/ConfigMap': 'configmaps',
  '/Service': 'services',
  '/ServiceAccount': 'serviceaccounts',
}

export const isSystemNamespace = (name: string): boolean => SYSTEM_NAMESPACE_PREFIXES.some((p) => name.startsWith(p))

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((v, key) => (isObject(v) ? v[key] : undefined), value)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : [])

const podOf = (object: KubeObject): unknown => at(object, 'spec', 'template', 'spec')

/** The account that every namespace has, with no rights of its own, needs no list. */
const accountsOf = (pod: unknown): readonly string[] => [
  ...new Set(
    ['serviceAccountName', 'serviceAccount']
      .map((field) => at(pod, field))
      .filter((a): a is string => typeof a === 'string' && a !== '' && a !== 'default'),
  ),
]

function isOfTheHost(pod: unknown): boolean {
  const containers = [...listOf(at(pod, 'containers')), ...listOf(at(pod, 'initContainers'))]
  return (
    ['hostNetwork', 'hostPID', 'hostIPC'].some((field) => at(pod, field) === true) ||
    listOf(at(pod, 'volumes')).some((v) => at(v, 'hostPath') !== undefined) ||
    containers.some(
      (c) =>
        at(c, 'securityContext', 'privileged') === true ||
        listOf(at(c, 'securityContext', 'capabilities', 'add')).length > 0,
    )
  )
}

/** Empty for the objects that a commit may declare by itself. */
export function listingsOf({ ref, object }: DesiredObject): readonly Listing[] {
  const plural = PLURALS[`${ref.group}/${ref.kind}`]
  if (plural === undefined) return []
  const { namespace, name } = ref
  const pod = podOf(object)
  const accounts = accountsOf(pod)
  if (accounts.length > 0)
    return accounts.map((account) => ({
      resource: `${plural}/${account}`,
      namespace,
      name,
      why: `it names service account ${account}`,
    }))
  const why = isSystemNamespace(namespace)
    ? `${namespace} is a system namespace`
    : isOfTheHost(pod)
      ? 'its pods have the power of their node'
      : undefined
  return why === undefined ? [] : [{ resource: plural, namespace, name, why }]
}

const reviewType: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
}

async function isListed(client: Pick<KubeClient, 'create'>, listing: Listing, signal?: AbortSignal): Promise<boolean> {
  const [resource = '', subresource = ''] = listing.resource.split('/', 2)
  const { namespace, name } = listing
  const resourceAttributes = { verb: DECLARE_VERB, group: API_GROUP, resource, subresource, namespace, name }
  const review = {
    apiVersion: `${reviewType.group}/${reviewType.version}`,
    kind: reviewType.kind,
    metadata: {},
    spec: { resourceAttributes },
  } as KubeObject
  const { status } = await client.create(reviewType, review, signal === undefined ? {} : { signal })
  return isObject(status) && status['allowed'] === true
}

/** The target without the objects that this cluster does not let a commit declare: those are rejected, with what to do. */
export async function withoutUnlisted(
  client: Pick<KubeClient, 'create'>,
  target: RenderedTarget,
  signal?: AbortSignal,
): Promise<RenderedTarget> {
  const rejected: Rejected[] = []
  for (const desired of target.objects) {
    const problem = await problemOf(client, desired, signal)
    if (problem !== undefined) rejected.push({ ref: desired.ref, problem })
  }
  if (rejected.length === 0) return target
  const refused = new Set(rejected.map((r) => refText(r.ref)))
  const objects = target.objects.filter((o) => !refused.has(refText(o.ref)))
  return { objects, rejected: [...target.rejected, ...rejected] }
}

async function problemOf(
  client: Pick<KubeClient, 'create'>,
  desired: DesiredObject,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { ref } = desired
  const object = refText(ref)
  if (ref.group === '' && ref.kind === 'Namespace' && isSystemNamespace(ref.name))
    return numbered(syncErrors.KN7203({ object }))
  for (const listing of listingsOf(desired)) {
    if (await isListed(client, listing, signal)) continue
    const { why, resource, name, namespace } = listing
    const where = namespace === '' ? '' : ` in namespace ${namespace}`
    return numbered(syncErrors.KN7202({ object, why, resource, name, where, verb: DECLARE_VERB, group: API_GROUP }))
  }
  return undefined
}
