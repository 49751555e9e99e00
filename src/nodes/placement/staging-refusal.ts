// Why a machine cannot prepare an ordered version, as a reason and in its agent's words. This disrupts nothing. Pure.
import { type Reason, isReason } from '#api/catalogue.ts'
import type { ComponentStatus } from '#api/kinds/machine.ts'
import { STAGING_OTHERWISE, stagingReason } from '#api/protocol/staging-reasons.ts'

export interface StagingRefusal {
  readonly reason: Reason
  readonly message: string
}

export function stagingRefusal(report: ComponentStatus | undefined): StagingRefusal | undefined {
  if (report?.state !== 'Fetching' || report.message === undefined) return undefined
  const { reason, message } = report
  const code = /^KN\d{4}\b/.exec(message)?.[0] ?? ''
  return { reason: isReason(reason) ? reason : (stagingReason(code) ?? STAGING_OTHERWISE), message }
}
