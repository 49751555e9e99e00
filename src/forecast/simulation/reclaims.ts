// Hosts that a provider reclaims: from the notice on they count in every budget and no repair touches them; then they stop until a new host serves in their
// place. The new one has the name, the place and the components of the old one.
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { timestamp } from '#lib/clock.ts'
import { formatDuration } from '#lib/duration.ts'
import type { Creations } from './creations.ts'
import type { Hosts } from './hosts.ts'
import type { ReclaimOf } from './incidents.ts'
import type { World } from './world.ts'

/** No provider says when its host will be replaced: the event ends with the replacement. */
const LONGEST_MS = 31 * 86_400_000

export interface ReclaimsOptions {
  readonly world: World
  readonly hosts: Hosts
  readonly creations: Creations
  readonly onEvent: (what: string) => void
}

export class Reclaims {
  count = 0
  readonly #options: ReclaimsOptions
  /** By machine, from the notice to the new host. */
  readonly #open = new Map<string, ReclaimOf>()

  constructor(options: ReclaimsOptions) {
    this.#options = options
  }

  /** A host that is being reclaimed cannot be reclaimed again. */
  announced(of: ReclaimOf): void {
    if (this.#open.has(of.machine)) return
    const { world, onEvent } = this.#options
    this.#open.set(of.machine, of)
    this.count++
    world.maintenance.push(reclaimEvent(of))
    onEvent(`the provider reclaims the host of ${of.machine} in ${formatDuration(of.goneAt - world.now)}`)
  }

  /** Returns when a new host serves; undefined if this host was being reclaimed already. */
  gone(of: ReclaimOf): number | undefined {
    const { machine, replacedAfterMs } = of
    if (this.#open.get(machine) !== of) return undefined
    const { world, hosts, creations, onEvent } = this.#options
    hosts.reach([machine], false, world.now)
    const begins = creations.order(world.now)
    const waits = begins === world.now ? '' : `; the provider makes a new one in ${formatDuration(begins - world.now)}`
    onEvent(`the host of ${machine} stops${waits}`)
    return begins + replacedAfterMs
  }

  replaced(of: ReclaimOf): void {
    const { world, hosts, onEvent } = this.#options
    this.#open.delete(of.machine)
    hosts.renew(of.machine, world.now)
    hosts.reach([of.machine], true, world.now)
    const at = world.maintenance.findIndex((e) => e.metadata.name === eventName(of))
    if (at >= 0) world.maintenance.splice(at, 1)
    onEvent(`a new host serves as ${of.machine}`)
  }
}

const eventName = ({ machine, goneAt }: ReclaimOf): string => `reclaim-${machine}-${goneAt}`

const reclaimEvent = (of: ReclaimOf): MaintenanceEvent => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'MaintenanceEvent',
  metadata: { name: eventName(of), uid: eventName(of) },
  spec: {
    machine: of.machine,
    source: 'Provider',
    eventId: eventName(of),
    kind: 'Reclaim',
    state: 'Scheduled',
    unplanned: true,
    dataLoss: true,
    notBefore: timestamp(of.goneAt),
    notAfter: timestamp(of.goneAt + LONGEST_MS),
  },
})
