// The command that takes back what another one did. Pasted, it must reach the same cluster.
import { inContext } from '#explain/unblock.ts'
import type { ServerOptions } from './connect.ts'

export const undoing = (command: string, { context }: ServerOptions): string =>
  context === undefined ? command : inContext(command, context)
