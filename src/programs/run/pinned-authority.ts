// The CA that joining hosts pin for artifacts: the given one, or that of this cluster's artifact servers once they have created it.
import { ownAuthority } from '#artifacts/own-authority.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Part } from '#runtime/manager.ts'

/** The CA is created once and kept. A poll is one read of a Secret. */
const POLL_MS = 60_000
/** Machines wait while there is none. */
const MISSING_POLL_MS = 2_000

export class PinnedAuthority implements Part {
  readonly name = 'artifact-authority'
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #log: Logger
  #timer: Timer | undefined
  #isStopped = false
  /** Base64 PEM; undefined while there is none. */
  value: string | undefined

  constructor({ client, clock, log }: { readonly client: KubeClient; readonly clock: Clock; readonly log: Logger }) {
    this.#client = client
    this.#clock = clock
    this.#log = log
  }

  async start(): Promise<void> {
    try {
      const pem = await ownAuthority(this.#client)
      if (pem !== undefined) this.value = Buffer.from(pem).toString('base64')
    } catch (error) {
      this.#log.warn('cannot read the authority of artifacts', { error: messageOf(error) })
    }
    if (!this.#isStopped)
      this.#timer = this.#clock.after(this.value === undefined ? MISSING_POLL_MS : POLL_MS, () => void this.start())
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }
}
