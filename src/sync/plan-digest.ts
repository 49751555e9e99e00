// One digest for what a plan promises: the content of every cluster before and after it. It contains no commit, so that a commit can name the digest of
// its own plan.
import { canonicalJson } from '#lib/json.ts'
import { withoutEnds } from '#lib/without-ends.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { type Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'

export const planDigest = (before: Targets, after: Targets): string =>
  `sha256:${sha256OfJson({ before: contentOf(before), after: contentOf(after) })}`

const contentOf = (targets: Targets) =>
  Object.fromEntries(
    [...targets].map(([name, { objects }]) => [
      name,
      Object.fromEntries(objects.map((o) => [refText(o.ref), o.digest])),
    ]),
  )

/** Equal objects everywhere: nothing to plan. */
export const isSameContent = (a: Targets, b: Targets): boolean =>
  canonicalJson(contentOf(a)) === canonicalJson(contentOf(b))

/** Also matches an empty or malformed value: a plan written wrongly must not count as no plan. */
const TRAILER = /^Kubenode-Plan[ \t]*:(.*)$/gim

/** The plans in a message, as written; a reader must not choose between two. */
export const plansIn = (message: string): readonly string[] => [
  ...new Set([...message.matchAll(TRAILER)].map(([, text = '']) => withoutEnds(text, /[ \t]/))),
]

export const planTrailer = (digest: string): string => `Kubenode-Plan: ${digest}`
