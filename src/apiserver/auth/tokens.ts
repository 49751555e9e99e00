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

interface Verifier {
  readonly key: KeyObject
  readonly id: string
}

function verifierOf(key: KeyObject): Verifier {
  const der = key.export({ type: 'spki', format: 'der' })
  return { key, id: createHash('sha256').update(der).digest('base64url') }
}

interface TokenKeys {
  readonly signing: KeyObject
  readonly keyId: string
  /** That of the signing key first. */
  readonly verifiers: readonly Verifier[]
}

function keysOf(privateKeyPem: string, others: readonly string[]): TokenKeys {
  const signing = createPrivateKey(privateKeyPem)
  const own = verifierOf(createPublicKey(signing))
  const more = others.map((pem) => verifierOf(createPublicKey(pem))).filter(({ id }) => id !== own.id)
  return { signing, keyId: own.id, verifiers: [own, ...more] }
}

export class TokenSigner {
  #keys: TokenKeys

  /** `others`: PEM of more public keys that tokens are verified with. */
  constructor(privateKeyPem: string, others: readonly string[] = []) {
    this.#keys = keysOf(privateKeyPem, others)
  }

  replaceKeys(privateKeyPem: string, others: readonly string[] = []): void {
    this.#keys = keysOf(privateKeyPem, others)
  }

  get defaultAudiences(): readonly string[] {
    return [DEFAULT_AUDIENCE]
  }

  /** With which others verify tokens. */
  get publicKeys(): readonly Readonly<Record<string, unknown>>[] {
    return this.#keys.verifiers.map(({ key, id }) => {
      const { kty, crv, x, y } = key.export({ format: 'jwk' })
      return { use: 'sig', kty, kid: id, crv, alg: 'ES256', x, y }
    })
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
    const signed = `${part({ alg: 'ES256', kid: this.#keys.keyId })}.${part(claims)}`
    const signature = sign('sha256', Buffer.from(signed), { key: this.#keys.signing, dsaEncoding: 'ieee-p1363' })
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
    const [signed, bytes] = [Buffer.from(`${head}.${body}`), Buffer.from(signature, 'base64url')]
    const isOf = ({ key }: Verifier): boolean => verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, bytes)
    try {
      if (!this.#keys.verifiers.some(isOf)) return undefined
      return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
    } catch (e) {
      // any other text is not one of our tokens
      if (e instanceof Error) return undefined
      throw e
    }
  }
}
