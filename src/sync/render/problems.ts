// Holds the objects of each cluster against each other, with the trust document of the same commit, and finds the files that are to be corrected.
import { parseSignedTrust, type SignedTrust } from '#api/trust/trust-document.ts'
import { KubeNodeError, type ErrorCode } from '#lib/errors.ts'
import { declaredProblems } from '#nodeops/declared/declared-problems.ts'
import { placeInFiles } from '#nodeops/declared/find-in-files.ts'
import { refOf, refText } from '../object-ref.ts'
import { syncErrors } from '../sync-errors.ts'
import type { Targets } from './rendered.ts'

export interface RenderedProblem {
  /** Of one that is the same in several clusters, all of them. */
  readonly clusters: readonly string[]
  readonly object: string
  readonly pointer: string
  readonly code: ErrorCode
  readonly message: string
  /** It cannot hold on any cluster; otherwise it may be meant. */
  readonly isCertain: boolean
  /** `fleet/machines/workers.ts:14`, where it could be found. */
  readonly place?: string
}

type Files = Readonly<Record<string, string>>

export function problemsIn(targets: Targets, files: Files): readonly RenderedProblem[] {
  const trust = newestTrust(files)
  const found = [...targets].flatMap(([cluster, { objects }]) =>
    declaredProblems(
      objects.map((o) => o.object),
      { trust },
    ).map(({ object, words, ...p }) => {
      const place = placeInFiles(files, words)
      return { ...p, cluster, object: refText(refOf(object)), ...(place !== undefined && { place }) }
    }),
  )
  const same = Map.groupBy(found, (p) => JSON.stringify([p.object, p.pointer, p.code, p.message]))
  return [...same.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const { cluster: _, ...problem } = first
    return [{ ...problem, clusters: group.map((p) => p.cluster) }]
  })
}

/** Of several the one that agents would take last. */
function newestTrust(files: Files): SignedTrust | undefined {
  return Object.entries(files)
    .filter(([path, text]) => path.endsWith('.json') && text.includes('"threshold"'))
    .flatMap(([, text]) => trustIn(text) ?? [])
    .toSorted((a, b) => b.document.sequence - a.document.sequence)[0]
}

function trustIn(text: string): SignedTrust | undefined {
  try {
    return parseSignedTrust(JSON.parse(text))
  } catch {
    // Other data of the fleet; whether it is good JSON is for the code that reads it.
    return undefined
  }
}

export const problemText = ({ clusters, object, pointer, code, message, place }: RenderedProblem): string =>
  `${code}: ${object} in ${clusters.join(', ')}, ${pointer}: ${message}${place === undefined ? '' : ` (${place})`}`

/** Refused before anything of the commit is applied anywhere. */
export function refuseImpossible(commit: string, problems: readonly RenderedProblem[]): void {
  const certain = problems.filter((p) => p.isCertain)
  const [first] = certain
  if (first === undefined) return
  throw new KubeNodeError(
    syncErrors.KN7117({
      commit: commit.slice(0, 12),
      first: problemText(first),
      more: certain.length === 1 ? '' : ` (and ${certain.length - 1} more)`,
    }),
  )
}
