// Writes what an admission check has to say for the audit as one line of the log: the embedded server keeps no other audit.
import type { Logger } from '#lib/log.ts'
import type { AdmissionRequest } from './chain.ts'

export interface AuditLine {
  /** Which check says it. */
  readonly reason: string
  readonly policy?: string
  readonly binding?: string
  readonly annotations: Readonly<Record<string, string>>
}

export function writeAuditLine(log: Logger, request: AdmissionRequest, { annotations, ...by }: AuditLine): void {
  const { served, operation, namespace, name, user, dryRun } = request
  const { group, plural } = served.type
  const on = { operation, group, resource: plural, namespace, name, user: user.name, dryRun }
  log.info('audit', { ...by, ...on, annotations })
}
