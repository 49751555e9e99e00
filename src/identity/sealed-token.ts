// A token on its way to one agent: sealed to a key derived from the agent's own, so that it is useless to other readers. Pure.
import { createPrivateKey, hkdfSync } from 'node:crypto'
import { AGENTS_NAMESPACE, agentAccountName } from '#api/names.ts'
import { openSealed, publicKeyOf, seal } from '#api/sealed.ts'
import { isObject } from '#lib/json.ts'
import type { ObjectKey } from '#api/schema/resource.ts'

interface AgentToken {
  readonly token: string
  readonly lifeSeconds: number
  /** When the agent requests the next one. */
  readonly askAgainSeconds: number
}

/** The ConfigMap with the sealed token of the Machine's agent. */
export const sealedTokenKey = (uid: string): ObjectKey => ({ namespace: AGENTS_NAMESPACE, name: agentAccountName(uid) })
export const SEALED_TOKEN_FIELD = 'token'

const PURPOSE = 'kubenode agent token, version 1'
/** DER of an X25519 private key up to its 32 bytes (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex')
const RAW_KEY = 32

/** PEM. Derived deterministically, so that an agent keeps only one secret. */
function tokenPrivateKey(keyPem: string): string {
  const own = createPrivateKey(keyPem).export({ type: 'pkcs8', format: 'der' })
  const raw = Buffer.from(hkdfSync('sha256', own, Buffer.alloc(0), PURPOSE, RAW_KEY))
  const sealing = createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: 'der', type: 'pkcs8' })
  return sealing.export({ type: 'pkcs8', format: 'pem' })
}

/** In the form of certificate requests: base64url. */
export const tokenPublicKey = (keyPem: string): string =>
  Buffer.from(publicKeyOf(tokenPrivateKey(keyPem)), 'base64').toString('base64url')

/** A token for another Machine does not open, even with the same key. */
const placeOf = (uid: string) => ({ machine: uid, component: 'kubenode-agent', path: SEALED_TOKEN_FIELD })

/** `tokenKey`: the public key. */
export const sealToken = (tokenKey: string, uid: string, token: AgentToken): string =>
  seal(Buffer.from(tokenKey, 'base64url').toString('base64'), placeOf(uid), JSON.stringify(token))

const isSeconds = (v: unknown): v is number => typeof v === 'number' && v > 0 && v <= 86_400

/** `keyPem`: the agent's key. Undefined if the token is sealed to another key, or damaged. */
export function openToken(keyPem: string, uid: string, sealed: string): AgentToken | undefined {
  const opened = openSealed(tokenPrivateKey(keyPem), placeOf(uid), sealed)
  if (opened.kind !== 'Opened') return undefined
  try {
    const value: unknown = JSON.parse(opened.value)
    if (!isObject(value)) return undefined
    const { token, lifeSeconds, askAgainSeconds } = value
    if (typeof token !== 'string' || token === '' || !isSeconds(lifeSeconds) || !isSeconds(askAgainSeconds))
      return undefined
    return { token, lifeSeconds, askAgainSeconds }
  } catch {
    return undefined
  }
}
