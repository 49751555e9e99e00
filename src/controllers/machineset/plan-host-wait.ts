// What a set waits for if its provider gives no hosts. The machines have the reasons; the set reports how many, and when the first one is requested
// again. Pure.
import { type Reason, isReason } from '#api/catalogue.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { findCondition } from '#kube/conditions.ts'
import { counted } from '#lib/counted.ts'
import { fit } from '#runtime/waiting.ts'
import type { Extra } from './actions.ts'
import { defined } from '#lib/defined.ts'

const OF_PROVIDERS: ReadonlySet<string> = new Set<Reason>([
  'ProviderError',
  'ProviderThrottled',
  'OfferingsExhausted',
  'ReferenceMissing',
])

/** The provider created no host, its answer was unusable, or no provider has this name. */
function troubleOf({ status }: Machine): Reason | undefined {
  const host = findCondition(status?.conditions, 'InfrastructureReady')
  const isWithout = status?.nodeRef === undefined && host?.status === 'False'
  return isWithout && OF_PROVIDERS.has(host.reason) && isReason(host.reason) ? host.reason : undefined
}

export function hostsWait(alive: readonly Machine[]): Extra {
  const without = alive.filter((m) => troubleOf(m) !== undefined).toSorted(byRetry)
  const [first] = without
  if (first === undefined) return {}
  const { waitingFor } = first.status ?? {}
  const count = `${without.length} of ${counted(alive.length, 'machine')} without a host`
  const seen = fit(`${count}; ${nameOf(first)}: ${waitingFor?.seen ?? 'see its status'}`)
  const because = troubleOf(first)
  return {
    waiting: {
      predicate: 'HostsMade',
      seen,
      unblock: waitingFor?.unblock ?? 'the provider has created the hosts',
      ...defined({ because }),
    },
  }
}

/** The earliest retry first. Equal times are sorted by name, so that the answer stays the same. */
function byRetry(a: Machine, b: Machine): number {
  const key = (m: Machine) => `${m.status?.provisioning?.retryAt ?? ''} ${nameOf(m)}`
  return key(a) < key(b) ? -1 : 1
}
