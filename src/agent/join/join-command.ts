// What a host needs to become one machine: the join bundle with its token, while the token is valid. Pure.
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, LABELS } from '#api/names.ts'
import { formatDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { BUNDLE_FIELD, isHandedOver, tokenText } from '#identity/join-token.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { machinesErrors } from './machines-errors.ts'

export type TokenSecret = BuiltIn['Secret']

const field = ({ data }: TokenSecret, name: string): string | undefined => {
  const value = data?.[name]
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
}

export interface JoinTicket {
  readonly machine: string
  readonly bundle: JoinBundle
  readonly now: number
  readonly expiresAt: number
}

const isFor = ({ metadata }: TokenSecret, machine: Machine): boolean =>
  metadata.labels?.[LABELS.joinToken] !== undefined &&
  metadata.annotations?.[ANNOTATIONS.machine] === machine.metadata.name &&
  metadata.ownerReferences?.some((o) => o.uid === machine.metadata.uid) === true

/** Throws when the machine has no valid token, and explains what to do. */
export function joinTicket(machine: Machine, tokens: readonly TokenSecret[], now: number): JoinTicket {
  const { name = '' } = machine.metadata
  const { channel, provider } = machine.spec
  const cannot = (why: string) => new KubeNodeError(machinesErrors.KN1360({ name, why }))
  if (machine.metadata.deletionTimestamp !== undefined) throw cannot('it is being deleted')
  if (channel !== 'Agent') throw cannot(`its channel is ${channel}; ${toManage(name)} first`)
  if (provider === undefined) throw cannot('it names no provider; for an existing host that is static')
  const found = tokens.filter((t) => isFor(t, machine))
  if (machine.status?.agent !== undefined && found.length === 0)
    throw cannot(
      `it has already joined; if its host must join again, run kubenode machine readmit ${name} --token first`,
    )
  const expiryOf = (t: TokenSecret): number => Date.parse(field(t, 'expiration') ?? '')
  const valid = found.find((t) => expiryOf(t) > now)
  if (valid === undefined)
    throw cannot(
      'it has no join token yet; the approver creates one within seconds, try again (role approver must run)',
    )
  if (!isHandedOver(valid)) throw cannot('its join command is being prepared; try again in a few seconds')
  const [bundle, token] = [field(valid, BUNDLE_FIELD), tokenText(valid)]
  if (bundle === undefined || token === undefined)
    throw cannot(`provider ${provider.name} joins its hosts itself; no command is needed`)
  const whole = { ...(JSON.parse(bundle) as Omit<JoinBundle, 'token'>), token }
  return { machine: name, bundle: whole, now, expiresAt: expiryOf(valid) }
}

/** The command that turns an observed machine into a managed one. */
export const toManage = (name: string): string =>
  `set spec.channel to Agent, in git or with kubectl patch machines.kubenode.io ${name} --type merge -p '{"spec":{"channel":"Agent"}}'`

export const validity = ({ now, expiresAt }: JoinTicket): string =>
  `valid for ${formatDuration(Math.floor((expiresAt - now) / 1_000) * 1_000)} and for this machine only; run it on the host as root`
