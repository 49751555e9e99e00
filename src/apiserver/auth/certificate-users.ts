// Who acts by a client certificate of our authority: read once a connection, asked at each request whether it still counts. Connections of those whose
// certificate expired, or who are not accepted any more, end with their watches.
import { TLSSocket } from 'node:tls'
import type { KubeObject } from '#schema/object.ts'
import { unauthorized } from '../status/refusal.ts'
import type { Authenticator } from './authenticate.ts'
import { withAuthenticated } from './authorizer.ts'
import type { RequestUser } from './user.ts'

/** An object as it is stored now; `resource` is group and plural, `kubenode.io/machines`. */
export type StoredObject = (resource: string, name: string) => KubeObject | undefined

/** Whether the holder of a certificate may still act. Asked at every request: it must cost no more than a look at one object. */
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

/** Certificates whose users are remembered: clients open several connections, and come again. Beyond it the oldest goes. */
const REMEMBERED = 4_096

/** TLS has judged it already: its word for one that was good once. */
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

  /** Cuts the connections of those who do not count any more: what was opened before, a watch above all, must not outlive the right to it. */
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
      // Its type says Error; what is there is the code.
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
