// Reads the holds from the server right before repairs start. A cache that missed one would let a repair start that a person has just forbidden.
import { listAll } from '#kube/list-all.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import type { Clock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'

/** Jobs that start together, under any rules, share one read: a burst must not read once per job. */
export const ASKED_FOR_MS = 1_000

export class FreshHolds {
  readonly #client: Pick<KubeClient, 'list'>
  readonly #clock: Pick<Clock, 'monotonic'>
  #read: { readonly at: number; readonly holds: Promise<readonly OperationalHold[]> } | undefined

  constructor(client: Pick<KubeClient, 'list'>, clock: Pick<Clock, 'monotonic'>) {
    this.#client = client
    this.#clock = clock
  }

  async now(signal: AbortSignal): Promise<readonly OperationalHold[]> {
    const at = this.#clock.monotonic()
    const read = this.#read !== undefined && at - this.#read.at < ASKED_FOR_MS ? this.#read : undefined
    const mine = read ?? { at, holds: listAll(this.#client, operationalHold, { signal }) }
    this.#read = mine
    try {
      return await mine.holds
    } catch (error) {
      if (this.#read === mine) this.#read = undefined
      throw error
    }
  }
}
