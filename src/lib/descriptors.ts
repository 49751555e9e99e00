// The process's limit of open files and connections, and the share left for connections.
import { readFileSync } from 'node:fs'

/** Databases, logs, lazily loaded packages, outgoing connections. */
const FOR_FILES = 512

/** Undefined if the system does not report it. Node raises the soft limit to the hard one at startup. */
export function descriptorLimit(
  limits: () => string = () => readFileSync('/proc/self/limits', 'utf8'),
): number | undefined {
  try {
    const soft = /^Max open files +(\d+) /m.exec(limits())?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** At the limit neither connections nor files can be opened: a server without descriptors cannot even write. */
export function connectionsWithin(most: number, limit: number | undefined): number {
  if (limit === undefined) return most
  const forFiles = Math.min(FOR_FILES, Math.ceil(limit / 2))
  return Math.max(1, Math.min(most, limit - forFiles))
}
