// Leaves out what the installer of a cluster did not list for git. The installer lists an object by giving sync the verb `declare` or `declare-host` on it;
// admission policy kubenode-declared holds the same.
import { API_GROUP } from '#api/kind.ts'
import { numbered } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Listing, listingsOf } from '#declared/listings.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import type { DesiredObject, Rejected, RenderedTarget } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import { syncErrors } from '../sync-errors.ts'

const reviewType: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
}

async function isListed(client: Pick<KubeClient, 'create'>, listing: Listing, signal?: AbortSignal): Promise<boolean> {
  const [resource = '', subresource = ''] = listing.resource.split('/', 2)
  const { verb, namespace, name } = listing
  const resourceAttributes = { verb, group: API_GROUP, resource, subresource, namespace, name }
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
  for (const listing of listingsOf(desired.object)) {
    if (await isListed(client, listing, signal)) continue
    const { why, verb, resource, name, namespace } = listing
    const where = namespace === '' ? '' : ` in namespace ${namespace}`
    return numbered(syncErrors.KN7202({ object, why, resource, name, where, verb, group: API_GROUP }))
  }
  return undefined
}
