// The command that undoes another one. Pasted, it must reach the same cluster.
import { inContext } from '#explain/unblock.ts'
import type { ServerOptions } from './connect.ts'

export const undoing = (command: string, { context }: ServerOptions): string =>
  context === undefined ? command : inContext(command, context)
