// When a Lease was last renewed, according to the API server. Agents may not read Leases. Instead they send a patch that changes nothing: the
// answer is the object, and admission lets each agent patch only its own Lease and its own Node's.
import type { ObjectKey } from '#api/schema/resource.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { isNotFound } from '#kube/errors.ts'
import { leaseType } from './types.ts'

export type LeaseRenewal =
  | { readonly kind: 'Renewed'; readonly at: number }
  | { readonly kind: 'None' }
  /** The API server did not answer. */
  | { readonly kind: 'Unknown' }

const CALL_MS = 5_000

export async function leaseRenewal(client: Pick<KubeClient, 'patch'>, key: ObjectKey): Promise<LeaseRenewal> {
  try {
    const object: unknown = await client.patch(leaseType, key, { type: 'merge', value: {} }, { timeoutMs: CALL_MS })
    const spec = isObject(object) ? object['spec'] : undefined
    const time = isObject(spec) ? spec['renewTime'] : undefined
    const at = typeof time === 'string' ? Date.parse(time) : Number.NaN
    return Number.isNaN(at) ? { kind: 'None' } : { kind: 'Renewed', at }
  } catch (e) {
    return { kind: isNotFound(e) ? 'None' : 'Unknown' }
  }
}
