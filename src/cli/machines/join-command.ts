// The one line that makes an existing host a node: the join bundle of its machine with its token, for standard input, so that no list of processes shows it.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, LABELS } from '#api/names.ts'
import { formatDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isHandedOver } from '#identity/join-token.ts'
import type { KubeObject } from '#schema/object.ts'
import { cliErrors } from '../cli-errors.ts'

export interface TokenSecret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const field = ({ data }: TokenSecret, name: string): string | undefined => {
  const value = data?.[name]
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
}

export interface JoinCommand {
  readonly line: string
  readonly validForMs: number
}

const isFor = ({ metadata }: TokenSecret, machine: Machine): boolean =>
  metadata.labels?.[LABELS.joinToken] !== undefined &&
  metadata.annotations?.[ANNOTATIONS.machine] === machine.metadata.name &&
  metadata.ownerReferences?.some((o) => o.uid === machine.metadata.uid) === true

/** Throws when the machine has no valid token, and says what to do. */
export function joinCommand(machine: Machine, tokens: readonly TokenSecret[], now: number): JoinCommand {
  const { name = '' } = machine.metadata
  const { channel, provider } = machine.spec
  const cannot = (why: string) => new KubeNodeError(cliErrors.KN1360({ name, why }))
  if (channel !== 'Agent') throw cannot(`its channel is ${channel}; a machine joins with channel Agent`)
  if (provider === undefined) throw cannot('it names no provider; for an existing host that is static')
  const found = tokens.filter((t) => isFor(t, machine))
  if (machine.status?.agent !== undefined && found.length === 0)
    throw cannot(
      `it has already joined; if its host must join again, run kubenode machine readmit ${name} --token first`,
    )
  const valid = found.find((t) => Date.parse(field(t, 'expiration') ?? '') > now)
  if (valid === undefined)
    throw cannot(
      'it has no join token yet; the approver creates one within seconds, try again (role approver must run)',
    )
  if (!isHandedOver(valid)) throw cannot('its join command is being prepared; try again in a few seconds')
  const [bundle, id, secret] = [field(valid, 'join-bundle'), field(valid, 'token-id'), field(valid, 'token-secret')]
  if (bundle === undefined || id === undefined || secret === undefined)
    throw cannot(`provider ${provider.name} joins its hosts itself; no command is needed`)
  const whole = JSON.stringify({ ...(JSON.parse(bundle) as object), token: `${id}.${secret}` })
  return {
    line: `printf %s ${Buffer.from(whole).toString('base64')} | kubenode agent join -`,
    validForMs: Date.parse(field(valid, 'expiration') ?? '') - now,
  }
}

export const validity = ({ validForMs }: JoinCommand): string =>
  `valid for ${formatDuration(Math.floor(validForMs / 1_000) * 1_000)} and for this machine only; run it on the host as root`
