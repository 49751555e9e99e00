// The identity of an incident and the names of its jobs. The same fault always gives the same names, so nothing is created twice.
import { timestamp } from '#lib/clock.ts'
import { canonicalJson } from '#lib/json.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { sha256, sha256OfJson } from '#lib/sha256.ts'

/** Hash of the node, the rule, and the first time that the rule was observed to be true for it. */
export const incidentId = (nodeUid: string, rule: string, firstSeenMs: number): string =>
  sha256OfJson([nodeUid, rule, timestamp(firstSeenMs)]).slice(0, 32)

export interface JobIdentity {
  readonly rule: string
  readonly incident: string
  readonly rung: number
  readonly attempt: number
  readonly dryRun: boolean
}

/** Rule names may be longer than what fits. The incident distinguishes them anyway. */
const RULE_CHARS = 160

export function jobName({ rule, incident, rung, attempt, dryRun }: JobIdentity): string {
  const head = withoutEnd(rule.slice(0, RULE_CHARS), /[-.]/)
  const again = attempt > 1 ? `-${attempt}` : ''
  return `${head}-${incident.slice(0, 16)}-${rung}${again}${dryRun ? '-dry' : ''}`
}

/** Whether the node is in the share of nodes that a rule acts on. Always the same nodes, and more of them as the share grows. */
export function isInShare(nodeUid: string, rule: string, percent: number): boolean {
  // Of most rules: the digest would cost more than the rest of the decision.
  if (percent >= 100) return true
  const digest = sha256(canonicalJson([rule, nodeUid]))
  return digest.readUInt32BE(0) % 100 < percent
}
