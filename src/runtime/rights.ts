// Checks whether a role may write its results, before and while it leads: a leader without a right would keep out a candidate that has it.
import type { Clock, Timer } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { isAllowed } from '#kube/access-review.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Part } from './manager.ts'

export interface Right {
  readonly verb: 'create' | 'update' | 'patch' | 'delete'
  readonly group: string
  /** With its subresource: `machines/status`. */
  readonly resource: string
  /** Where it is needed; if left out, in the whole cluster. */
  readonly namespace?: string
}

export const rightText = ({ verb, group, resource, namespace }: Right): string =>
  `not allowed to ${verb} ${resource}${group === '' ? '' : ` in API group ${group}`}${namespace === undefined ? '' : ` in namespace ${namespace}`}`

/** Longest time that a leader without a right blocks the cluster before another candidate may lead. */
export const RIGHTS_MS = 30_000

export interface RightsOptions {
  readonly client: Pick<KubeClient, 'create'>
  readonly clock: Pick<Clock, 'after'>
  readonly log: Logger
  readonly needs: readonly Right[]
  readonly onMissing: (right: Right) => void
  readonly everyMs?: number
}

/** The first right that the server denies. An unanswered check counts as granted: the work will show. */
export async function missingRight({
  client,
  log,
  needs,
}: Pick<RightsOptions, 'client' | 'log' | 'needs'>): Promise<Right | undefined> {
  for (const right of needs) {
    try {
      if ((await isAllowed(client, right)) === false) return right
    } catch (e) {
      log.warn('cannot ask which rights this identity has', { error: messageOf(e) })
      return undefined
    }
  }
  return undefined
}

/** Repeats the check while the role works. */
export class RightsWatch implements Part {
  readonly name = 'rights'
  readonly #options: RightsOptions
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: RightsOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#options.needs.length > 0) this.#later()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #later(): void {
    const { clock, everyMs = RIGHTS_MS } = this.#options
    this.#timer = clock.after(everyMs, () => void this.#ask())
  }

  async #ask(): Promise<void> {
    const missing = await missingRight(this.#options)
    if (this.#isStopped) return
    if (missing === undefined) this.#later()
    else this.#options.onMissing(missing)
  }
}
