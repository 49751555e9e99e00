// Keeps credentials fresh: reads files again every minute and whenever the server or TLS refuses them, so rotation needs no restart.
import { readFile } from 'node:fs/promises'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { ConnectionConfig, Identity, Source } from './connection.ts'
import { kubeErrors } from '../kube-errors.ts'

export interface TlsMaterial {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

/** client-go rereads tokens at the same interval; projected tokens and mounted CAs change within minutes. */
const REREAD_MS = 60_000
/** Minimum interval for a source whose answers expire at once. */
const SHORTEST_LIFE_MS = 1_000
/** A server that refuses every answer of a plugin must not start the plugin on every request. */
const REFUSED_AGAIN_MS = 10_000

/** The credentials a request is sent with. */
export interface Loaded {
  readonly tls: TlsMaterial
  readonly token: string | undefined
  readonly readAt: number
  readonly goodUntil: number
}

export class Credentials {
  readonly #config: ConnectionConfig
  readonly #clock: Clock
  #loaded: Loaded | undefined
  #loading: Promise<Loaded> | undefined
  #refusedAt = -Infinity

  constructor(config: ConnectionConfig, clock: Clock) {
    this.#config = config
    this.#clock = clock
  }

  /** The last loaded credentials, which a request that starts now will most likely use. */
  get latest(): Loaded | undefined {
    return this.#loaded
  }

  /** Current credentials; the TLS part is the same object while nothing changes, so that agents can be reused. */
  async current(): Promise<Loaded> {
    const now = this.#clock.monotonic()
    if (this.#loaded !== undefined && now < this.#loaded.goodUntil) return this.#loaded
    try {
      return await this.#load(false)
    } catch (e) {
      // A file may be briefly missing while it is replaced: use the last good content.
      if (this.#loaded === undefined) throw e
      this.#loaded = { ...this.#loaded, goodUntil: now + SHORTEST_LIFE_MS }
      return this.#loaded
    }
  }

  /** Reads everything again, unless another request did so since `used` was current. True if anything changed, so that a retry makes sense. */
  async refresh(used: Loaded | undefined): Promise<boolean> {
    const isDifferent = (now: Loaded): boolean => used === undefined || now.tls !== used.tls || now.token !== used.token
    // A read that is already running started before the refusal.
    const latest = (await this.#loading?.catch(() => undefined)) ?? this.#loaded
    if (latest !== undefined && latest !== used && isDifferent(latest)) return true
    if (this.#config.identity !== undefined) {
      const now = this.#clock.monotonic()
      if (now - this.#refusedAt < REFUSED_AGAIN_MS) return false
      this.#refusedAt = now
    }
    return isDifferent(await this.#load(true))
  }

  #load(isRefused: boolean): Promise<Loaded> {
    this.#loading ??= this.#read(isRefused).finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #read(isRefused: boolean): Promise<Loaded> {
    const { ca, clientCertificate, token, identity } = this.#config
    const own: Identity = identity === undefined ? {} : await identity(isRefused)
    const pair = own.clientCertificate
    const tls: TlsMaterial = {
      ca: await readSource(ca, 'the CA'),
      cert: pair?.cert ?? (await readSource(clientCertificate?.cert, 'the client certificate')),
      key: pair?.key ?? (await readSource(clientCertificate?.key, 'the client key')),
    }
    const text = own.token ?? tokenIn(token, await readSource(token, 'the token'))
    const readAt = this.#clock.monotonic()
    const old = this.#loaded?.tls
    const isSame = old !== undefined && old.ca === tls.ca && old.cert === tls.cert && old.key === tls.key
    this.#loaded = { tls: isSame ? old : tls, token: text, readAt, goodUntil: readAt + this.#lifeMs(own) }
    return this.#loaded
  }

  #lifeMs({ goodForMs }: Identity): number {
    if (this.#config.identity === undefined) return REREAD_MS
    return Math.max(SHORTEST_LIFE_MS, goodForMs ?? Number.POSITIVE_INFINITY)
  }
}

/** An empty header would make the request anonymous. */
function tokenIn(source: Source | undefined, text: string | undefined): string | undefined {
  const token = text?.trim()
  if (token === '' && source !== undefined && 'file' in source)
    throw new KubeNodeError(kubeErrors.KN1301_file({ what: 'the token', file: source.file, why: 'it is empty' }), {
      retry: 'later',
    })
  return token
}

async function readSource(source: Source | undefined, what: string): Promise<string | undefined> {
  if (source === undefined) return undefined
  if ('data' in source) return source.data
  try {
    return await readFile(source.file, 'utf8')
  } catch (e) {
    throw new KubeNodeError(kubeErrors.KN1301_file({ what, file: source.file, why: systemTrouble(e) }), {
      retry: 'later',
      cause: e,
    })
  }
}
