// The command that undoes another one. Pasted, it must reach the same cluster.
import { inContext } from '#explain/unblock.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { ServerOptions } from './connect.ts'

export function undoing(command: string, { kubeconfig, context }: ServerOptions): string {
  const there = context === undefined ? command : inContext(command, context)
  return kubeconfig === undefined ? there : `${there} --kubeconfig ${shellWord(kubeconfig)}`
}
