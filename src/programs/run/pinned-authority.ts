// The authority that joining hosts pin for artifacts: the one that was given, or that of our own artifact servers as soon as they have made it.
import { ownAuthority } from '#artifacts/own-authority.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Part } from '#runtime/manager.ts'

/** It is created once and kept; a poll costs one read of a Secret. */
const POLL_MS = 60_000
/** While there is none, machines wait for it. */
const MISSING_POLL_MS = 2_000

export class PinnedAuthority implements Part {
  readonly name = 'artifact-authority'
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #log: Logger
  #timer: Timer | undefined
  #isStopped = false
  /** PEM in base64; undefined while there is none. */
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
