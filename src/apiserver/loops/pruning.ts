// What is only of interest for a while: events after an hour, leases whose holder has been silent for a day, finished requests
// for certificates.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { removeObject } from '../storage/internal-write.ts'

const HOUR_MS = 3_600_000
const EVENT_MS = HOUR_MS
/** Far beyond any lease duration: its owner is not coming back under that name. */
const LEASE_MS = 24 * HOUR_MS
const REQUEST_MS = HOUR_MS
/** Objects parsed in one turn of the event loop. */
const READ_AT_ONCE = 100

const age = (o: KubeObject, now: number, field?: unknown): number =>
  now - Date.parse(typeof field === 'string' ? field : (o.metadata.creationTimestamp ?? ''))
const fieldsOf = (v: unknown): Readonly<Record<string, unknown>> => (isObject(v) ? v : {})

export async function prune(parts: ServerParts): Promise<void> {
  const { store, clock } = parts
  const now = clock.now()
  const drop = async (resource: string, isOld: (o: KubeObject) => boolean) => {
    for (const [i, s] of store.collection(resource).snapshot().entries()) {
      if (isOld(s.value)) await removeObject(store, s)
      else if (i % READ_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await drop('/events', (o) => {
    const last = fieldsOf(o['series'])['lastObservedTime'] ?? o['lastTimestamp'] ?? o['eventTime']
    return Math.min(age(o, now), age(o, now, last)) > EVENT_MS
  })
  // only leases of nodes and servers: those of applications may be found again after a long pause
  await drop('coordination.k8s.io/leases', (o) => {
    const kept = o.metadata.namespace !== 'kube-node-lease' || (o.metadata.ownerReferences ?? []).length > 0
    return !kept && age(o, now, fieldsOf(o['spec'])['renewTime']) > LEASE_MS
  })
  await drop('certificates.k8s.io/certificatesigningrequests', (o) => {
    const { conditions, certificate } = fieldsOf(o['status'])
    const decided = Array.isArray(conditions) && conditions.length > 0
    return (decided || certificate !== undefined) && age(o, now) > REQUEST_MS
  })
}
