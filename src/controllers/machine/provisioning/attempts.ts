// The attempts to get a host: which offering is next, under which token, and what an answer means for the next call. Pure. A token belongs to one
// attempt. The next token is used only after the provider reported that it created nothing.
import type { Machine, Provisioning } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { CreateResult, Host, Offering } from '#providers/port.ts'
import { fit } from '#runtime/waiting.ts'
import { sha256OfJson } from '#lib/sha256.ts'

/** The limit of both large clouds is 64 characters. */
const TOKEN_CHARS = 60
const REQUEST_CHARS = 32

export const tokenOf = (machineUid: string, attempt: number, offering: Offering | undefined): string =>
  sha256OfJson([machineUid, attempt, offering ?? null]).slice(0, TOKEN_CHARS)

/** The content of a request. A refusal applies to exactly this. */
export const requestOf = ({ spec }: Pick<Machine, 'spec'>): string =>
  sha256OfJson(spec.provider ?? null).slice(0, REQUEST_CHARS)

/** Without offerings, the parameters alone describe the request: one unnamed offering. */
export const offeringsOf = ({ spec }: Pick<Machine, 'spec'>): readonly (Offering | undefined)[] =>
  spec.provider?.offerings === undefined || spec.provider.offerings.length === 0 ? [undefined] : spec.provider.offerings

export function attemptAt(
  machine: Machine,
  attempt: number,
  offering: Offering | undefined,
  now: number,
): Provisioning {
  return {
    attempt,
    ...defined({ offering }),
    token: tokenOf(machine.metadata.uid ?? '', attempt, offering),
    since: timestamp(now),
  }
}

const TOKEN = new RegExp(`^[0-9a-f]{${TOKEN_CHARS}}$`)

/**
 * The attempt that created this host, if none is recorded. Undefined if KubeNode never creates such a token. Another token would create a second
 * host.
 */
export const attemptThatMade = (
  { clientToken, offering }: Pick<Host, 'clientToken' | 'offering'>,
  now: number,
): Provisioning | undefined =>
  TOKEN.test(clientToken)
    ? { attempt: 1, ...defined({ offering }), token: clientToken, since: timestamp(now) }
    : undefined

/** The provider reported that this attempt created nothing and never will. */
export const isOver = ({ answer }: Provisioning): boolean => answer === 'Refused' || answer === 'Exhausted'

/** A host may exist, or appear later, that no field of the Machine names. */
export const isInDoubt = ({ status }: Pick<Machine, 'status'>): boolean => {
  const attempt = status?.provisioning
  return attempt !== undefined && attempt.providerID === undefined && !isOver(attempt)
}

/** Far longer than it takes to record the first attempt. */
const RECORDED_WITHIN_MS = 300_000

/** No attempt is recorded, and the Machine may not be new: it may come from a backup, and a host of any attempt may exist. */
export function isForgotten({ metadata, status }: Pick<Machine, 'metadata' | 'status'>, now: number): boolean {
  const ageMs = Math.abs(now - Date.parse(metadata.creationTimestamp ?? ''))
  // An unreadable age is no proof of being new, and neither is a creation time far in the future.
  const isNew = ageMs <= RECORDED_WITHIN_MS
  return status?.provisioning === undefined && !isNew
}

/** The first retry comes soon: most provider problems are over in seconds. */
const FIRST_RETRY_MS = 1_000
/** For an answer that never came. */
const LONGEST_UNKNOWN_MS = 120_000
/** For a refusal: quotas are raised and names become free without a change here. */
const LONGEST_REFUSED_MS = 600_000

const backoff = (failures: number, longestMs: number): number =>
  Math.min(longestMs, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20))

/** The parts of an attempt that stay, whatever the answer. */
const identityOf = ({ attempt, offering, token, since, lost }: Provisioning): Provisioning => ({
  attempt,
  ...defined({ offering }),
  token,
  since,
  ...defined({ lost }),
})

export const settled = (attempt: Provisioning, providerID: string): Provisioning => ({
  ...identityOf(attempt),
  answer: 'Host',
  providerID,
})

/** The record after the provider's answer. */
export function answered(machine: Machine, attempt: Provisioning, result: CreateResult, now: number): Provisioning {
  const base = identityOf(attempt)
  const failures = (attempt.failures ?? 0) + 1
  const failed = (answer: Provisioning['answer'], message: string, afterMs: number): Provisioning => ({
    ...base,
    ...defined({ answer }),
    message: fit(message),
    failures,
    retryAt: timestamp(now + Math.ceil(afterMs / 1_000) * 1_000),
  })
  switch (result.kind) {
    case 'Host':
      return settled(attempt, result.host.providerID)
    case 'Refused': {
      const refused = failed('Refused', result.reason, backoff(failures, LONGEST_REFUSED_MS))
      return { ...refused, request: requestOf(machine) }
    }
    case 'Exhausted':
      return failed('Exhausted', result.reason, result.retryAfterMs)
    case 'Throttled':
      return failed('Throttled', 'the provider asks to be called less often', result.retryAfterMs)
    case 'Unknown':
      return failed('Unknown', result.message, backoff(failures, LONGEST_UNKNOWN_MS))
    default:
      return result satisfies never
  }
}

/** Longer than any wait recorded here. A time further away comes from a wrong clock. */
const LONGEST_WAIT_MS = 3_660_000

/** Milliseconds until the provider may be called again for this machine; 0 if it may be called now. */
export function untilRetry({ retryAt }: Pick<Provisioning, 'retryAt'>, now: number): number {
  const left = Date.parse(retryAt ?? '') - now
  return Number.isNaN(left) || left > LONGEST_WAIT_MS ? 0 : Math.max(0, left)
}

/** The first host that is deleted before it joins is replaced at once. Each later one waits longer. */
const FIRST_REPLACED_MS = 60_000

/** Otherwise a provider that creates hosts and never shows them would be asked for another one every few seconds. */
export function untilReplaced({ lost = 0, since }: Pick<Provisioning, 'lost' | 'since'>, now: number): number {
  if (lost < 1) return 0
  const waitMs = Math.min(LONGEST_REFUSED_MS, FIRST_REPLACED_MS * 2 ** Math.min(lost - 1, 20))
  const left = Date.parse(since) + waitMs - now
  // A time further away comes from a wrong clock.
  return Number.isNaN(left) || left > waitMs ? 0 : Math.max(0, left)
}

const PREFIX: Readonly<Record<NonNullable<Provisioning['answer']>, string>> = {
  Host: '',
  Refused: 'refused by the provider: ',
  Exhausted: 'the provider has none left: ',
  Throttled: 'throttled: ',
  Unknown: 'the provider did not give a usable answer: ',
}

/** Why the latest attempt did not lead to a host. */
export function troubleIn(attempt: Provisioning | undefined): string | undefined {
  const { answer, message = '' } = attempt ?? {}
  return answer === undefined || answer === 'Host' ? undefined : fit(`${PREFIX[answer]}${message}`)
}

/** `cn-1a, ecs.g7.large, Spot`: an offering in messages. */
export function offeringText(offering: Offering | undefined): string {
  const { zone, type, market } = offering ?? {}
  const parts = [zone, type, market].filter((w) => w !== undefined)
  return parts.length === 0 ? 'what the parameters ask for' : parts.join(', ')
}
