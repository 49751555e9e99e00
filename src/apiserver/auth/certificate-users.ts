// Who uses a client certificate of our authority: read once per connection, checked on each request. Connections are closed, with their watches,
// when their certificate expires or its user is no longer accepted.
import { TLSSocket } from 'node:tls'
import type { KubeObject } from '#api/schema/object.ts'
import { unauthorized } from '../status/refusal.ts'
import type { Authenticator } from './authenticate.ts'
import { withAuthenticated } from './authorizer.ts'
import type { RequestUser } from './user.ts'

/** An object as it is stored now; `resource` is group and plural, `kubenode.io/machines`. */
type StoredObject = (resource: string, name: string) => KubeObject | undefined

/** Whether the holder of a certificate is still accepted. Called on every request: it must cost no more than reading one object. */
export type AcceptsUser = (user: RequestUser, stored: StoredObject) => boolean

export const acceptsEverybody: AcceptsUser = () => true

interface Holder {
  readonly user: RequestUser
  /** End of the certificate, by the clock of the server. */
  readonly until: number
}

export interface CertificateUsersOptions {
  readonly now: () => number
  readonly accepts: (user: RequestUser) => boolean
}

/** Certificates whose users are cached: clients open several connections, and return. Beyond it the oldest is dropped. */
const REMEMBERED = 4_096

/** TLS has verified it already: this is its word for a certificate that has expired since. */
const EXPIRED = 'CERT_HAS_EXPIRED'

export class CertificateUsers {
  readonly #options: CertificateUsersOptions
  readonly #bySocket = new WeakMap<TLSSocket, Holder | 'Expired' | undefined>()
  readonly #byPrint = new Map<string, Holder | undefined>()
  readonly #open = new Map<TLSSocket, Holder>()

  constructor(options: CertificateUsersOptions) {
    this.#options = options
  }

  readonly authenticate: Authenticator = ({ socket }) => {
    if (!(socket instanceof TLSSocket)) return undefined
    if (!this.#bySocket.has(socket)) this.#note(socket)
    const holder = this.#bySocket.get(socket)
    if (holder === undefined) return undefined
    if (holder === 'Expired' || !this.#counts(holder)) throw unauthorized()
    return holder.user
  }

  /** Closes the connections of users that are no longer accepted: an open watch above all must not outlive its rights. */
  endRefused(): number {
    const refused = [...this.#open].filter(([, holder]) => !this.#counts(holder))
    for (const [socket] of refused) socket.destroy()
    return refused.length
  }

  #counts({ user, until }: Holder): boolean {
    return until > this.#options.now() && this.#options.accepts(user)
  }

  #note(socket: TLSSocket): void {
    if (!socket.authorized) {
      // Typed as Error; the actual value is the code.
      const why: unknown = socket.authorizationError
      this.#bySocket.set(socket, why === EXPIRED ? 'Expired' : undefined)
      return
    }
    const holder = this.#holderOf(socket)
    this.#bySocket.set(socket, holder)
    if (holder === undefined) return
    this.#open.set(socket, holder)
    socket.once('close', () => this.#open.delete(socket))
  }

  #holderOf(socket: TLSSocket): Holder | undefined {
    const print = socket.getPeerX509Certificate()?.fingerprint256
    if (print === undefined) return undefined
    if (this.#byPrint.has(print)) return this.#byPrint.get(print)
    const holder = certificateHolder(socket)
    const [oldest] = this.#byPrint.size >= REMEMBERED ? this.#byPrint.keys() : []
    if (oldest !== undefined) this.#byPrint.delete(oldest)
    this.#byPrint.set(print, holder)
    return holder
  }
}

function certificateHolder(socket: TLSSocket): Holder | undefined {
  const certificate = socket.getPeerCertificate()
  const subject = certificate.subject as { readonly CN?: unknown; readonly O?: unknown } | undefined
  const name = [subject?.CN].flat()[0]
  if (typeof name !== 'string' || name === '') return undefined
  const groups = [subject?.O].flat().filter((o) => typeof o === 'string')
  const print = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  return {
    user: {
      name,
      groups: withAuthenticated(groups),
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${print}`] },
    },
    until: Date.parse(certificate.valid_to),
  }
}
