// The hand-over of join tokens: the approver makes a token and lays it here for the machine controller, which gives it to the host. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, JOIN_NAMESPACE } from '#api/names.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { isLife } from './certificate-life.ts'
import type { Secret } from '#nodes/objects.ts'

/** By uid: a machine of the same name never finds the token of the one before it. */
export const handOverKey = (machineUid: string): ObjectKey => ({
  namespace: JOIN_NAMESPACE,
  name: `join-${machineUid}`,
})

/** For hosts that a user joins: all of the join bundle but the token. */
export const BUNDLE_FIELD = 'join-bundle'

/** How long the certificate may live that the host asks for, in seconds. */
export const LIFE_FIELD = 'certificate-seconds'

const field = (token: Secret, name: string): string | undefined => {
  const value = token.data?.[name]
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
}

/** The token of a join account, where the cluster signs no certificates for agents. */
export const ACCOUNT_TOKEN_FIELD = 'token'

/** Whether the agent that joins with it becomes a service account. */
export const isAccountToken = (token: Secret): boolean => token.data?.[ACCOUNT_TOKEN_FIELD] !== undefined

/** As sent to the server: of an account, or `<id>.<secret>`. */
export function tokenText(token: Secret): string | undefined {
  if (isAccountToken(token)) return field(token, ACCOUNT_TOKEN_FIELD)
  const [id, secret] = [field(token, 'token-id'), field(token, 'token-secret')]
  return id === undefined || secret === undefined ? undefined : `${id}.${secret}`
}

/** Undefined where the approver says nothing: agents know the usual life. */
export function certificateSeconds(token: Secret): number | undefined {
  const seconds = Number(field(token, LIFE_FIELD))
  return isLife(seconds) ? seconds : undefined
}

/** A token without a readable end counts as over. */
export const tokenExpiresAt = (token: Secret): number => Date.parse(field(token, 'expiration') ?? '') || 0

/** Made for exactly this machine, and not for one of the same name before it. */
export const isForMachine = (token: Secret, machine: Machine): boolean =>
  token.metadata.annotations?.[ANNOTATIONS.machine] === machine.metadata.name &&
  token.metadata.ownerReferences?.some((o) => o.kind === 'Machine' && o.uid === machine.metadata.uid) === true

export const isHandedOver = (token: Secret): boolean => token.metadata.annotations?.[ANNOTATIONS.handedOver] === 'true'

/** The hand-over after the provider has received the token, with the bundle where a user runs the join command. */
export function handedOver(token: Secret, bundle: object | undefined): Secret {
  const annotations = { ...token.metadata.annotations, [ANNOTATIONS.handedOver]: 'true' }
  const more = bundle && { [BUNDLE_FIELD]: Buffer.from(JSON.stringify(bundle), 'utf8').toString('base64') }
  return { ...token, metadata: { ...token.metadata, annotations }, data: { ...token.data, ...more } }
}
