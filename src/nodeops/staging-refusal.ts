// Pure: why a machine does not get ready for a version it was told, as a reason and in its agent's words. Nothing was disturbed by it.
import type { Reason } from '#api/catalogue.ts'
import type { Machine } from '#api/kinds/machine.ts'

type Report = NonNullable<NonNullable<Machine['status']>['components']>[number]

export interface StagingRefusal {
  readonly reason: Reason
  readonly message: string
}

/** The numbers of the agent's messages; agents of other versions may have more. */
const REASONS: Readonly<Record<string, Reason>> = {
  KN8012: 'DigestMismatch',
  KN8013: 'SignatureInvalid',
  KN8014: 'ComponentMissing',
  KN8015: 'ComponentMissing',
  KN8016: 'UnsupportedPlatform',
  KN8017: 'DigestMismatch',
  KN8018: 'UnsupportedPlatform',
  KN8019: 'UnsupportedPlatform',
  KN8020: 'InstallFailed',
  KN8021: 'InstallFailed',
  KN8022: 'InstallFailed',
  KN8024: 'InstallFailed',
  KN8025: 'InstallFailed',
  KN8026: 'ComponentMissing',
  KN8060: 'ComponentMissing',
}

const OTHERWISE: Reason = 'FetchFailed'

export const STAGING_REASONS: ReadonlySet<string> = new Set([...Object.values(REASONS), OTHERWISE])

export function stagingRefusal(report: Report | undefined): StagingRefusal | undefined {
  if (report?.state !== 'Fetching' || report.message === undefined) return undefined
  const code = /^KN\d{4}\b/.exec(report.message)?.[0] ?? ''
  return { reason: REASONS[code] ?? OTHERWISE, message: report.message }
}
