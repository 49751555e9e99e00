// Several contexts of a kubeconfig may be users of one server: a command that reads all of them reads each cluster once. Pure.
import type { FoundContext } from '#programs/run/all-connections.ts'

export function onePerCluster(found: readonly FoundContext[]): {
  readonly kept: readonly FoundContext[]
  readonly notes: readonly string[]
} {
  const byServer = new Map<string, FoundContext>()
  const notes: string[] = []
  for (const one of found) {
    const key = 'config' in one ? `${one.config.server}\n${one.config.tlsServerName ?? ''}` : `\n${one.context}`
    const first = byServer.get(key)
    if (first === undefined) byServer.set(key, one)
    else notes.push(`context ${one.context} is left out: it is the cluster of context ${first.context}`)
  }
  return { kept: [...byServer.values()], notes }
}
