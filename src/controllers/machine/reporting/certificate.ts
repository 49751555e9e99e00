// Whether the certificate of a machine's agent is about to expire, according to the agent's report. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { findCondition, type WantedCondition } from '#kube/conditions.ts'
import { timestamp } from '#lib/clock.ts'
import type { Condition } from '#api/schema/object.ts'

/** Agents renew before two thirds have passed. Slightly less than the last third, so that a renewal in progress raises no alarm. */
const ALARM_SHARE = 0.33

const shown = (ms: number): string => timestamp(ms).replace('T', ' ').replace('Z', ' UTC')

export function certificateExpiring({ metadata, status }: Machine, now: number): WantedCondition[] {
  const { issued, expires } = status?.agent?.certificate ?? {}
  const [from, to] = [Date.parse(issued ?? ''), Date.parse(expires ?? '')]
  if (!(to > from) || to - now > (to - from) * ALARM_SHARE) return []
  const name = metadata.name ?? ''
  const message =
    to > now
      ? `the certificate of its agent expires at ${shown(to)} and is not renewed; check that the approver runs, and the log of the agent`
      : `the certificate of its agent expired at ${shown(to)}; run kubenode machine readmit --list, then kubenode machine readmit ${name}`
  return [{ type: 'CertificateExpiring', status: 'True', reason: 'CertificateExpiring', message }]
}

/** The condition, if it just became true. */
export function newlyExpiring(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): Condition | undefined {
  const found = findCondition(after, 'CertificateExpiring')
  return findCondition(before, 'CertificateExpiring') === undefined ? found : undefined
}
