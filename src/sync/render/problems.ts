// Compares the objects of each cluster with each other and with the same commit's trust document, and finds the files to fix.
import { MAX_TRUST_BYTES, parseSignedTrust, type SignedTrust } from '#api/trust/trust-document.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, type ErrorCode } from '#lib/errors.ts'
import { atOnce } from '#lib/slices.ts'
import { declaredProblems } from '#declared/declared-problems.ts'
import type { DeclaredProblem } from '#declared/problem.ts'
import { providersIn } from '#declared/providers.ts'
import { refOf, refText } from '#delivery/object-ref.ts'
import type { Places } from './places.ts'
import { syncErrors } from '../sync-errors.ts'
import type { Targets } from '#delivery/desired.ts'
import { someOf } from '#lib/some-of.ts'

export interface RenderedProblem {
  /** All clusters with the same problem. */
  readonly clusters: readonly string[]
  readonly object: string
  readonly pointer: string
  readonly code: ErrorCode
  readonly message: string
  /** It cannot work on any cluster; otherwise it may be intended. */
  readonly isCertain: boolean
  readonly isNote?: true
  /** `fleet/machines/workers.ts:14`, if it could be found. */
  readonly place?: string
}

type Files = Readonly<Record<string, string>>

/** Users with more problems than this should fix the first ones first. */
const MAX_PROBLEMS = 200
/** Limit of one problem, for a status and a plan. */
const MAX_MESSAGE_CHARS = 2_000
/** Limit of the listed clusters with the same problem. */
const MAX_CLUSTERS = 10

export interface RenderedProblems {
  /** If not all are reported, certain ones come first. */
  readonly problems: readonly RenderedProblem[]
  readonly moreProblems: number
}

export const problemsIn = (...given: Parameters<typeof findingProblems>): RenderedProblems =>
  atOnce(findingProblems(...given))

/** Like `problemsIn`, cluster by cluster. */
export function* findingProblems(targets: Targets, files: Files, places: Places): Generator<void, RenderedProblems> {
  const trust = yield* newestTrust(files)
  const providers = providersIn(files)
  const found: (DeclaredProblem & { readonly cluster: string; readonly ref: string })[] = []
  for (const [cluster, { objects }] of targets) {
    yield
    const problems = declaredProblems(
      objects.map((o) => o.object),
      { trust, providers },
    )
    for (const p of problems) found.push({ ...p, cluster, ref: refText(refOf(p.object)) })
  }
  const groups = [...Map.groupBy(found, (p) => JSON.stringify([p.ref, p.pointer, p.code, p.message])).values()]
  const isCertain = ([first]: typeof found) => first?.isCertain === true
  const ordered =
    groups.length <= MAX_PROBLEMS
      ? groups
      : [...groups.filter(isCertain), ...groups.filter((group) => !isCertain(group))].slice(0, MAX_PROBLEMS)
  const problems: RenderedProblem[] = []
  for (const group of ordered) {
    yield
    const [first] = group
    if (first === undefined) continue
    const { cluster: _, words, ref: object, ...problem } = first
    const place = places.placeOf(first.object, words)
    const message = problem.message.slice(0, MAX_MESSAGE_CHARS)
    const clusters = group.map((p) => p.cluster)
    problems.push({ ...problem, object, message, clusters, ...defined({ place }) })
  }
  return { problems, moreProblems: groups.length - problems.length }
}

/** If there are several, the one that agents would use in the end. */
function* newestTrust(files: Files): Generator<void, SignedTrust | undefined> {
  let newest: SignedTrust | undefined
  for (const [path, text] of Object.entries(files)) {
    if (!path.endsWith('.json') || text.length > MAX_TRUST_BYTES || !text.includes('"threshold"')) continue
    yield
    const trust = trustIn(text)
    if (trust === undefined) continue
    if (newest === undefined || trust.document.sequence > newest.document.sequence) newest = trust
  }
  return newest
}

function trustIn(text: string): SignedTrust | undefined {
  try {
    return parseSignedTrust(JSON.parse(text))
  } catch {
    // Other data of the fleet; its reader decides whether it is valid JSON.
    return undefined
  }
}

export const problemText = ({ clusters, object, pointer, code, message, place }: RenderedProblem): string =>
  `${code}: ${object} in ${someOf(clusters, MAX_CLUSTERS)}, ${pointer}: ${message}${place === undefined ? '' : ` (${place})`}`

/** Refused before any of the commit is applied anywhere. */
/** `called`: the commit with its title. */
export function refuseImpossible(called: string, { problems, moreProblems }: RenderedProblems): void {
  const certain = problems.filter((p) => p.isCertain)
  const [first] = certain
  if (first === undefined) return
  // Certain ones come first, so there can be more certain ones than these only if all of these are certain.
  const more = certain.length - 1 + (certain.length === problems.length ? moreProblems : 0)
  throw new KubeNodeError(
    syncErrors.KN7117({
      commit: called,
      first: problemText(first),
      more: more === 0 ? '' : ` (and ${more} more)`,
    }),
  )
}
