// Deletes short-lived objects: events after an hour, leases whose holder has been silent for a day, certificate requests: finished ones
// after an hour, and unanswered ones after a day. Times set by clients cannot extend this.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { removeObject } from '../storage/internal-write.ts'

const HOUR_MS = 3_600_000
const EVENT_MS = HOUR_MS
/** Far beyond any lease duration: its owner is not coming back under that name. */
const LEASE_MS = 24 * HOUR_MS
const REQUEST_MS = HOUR_MS
const UNANSWERED_MS = 24 * HOUR_MS
/** Tolerated clock difference: a time further in the future is ignored. */
const SKEW_MS = 5 * 60_000
/** Objects parsed in one turn of the event loop. */
const READ_AT_ONCE = 100

const age = (o: KubeObject, now: number, field?: unknown): number =>
  now - Date.parse(typeof field === 'string' ? field : (o.metadata.creationTimestamp ?? ''))
const fieldsOf = (v: unknown): Readonly<Record<string, unknown>> => (isObject(v) ? v : {})

/** By resource, whether an object is over. Pure. */
export const FORGOTTEN: Readonly<Record<string, (o: KubeObject, now: number) => boolean>> = {
  '/events': (o, now) => {
    const last = fieldsOf(o['series'])['lastObservedTime'] ?? o['lastTimestamp'] ?? o['eventTime']
    const seen = age(o, now, last)
    // Without a time, or with one in the future, its creation counts.
    return (seen >= -SKEW_MS ? Math.min(age(o, now), seen) : age(o, now)) > EVENT_MS
  },
  // only leases of nodes and servers: those of applications may be needed after a long pause
  'coordination.k8s.io/leases': (o, now) => {
    const kept = o.metadata.namespace !== 'kube-node-lease' || (o.metadata.ownerReferences ?? []).length > 0
    return !kept && age(o, now, fieldsOf(o['spec'])['renewTime']) > LEASE_MS
  },
  'certificates.k8s.io/certificatesigningrequests': (o, now) => {
    const { conditions, certificate } = fieldsOf(o['status'])
    const decided = Array.isArray(conditions) && conditions.length > 0
    return age(o, now) > (decided || certificate !== undefined ? REQUEST_MS : UNANSWERED_MS)
  },
}

export async function prune({ store, clock }: ServerParts): Promise<void> {
  const now = clock.now()
  for (const [resource, isOver] of Object.entries(FORGOTTEN))
    for (const [i, s] of store.collection(resource).snapshot().entries()) {
      if (isOver(s.value, now)) await removeObject(store, s)
      else if (i % READ_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
    }
}
