// A person's own ways to the clusters: made when the person signs in, kept in memory alone, and closed with the session.
import { randomBytes } from 'node:crypto'
import type { KubeClient } from '#kube/client.ts'
import type { Person } from '../../protocol.ts'
import type { SignedIn } from '../sessions.ts'

export type OwnClient = KubeClient & { close(): void }

/** What requests to an API server are made with in the name of a person. */
type OwnIdentity =
  | { readonly kind: 'Token'; readonly token: string }
  /** Asked for again when the token of before has ended or was refused. */
  | { readonly kind: 'Tokens'; readonly next: (isRefused: boolean) => Promise<{ token: string; goodForMs: number }> }
  /** With the rights of the console, which may impersonate only those whom its role lists. */
  | { readonly kind: 'Impersonated'; readonly user: string; readonly groups: readonly string[] }

/** Undefined: there is no such cluster. A token is never sent over a connection that does not verify the API server. */
export type ConnectAs = (cluster: string, identity: OwnIdentity) => OwnClient | undefined

export interface OwnClientsOptions {
  readonly person: Person
  /** The cluster that said who the person is. */
  readonly home: string
  readonly clients: ReadonlyMap<string, OwnClient>
  readonly expiresAt?: number | undefined
  /** Where the person signs in elsewhere: asked whether that still holds. */
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

  /** The person signed in to one more cluster, or again. */
  put(cluster: string, client: OwnClient): void {
    this.#drop(cluster)
    if (this.#isClosed) client.close()
    else this.#clients.set(cluster, client)
  }

  /** Without the cluster that knows the person there is no session. */
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
