// Removes objects that the cluster's installer did not list for git. The installer lists an object by giving sync the verb `declare` or `declare-host`
// on it; admission policy kubenode-declared enforces the same.
import { API_GROUP } from '#api/kind.ts'
import { defined } from '#lib/defined.ts'
import { numbered } from '#lib/errors.ts'
import { isAllowed } from '#kube/access-review.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Listing, listingsOf } from '#declared/listings.ts'
import type { DesiredObject, Rejected, RenderedTarget } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import { syncErrors } from '../sync-errors.ts'

const isListed = async (
  client: Pick<KubeClient, 'create'>,
  { verb, resource, namespace, name }: Listing,
  signal?: AbortSignal,
): Promise<boolean> => (await isAllowed(client, { verb, group: API_GROUP, resource, namespace, name }, signal)) === true

/** The target without the objects that a commit may not declare in this cluster: those are rejected, with instructions. */
export async function withoutUnlisted(
  client: Pick<KubeClient, 'create'>,
  target: RenderedTarget,
  signal?: AbortSignal,
): Promise<RenderedTarget> {
  const rejected: Rejected[] = []
  for (const desired of target.objects) {
    const problem = await problemOf(client, desired, signal)
    if (problem !== undefined) rejected.push({ ref: desired.ref, problem, ...defined({ place: desired.place }) })
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
    return numbered(syncErrors.KN3094_applied({ object, why, resource, name, where, verb, group: API_GROUP }))
  }
  return undefined
}
