// The handover of join tokens: the approver creates a token here for the machine controller, which gives it to the host. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, JOIN_NAMESPACE } from '#api/names.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { isLife } from './certificate-life.ts'
import type { Secret } from '#nodes/objects.ts'

/** By uid: a machine with a reused name never finds its predecessor's token. */
export const handOverKey = (machineUid: string): ObjectKey => ({
  namespace: JOIN_NAMESPACE,
  name: `join-${machineUid}`,
})

/** For hosts that a user joins: the join bundle without the token. */
export const BUNDLE_FIELD = 'join-bundle'

/** Lifetime of the certificate that the host requests, in seconds. */
export const LIFE_FIELD = 'certificate-seconds'

const field = (token: Secret, name: string): string | undefined => {
  const value = token.data?.[name]
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
}

/** The token of a join account, on clusters that sign no certificates for agents. */
export const ACCOUNT_TOKEN_FIELD = 'token'

/** Whether an agent that joins with it becomes a service account. */
export const isAccountToken = (token: Secret): boolean => token.data?.[ACCOUNT_TOKEN_FIELD] !== undefined

/** As sent to the server: an account's token, or `<id>.<secret>`. */
export function tokenText(token: Secret): string | undefined {
  if (isAccountToken(token)) return field(token, ACCOUNT_TOKEN_FIELD)
  const [id, secret] = [field(token, 'token-id'), field(token, 'token-secret')]
  return id === undefined || secret === undefined ? undefined : `${id}.${secret}`
}

/** Undefined when the approver sets none: agents know the default. */
export function certificateSeconds(token: Secret): number | undefined {
  const seconds = Number(field(token, LIFE_FIELD))
  return isLife(seconds) ? seconds : undefined
}

/** A token without a readable expiry counts as expired. */
export const tokenExpiresAt = (token: Secret): number => Date.parse(field(token, 'expiration') ?? '') || 0

/** Made for exactly this machine, not for an earlier one with the same name. */
export const isForMachine = (token: Secret, machine: Machine): boolean =>
  token.metadata.annotations?.[ANNOTATIONS.machine] === machine.metadata.name &&
  token.metadata.ownerReferences?.some((o) => o.kind === 'Machine' && o.uid === machine.metadata.uid) === true

export const isHandedOver = (token: Secret): boolean => token.metadata.annotations?.[ANNOTATIONS.handedOver] === 'true'

/** The handover after the provider received the token, with the bundle if a user runs the join command. */
export function handedOver(token: Secret, bundle: object | undefined): Secret {
  const annotations = { ...token.metadata.annotations, [ANNOTATIONS.handedOver]: 'true' }
  const more = bundle && { [BUNDLE_FIELD]: Buffer.from(JSON.stringify(bundle), 'utf8').toString('base64') }
  return { ...token, metadata: { ...token.metadata, annotations }, data: { ...token.data, ...more } }
}
