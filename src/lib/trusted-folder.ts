// Refuses folders that another user could replace. A user who can modify the running program itself is already trusted.
import { argv, pid } from 'node:process'
import { requireTrustedWay, type WayOptions } from './trusted-way.ts'

export const runningProgram = (): string | undefined => argv[1]

/**
 * The first process of a container: all others are its children, and the volumes are its pod's. The kubelet makes volumes writable for all users, but users of
 * the host cannot reach them.
 */
const FIRST_PROCESS = 1

export function requireTrustedFolder(path: string, options: Omit<WayOptions, 'program'> = {}): void {
  if (pid === FIRST_PROCESS) return
  requireTrustedWay(path, { ...options, program: runningProgram() })
}
