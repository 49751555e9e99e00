// One digest for what a plan promises: the content of every cluster before and after it, with what is declared but invalid. It contains no commit, so
// that a commit can name the digest of its own plan.
import { canonicalJson } from '#lib/json.ts'
import { withoutEnds } from '#lib/without-ends.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { type Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'

export const planDigest = (before: Targets, after: Targets): string =>
  `sha256:${sha256OfJson({ before: contentOf(before), after: contentOf(after) })}`

const contentOf = (targets: Targets) =>
  Object.fromEntries(
    [...targets].map(([name, { objects, rejected }]) => [
      name,
      Object.fromEntries([
        ...objects.map((o) => [refText(o.ref), o.digest]),
        // It stays in the cluster as it is, while an object that is not declared is deleted.
        ...rejected.map(({ ref }) => [refText(ref), REJECTED]),
      ]),
    ]),
  )

/** No digest is this word. */
const REJECTED = 'rejected'

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
