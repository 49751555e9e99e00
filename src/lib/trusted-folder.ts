// Refuses folders that another user could replace. A user who can modify the running program itself does not count as another user.
import { argv, pid } from 'node:process'
import { requireTrustedWay, type WayOptions } from './trusted-way.ts'

export const runningProgram = (): string | undefined => argv[1]

/**
 * The first process of a container: the others are its children, and the volumes are those of its pod. The kubelet makes them writable for all users, but
 * users of the host cannot reach them.
 */
const FIRST_PROCESS = 1

export function requireTrustedFolder(path: string, options: Omit<WayOptions, 'program'> = {}): void {
  if (pid === FIRST_PROCESS) return
  requireTrustedWay(path, { ...options, program: runningProgram() })
}
