// The inputs of one reconcile of a machine that is managed over SSH. Pure.
import type { Machine, SshSpec } from '#api/kinds/machine.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isOfAgent, operationName } from '#api/protocol/operations.ts'
import { sha256OfJson } from '#lib/sha256.ts'

/** The last visit of this process. */
export interface LastVisit {
  readonly endedAt: number
  readonly tookMs: number
  /** Of the Machine that it went by. */
  readonly generation: number
  /** A repair waits for the next one. */
  readonly isAwaited?: true
}

export interface Seen {
  readonly machine: Machine
  readonly ssh: SshSpec
  readonly last: LastVisit | undefined
}

/** A key that changed is never tried again, before a person changed what is declared. */
export const requestOf = (ssh: SshSpec): string => sha256OfJson(ssh)

/** The next step of the repair is for the host, under a permit, and has not begun. */
export function isForHost({ spec, status }: RemedyOperationJob): boolean {
  if (status?.phase !== 'Running' || spec.dryRun || status.permitRef === undefined) return false
  const stepOf = (n: number) => status.steps?.find((s) => s.index === n)
  const next = spec.operations.findIndex((_, n) => stepOf(n)?.outcome === undefined)
  const name = spec.operations[next] && operationName(spec.operations[next])
  return name !== undefined && isOfAgent(name) && stepOf(next)?.startedAt === undefined
}
