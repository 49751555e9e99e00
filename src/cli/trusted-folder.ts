// Refuses folders that another user could replace. A user who can modify the running program itself does not count as another user.
import { argv } from 'node:process'
import { requireTrustedWay, type WayOptions } from '#lib/trusted-way.ts'

export const runningProgram = (): string | undefined => argv[1]

export const requireTrustedFolder = (path: string, options: Omit<WayOptions, 'program'> = {}): void =>
  requireTrustedWay(path, { ...options, program: runningProgram() })
