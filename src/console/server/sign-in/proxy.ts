// Users named in headers by an authenticating proxy. Only connections with the proxy's client certificate get here, and the allowed users are listed.
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { holderOf } from '#lib/x509/holder.ts'
import { Refused } from '../request.ts'
import type { SignedIn } from '../sessions.ts'
import { type ConnectAs, type OwnClient, OwnClients } from './own-clients.ts'

export interface ProxyOptions {
  /** Common names of its certificate. */
  readonly names: readonly string[]
  /** Lower-case header names. */
  readonly userHeader: string
  readonly groupHeader: string
  /** Users whom the console's role may impersonate. Others cannot sign in here. */
  readonly users: readonly string[]
  readonly groups: readonly string[]
}

/** Connections of recent users are kept. */
const MOST_KEPT = 256

export class ProxyPeople {
  readonly #options: ProxyOptions
  readonly #connect: ConnectAs
  readonly #clusters: readonly string[]
  readonly #kept = new Map<string, OwnClients>()

  constructor(options: ProxyOptions, connect: ConnectAs, clusters: readonly string[]) {
    this.#options = options
    this.#connect = connect
    this.#clusters = clusters
  }

  of(request: IncomingMessage): SignedIn {
    const { names, userHeader, groupHeader, users, groups: listed } = this.#options
    if (!isProxy(request.socket as TLSSocket, names))
      throw new Refused(403, 'NotProxy', 'only the proxy that signs people in reaches this page')
    const [user, ...more] = valuesOf(request, userHeader)
    if (user === undefined || more.length > 0)
      throw new Refused(401, 'SignedOut', 'the proxy names no user; sign in there')
    if (!users.includes(user))
      throw new Refused(403, 'NotListed', 'you are not among the people who may use this console')
    const groups = [...new Set(valuesOf(request, groupHeader).flatMap((v) => v.split(',').map((g) => g.trim())))]
      .filter((g) => listed.includes(g))
      .toSorted()
    return this.#person(user, groups)
  }

  close(): void {
    for (const who of this.#kept.values()) who.close()
    this.#kept.clear()
  }

  #person(user: string, groups: readonly string[]): OwnClients {
    const key = JSON.stringify([user, groups])
    const known = this.#kept.get(key)
    this.#kept.delete(key)
    const who = known === undefined || known.isOver() ? this.#made(user, groups) : known
    this.#kept.set(key, who)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) {
      this.#kept.get(oldest)?.close()
      this.#kept.delete(oldest)
    }
    return who
  }

  #made(user: string, groups: readonly string[]): OwnClients {
    const clients = this.#clusters.flatMap((cluster): readonly (readonly [string, OwnClient])[] => {
      const client = this.#connect(cluster, { kind: 'Impersonated', user, groups })
      return client === undefined ? [] : [[cluster, client]]
    })
    const person = { name: user, groups, how: 'Proxy' as const }
    return new OwnClients({ person, home: this.#clusters[0] ?? '', clients: new Map(clients) })
  }
}

function isProxy(socket: TLSSocket, names: readonly string[]): boolean {
  const certificate = socket.authorized ? socket.getPeerX509Certificate?.() : undefined
  const name = certificate === undefined ? undefined : holderOf(certificate)?.commonName
  return name !== undefined && names.includes(name)
}

/** Every occurrence of the header: Node would join them, and a value may contain commas. */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  return rawHeaders.flatMap((header, i) =>
    i % 2 === 0 && header.toLowerCase() === name ? [(rawHeaders[i + 1] ?? '').trim()].filter((v) => v !== '') : [],
  )
}
