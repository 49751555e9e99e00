// The chain of deeds: each line contains the digest of the previous one, which exposes removed and modified lines. Pure.
import { sha256Hex, sha256OfJson } from '#lib/sha256.ts'
import type { Deed } from './deeds.ts'

/** One line of the log, as exported: JSON, one line each. */
export interface DeedLine extends Deed {
  readonly n: number
  readonly cluster: string
  /** When the recorder observed it, in milliseconds since 1970. */
  readonly observed: number
  /** Digest of the previous line; for the first one, of the cluster's name. */
  readonly prev: string
  readonly digest: string
}

/** The digest before the first line. */
export const beginningOf = (cluster: string): string => sha256Hex(`kubenode history of ${cluster}`)

export function chained(deed: Deed, at: Pick<DeedLine, 'n' | 'cluster' | 'observed' | 'prev'>): DeedLine {
  const line = { ...deed, ...at }
  return { ...line, digest: sha256OfJson(line) }
}

export interface ChainProblem {
  readonly n: number
  readonly problem: 'Changed' | 'Missing'
}

/** In order. May start with any line: older ones may have been dropped or exported earlier. */
export function chainProblem(lines: Iterable<DeedLine>): ChainProblem | undefined {
  let before: DeedLine | undefined
  for (const line of lines) {
    const { digest, ...content } = line
    if (sha256OfJson(content) !== digest) return { n: line.n, problem: 'Changed' }
    if (
      before === undefined
        ? line.n === 1 && line.prev !== beginningOf(line.cluster)
        : line.prev !== before.digest || line.n !== before.n + 1
    )
      return { n: line.n, problem: 'Missing' }
    before = line
  }
  return undefined
}
