// How many files and connections this process may hold open, and how many of these are left for connections.
import { readFileSync } from 'node:fs'

/** Databases, logs, packages that load late, connections of our own. */
const FOR_FILES = 512

/** Undefined where the system does not say. Node raises the soft limit to the hard one at its start. */
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

/** Beyond the limit a connection is not accepted, and no file is opened either: a server that has none left cannot even write. */
export function connectionsWithin(most: number, limit: number | undefined): number {
  if (limit === undefined) return most
  const forFiles = Math.min(FOR_FILES, Math.ceil(limit / 2))
  return Math.max(1, Math.min(most, limit - forFiles))
}
