// The version of the API server, polled periodically. Unknown until the first answer, and again after a long silence.
import { servedVersion } from '#api/served-version.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'

/** An upgrade of a control plane takes minutes. */
const FRESH_MS = 60_000
/** A server that has not answered for this long may have been upgraded. */
const STALE_MS = 600_000

export class ServerVersion {
  readonly #client: KubeClient
  readonly #now: () => number
  #known: { readonly version: string; readonly at: number } | undefined

  constructor(client: KubeClient, now: () => number) {
    this.#client = client
    this.#now = now
  }

  async read(signal?: AbortSignal): Promise<string | undefined> {
    if (this.#known !== undefined && this.#now() - this.#known.at < FRESH_MS) return this.#known.version
    const version = await this.#ask(signal)
    if (version !== undefined) this.#known = { version, at: this.#now() }
    else if (this.#known !== undefined && this.#now() - this.#known.at > STALE_MS) this.#known = undefined
    return this.#known?.version
  }

  async #ask(signal: AbortSignal | undefined): Promise<string | undefined> {
    try {
      const { status, text } = await this.#client.raw({ method: 'GET', path: '/version', ...defined({ signal }) })
      return status === 200 ? servedVersion(JSON.parse(text)) : undefined
    } catch {
      // Unknown: callers that need it wait and report that.
      return undefined
    }
  }
}
