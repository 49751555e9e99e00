// The inputs of one reconcile of a machine that is managed over SSH. Pure.
import type { Machine, SshSpec } from '#api/kinds/machine.ts'
import { sha256OfJson } from '#lib/sha256.ts'

/** The last visit of this process. */
export interface LastVisit {
  readonly endedAt: number
  /** Of the Machine that it went by. */
  readonly generation: number
}

export interface Seen {
  readonly machine: Machine
  readonly ssh: SshSpec
  readonly last: LastVisit | undefined
}

/** A key that changed is never tried again, before a person changed what is declared. */
export const requestOf = (ssh: SshSpec): string => sha256OfJson(ssh)
