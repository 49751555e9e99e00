// Service account tokens: signs and reads them, and reports their user for as long as the objects they are bound to exist.
import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'

export const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const LEGACY_ISSUER = 'kubernetes/serviceaccount'
const LEGACY_CLAIMS = 'kubernetes.io/serviceaccount'
const DEFAULT_AUDIENCE = ISSUER

interface BoundObject {
  readonly kind: string
  readonly apiVersion?: string
  readonly name: string
  readonly uid: string
}

export interface TokenClaims {
  readonly aud: readonly string[]
  readonly exp: number
  readonly iat: number
  readonly nbf: number
  readonly iss: string
  readonly sub: string
  readonly jti: string
  readonly 'kubernetes.io': {
    readonly namespace: string
    readonly serviceaccount: { readonly name: string; readonly uid: string }
    readonly pod?: { readonly name: string; readonly uid: string }
    readonly secret?: { readonly name: string; readonly uid: string }
    readonly node?: { readonly name: string; readonly uid?: string }
    readonly warnafter?: number
  }
}

export interface LegacyClaims {
  readonly namespace: string
  /** The Secret with the token; the token is valid while it exists. */
  readonly secret: string
  readonly account: { readonly name: string; readonly uid: string }
}

export interface NewToken {
  readonly namespace: string
  readonly account: { readonly name: string; readonly uid: string }
  readonly audiences: readonly string[]
  readonly seconds: number
  /** After this time the client should have replaced the token, though it is still valid. */
  readonly warnAfterSeconds?: number
  readonly bound?: BoundObject | undefined
  /** Where the pod runs that the token is bound to. */
  readonly node?: { readonly name: string; readonly uid?: string }
  readonly now: number
  readonly id: string
}

export class TokenSigner {
  readonly #private: KeyObject
  readonly #public: KeyObject
  readonly #keyId: string

  constructor(privateKeyPem: string) {
    this.#private = createPrivateKey(privateKeyPem)
    this.#public = createPublicKey(this.#private)
    const der = this.#public.export({ type: 'spki', format: 'der' })
    this.#keyId = createHash('sha256').update(der).digest('base64url')
  }

  get defaultAudiences(): readonly string[] {
    return [DEFAULT_AUDIENCE]
  }

  /** With which others verify tokens. */
  get publicKey(): Readonly<Record<string, unknown>> {
    const { kty, crv, x, y } = this.#public.export({ format: 'jwk' })
    return { use: 'sig', kty, kid: this.#keyId, crv, alg: 'ES256', x, y }
  }

  isForUs = (audiences: readonly string[]): boolean => audiences.every((a) => this.defaultAudiences.includes(a))

  issue({ namespace, account, audiences, seconds, warnAfterSeconds, bound, node, now, id }: NewToken): {
    readonly token: string
    /** Milliseconds since 1970, whole seconds. */
    readonly issued: number
  } {
    const iat = Math.floor(now / 1_000)
    const claims: TokenClaims = {
      aud: audiences.length === 0 ? this.defaultAudiences : audiences,
      exp: iat + seconds,
      iat,
      iss: ISSUER,
      jti: id,
      'kubernetes.io': {
        namespace,
        ...(node === undefined ? {} : { node }),
        ...(bound === undefined ? {} : { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } }),
        serviceaccount: account,
        ...(warnAfterSeconds === undefined ? {} : { warnafter: iat + warnAfterSeconds }),
      },
      nbf: iat,
      sub: `system:serviceaccount:${namespace}:${account.name}`,
    }
    const part = (v: unknown) => Buffer.from(JSON.stringify(v)).toString('base64url')
    const signed = `${part({ alg: 'ES256', kid: this.#keyId })}.${part(claims)}`
    const signature = sign('sha256', Buffer.from(signed), { key: this.#private, dsaEncoding: 'ieee-p1363' })
    return { token: `${signed}.${signature.toString('base64url')}`, issued: iat * 1_000 }
  }

  /** The claims of a legacy token without expiry, which a controller manager signs with our key and keeps in a Secret. */
  readLegacy(token: string): LegacyClaims | undefined {
    const claims = this.#signed(token) as Partial<Record<string, unknown>> | undefined
    if (claims?.['iss'] !== LEGACY_ISSUER) return undefined
    const said = (what: string): string => {
      const value = claims[`${LEGACY_CLAIMS}/${what}`]
      return typeof value === 'string' ? value : ''
    }
    return {
      namespace: said('namespace'),
      secret: said('secret.name'),
      account: { name: said('service-account.name'), uid: said('service-account.uid') },
    }
  }

  /** The claims of a token that we signed and that has not expired; whether its account still exists is not checked here. */
  read(token: string, now: number): TokenClaims | undefined {
    const claims = this.#signed(token) as TokenClaims | undefined
    if (claims === undefined) return undefined
    const seconds = now / 1_000
    return claims.iss === ISSUER && claims.exp > seconds && claims.nbf <= seconds + 1 ? claims : undefined
  }

  #signed(token: string): unknown {
    const [head, body, signature, ...rest] = token.split('.')
    if (head === undefined || body === undefined || signature === undefined || rest.length > 0) return undefined
    const key = { key: this.#public, dsaEncoding: 'ieee-p1363' } as const
    try {
      if (!verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))) return undefined
      return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
    } catch (e) {
      // any other text is not one of our tokens
      if (e instanceof Error) return undefined
      throw e
    }
  }
}
