// Since when the permit of each open order is not in force, by this process's stopwatch. A permit that a cache does not have yet counts as not in force:
// the order waits, and nothing is withdrawn before it should be.
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { openSwitches } from '#api/protocol/component-order.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import { permitAnswer } from '#permits/permits.ts'

export class EndedOrders {
  readonly #monotonic: () => number
  readonly #since = new Map<string, ReadonlyMap<string, number>>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Milliseconds by the name of the permit. */
  observe(machine: Machine, permits: readonly OperationPermit[]): ReadonlyMap<string, number> {
    const uid = uidOf(machine)
    const now = this.#monotonic()
    const before = this.#since.get(uid)
    const since = new Map<string, number>()
    for (const { switch: order } of openSwitches(machine)) {
      if (order === undefined) continue
      const permit = permits.find((p) => p.metadata.name === order.permit)
      if (permitAnswer(permit, uid).kind !== 'Granted') since.set(order.permit, before?.get(order.permit) ?? now)
    }
    if (since.size > 0) this.#since.set(uid, since)
    else this.#since.delete(uid)
    return new Map([...since].map(([name, at]) => [name, now - at]))
  }

  /** Its machine was deleted. */
  forget(uid: string): void {
    this.#since.delete(uid)
  }
}
