// A user's own connections to clusters: created at sign-in, kept only in memory, and closed with the session.
import { randomBytes } from 'node:crypto'
import type { KubeClient } from '#kube/client.ts'
import type { Person } from '../../protocol.ts'
import type { SignedIn } from '../sessions.ts'

export type OwnClient = KubeClient & { close(): void }

/** The identity for requests to an API server on a user's behalf. */
type OwnIdentity =
  | { readonly kind: 'Token'; readonly token: string }
  /** Called again when the previous token has expired or was refused. */
  | { readonly kind: 'Tokens'; readonly next: (isRefused: boolean) => Promise<{ token: string; goodForMs: number }> }
  /** With the console's rights; it may impersonate only users listed in its role. */
  | { readonly kind: 'Impersonated'; readonly user: string; readonly groups: readonly string[] }

/** Undefined if there is no such cluster. A token is never sent over a connection that does not verify the API server. */
export type ConnectAs = (cluster: string, identity: OwnIdentity) => OwnClient | undefined

export interface OwnClientsOptions {
  readonly person: Person
  /** The cluster that identified the user. */
  readonly home: string
  readonly clients: ReadonlyMap<string, OwnClient>
  readonly expiresAt?: number | undefined
  /** If the user signed in elsewhere: whether that sign-in is over. */
  readonly isOver?: () => boolean
}

export class OwnClients implements SignedIn {
  readonly person: Person
  readonly expiresAt?: number
  readonly #home: string
  readonly #id = randomBytes(16).toString('base64')
  readonly #clients: Map<string, OwnClient>
  readonly #isOver: () => boolean
  #changes = 0
  #isClosed = false

  constructor({ person, home, clients, expiresAt, isOver = () => false }: OwnClientsOptions) {
    this.person = person
    this.#home = home
    this.#clients = new Map(clients)
    this.#isOver = isOver
    if (expiresAt !== undefined) this.expiresAt = expiresAt
  }

  get identity(): string {
    return `${this.#id} ${this.#changes}`
  }

  readonly clientOf = (cluster: string): KubeClient | undefined => this.#clients.get(cluster)

  /** The user signed in to one more cluster, or again. */
  put(cluster: string, client: OwnClient): void {
    this.#drop(cluster)
    if (this.#isClosed) client.close()
    else this.#clients.set(cluster, client)
  }

  /** Without the cluster that identifies the user there is no session. */
  readonly refusedBy = (cluster: string): void => {
    this.#drop(cluster)
    if (cluster === this.#home) this.close()
  }

  readonly isOver = (): boolean => this.#isClosed || this.#isOver()

  readonly close = (): void => {
    this.#isClosed = true
    for (const cluster of this.#clients.keys()) this.#drop(cluster)
  }

  #drop(cluster: string): void {
    this.#changes++
    this.#clients.get(cluster)?.close()
    this.#clients.delete(cluster)
  }
}
