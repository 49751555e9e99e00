// Decides whether so many machines are silent at once that the network is to blame. Machines that are still joining count too: nothing is known about
// them either.
import type { Reading } from './reading.ts'

/** One or two silent machines have a fault of their own. */
const FEW = 2
/** A fifth of all machines, or half of a zone or rack, does not die at once by chance. */
const SHARE_OF_ALL = 0.2
const SHARE_OF_DOMAIN = 0.5

export interface Outage {
  readonly silent: number
  /** How many of these never had an agent heartbeat. */
  readonly joining: number
  readonly of: number
  readonly where: string
}

/** `silentCount`: of the members. */
export function outageOf(members: readonly Reading[], silentCount: number): Outage | undefined {
  if (silentCount <= FEW) return undefined
  const silent = members.filter((m) => m.health === 'Silent')
  const counting = members.filter((m) => m.health !== 'Joining')
  if (silent.length > counting.length * SHARE_OF_ALL)
    return { silent: silent.length, joining: joiningOf(silent), of: counting.length, where: 'of the set' }
  return domainOutage(counting, silent, 'zone') ?? domainOutage(counting, silent, 'rack')
}

function domainOutage(
  all: readonly Reading[],
  silent: readonly Reading[],
  domain: 'zone' | 'rack',
): Outage | undefined {
  const suspects = [...countsBy(silent, domain)].filter(([, n]) => n > FEW)
  if (suspects.length === 0) return undefined
  // Counted once, not once per domain: there may be hundreds of racks and thousands of machines.
  const totals = countsBy(all, domain)
  for (const [name, n] of suspects) {
    const of = totals.get(name) ?? 0
    if (n > of * SHARE_OF_DOMAIN)
      return { silent: n, joining: joiningOf(silent, domain, name), of, where: `of ${domain} ${name}` }
  }
  return undefined
}

const joiningOf = (silent: readonly Reading[], domain?: 'zone' | 'rack', name?: string): number =>
  silent.filter((m) => m.isAwaited && (domain === undefined || m.machine.spec[domain] === name)).length

function countsBy(members: readonly Reading[], domain: 'zone' | 'rack'): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { machine } of members) {
    const name = machine.spec[domain]
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}
