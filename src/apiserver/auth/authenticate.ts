// Who sent this request: asks a chain of authenticators (client certificates, our bearer tokens); otherwise it is anonymous.
import type { IncomingMessage } from 'node:http'
import type { Store } from '../storage/store.ts'
import { unauthorized } from '../status/refusal.ts'
import type { LegacyClaims, TokenClaims, TokenSigner } from './tokens.ts'
import { anonymous, AUTHENTICATED, serviceAccountGroups, type RequestUser } from './user.ts'

/** One link of the chain: returns a user, undefined when it does not apply, or throws a refusal. */
export type Authenticator = (request: IncomingMessage) => RequestUser | undefined

export function authenticationChain(links: readonly Authenticator[]): (request: IncomingMessage) => RequestUser {
  return (request) => {
    for (const link of links) {
      const user = link(request)
      if (user !== undefined) return user
    }
    return anonymous
  }
}

export type TokenReader = (token: string) => RequestUser | undefined

/** An unknown token is refused; without a token there is no opinion. */
export function byToken(readers: readonly TokenReader[]): Authenticator {
  return ({ headers }) => {
    const header = headers.authorization
    if (header === undefined) return undefined
    const [scheme = '', token = ''] = header.split(' ', 2)
    if (scheme.toLowerCase() !== 'bearer' || token === '') return undefined
    for (const read of readers) {
      const user = read(token)
      if (user !== undefined) return user
    }
    throw unauthorized()
  }
}

export function serviceAccountTokens(signer: TokenSigner, store: Store, now: () => number): TokenReader {
  return (token) => {
    if (!token.startsWith('eyJ')) return undefined
    const claims = signer.read(token, now())
    if (claims !== undefined)
      return claims.aud.some((a) => signer.defaultAudiences.includes(a)) ? accountOf(claims, store, now()) : undefined
    const legacy = signer.readLegacy(token)
    return legacy === undefined ? undefined : legacyAccountOf(legacy, token, store)
  }
}

/** The account, and the Secret with this token in it, must exist. */
export function legacyAccountOf(
  { namespace, secret, account }: LegacyClaims,
  token: string,
  store: Store,
): RequestUser | undefined {
  const found = store.get({ resource: '/serviceaccounts', namespace, name: account.name })?.value
  const kept = store.get({ resource: '/secrets', namespace, name: secret })?.value
  const data = (kept?.['data'] ?? {}) as { readonly token?: string }
  if (found === undefined || found.metadata.uid !== account.uid) return undefined
  if (kept?.metadata.deletionTimestamp !== undefined) return undefined
  if (Buffer.from(data.token ?? '', 'base64').toString('utf8') !== token) return undefined
  return {
    name: `system:serviceaccount:${namespace}:${account.name}`,
    uid: account.uid,
    groups: [...serviceAccountGroups(namespace), AUTHENTICATED],
  }
}

/** How long the object that a token is bound to may be in deletion before the token is invalid. */
const ENDING_MS = 60_000

/** Undefined when the account or the bound object was deleted. The node that a pod's token names is information, not a bond. */
export function accountOf(claims: TokenClaims, store: Store, now: number): RequestUser | undefined {
  const { namespace, serviceaccount, pod, secret, node } = claims['kubernetes.io']
  const lives = (
    resource: string,
    ns: string,
    ref: { readonly name: string; readonly uid?: string } | undefined,
  ): boolean => {
    if (ref === undefined) return true
    const found = store.get({ resource, namespace: ns, name: ref.name })?.value.metadata
    const ends = found?.deletionTimestamp
    return found !== undefined && found.uid === ref.uid && (ends === undefined || Date.parse(ends) >= now - ENDING_MS)
  }
  if (!lives('/serviceaccounts', namespace, serviceaccount)) return undefined
  if (!lives('/pods', namespace, pod) || !lives('/secrets', namespace, secret)) return undefined
  if (pod === undefined && !lives('/nodes', '', node)) return undefined
  return {
    name: claims.sub,
    uid: serviceaccount.uid,
    groups: [...serviceAccountGroups(namespace), AUTHENTICATED],
    extra: {
      'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`],
      ...inExtra('node', node),
      ...inExtra('pod', pod),
    },
  }
}

const inExtra = (what: string, ref: { readonly name: string; readonly uid?: string } | undefined) =>
  ref === undefined
    ? {}
    : {
        [`authentication.kubernetes.io/${what}-name`]: [ref.name],
        ...(ref.uid === undefined ? {} : { [`authentication.kubernetes.io/${what}-uid`]: [ref.uid] }),
      }

const BOOTSTRAP = /^([a-z0-9]{6})\.([a-z0-9]{16})$/

/** Bootstrap tokens: Secrets of their own type in kube-system, valid until they expire. */
export function bootstrapTokens(store: Store, now: () => number): TokenReader {
  return (token) => {
    const m = BOOTSTRAP.exec(token)
    if (m === null) return undefined
    const [, id = '', secret = ''] = m
    const stored = store.get({ resource: '/secrets', namespace: 'kube-system', name: `bootstrap-token-${id}` })?.value
    if (
      stored === undefined ||
      stored['type'] !== 'bootstrap.kubernetes.io/token' ||
      stored.metadata.deletionTimestamp !== undefined
    )
      return undefined
    const data = (stored['data'] ?? {}) as { readonly [key: string]: string }
    const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
    if (text('token-id') !== id || text('token-secret') !== secret || text('usage-bootstrap-authentication') !== 'true')
      return undefined
    const expires = text('expiration')
    if (expires !== '' && !(Date.parse(expires) > now())) return undefined
    const groups = text('auth-extra-groups')
      .split(',')
      .filter((g) => g.startsWith('system:bootstrappers:'))
    return { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...groups, AUTHENTICATED] }
  }
}
