// The reason behind each numbered refusal of an agent to install a version. Agents report the reason; for older ones it follows from the number.
import type { Reason } from '../catalogue.ts'

const REASONS: Readonly<Record<string, Reason>> = {
  KN8010: 'FetchFailed',
  KN8011: 'FetchFailed',
  KN8012: 'DigestMismatch',
  KN8013: 'SignatureInvalid',
  KN8014: 'ComponentMissing',
  KN8015: 'ComponentMissing',
  KN8016: 'InvalidSpec',
  KN8017: 'DigestMismatch',
  KN8018: 'UnsupportedPlatform',
  KN8019: 'HostUnsuitable',
  KN8020: 'InstallFailed',
  KN8021: 'InstallFailed',
  KN8023: 'InstallFailed',
  KN8024: 'ReferenceMissing',
  KN8025: 'InstallFailed',
  KN8026: 'ReferenceMissing',
  KN8097: 'InstallFailed',
  KN8099: 'InstallFailed',
}

/** Lost I/O with the API server, the network or the disk has no number. */
export const STAGING_OTHERWISE: Reason = 'FetchFailed'

export const STAGING_REASONS: ReadonlySet<string> = new Set([...Object.values(REASONS), STAGING_OTHERWISE])

export const stagingReason = (code: string): Reason | undefined => REASONS[code]
