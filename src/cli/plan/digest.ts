// One name for what a plan promises: the two commits, and what every cluster is to have after them.
import { canonicalJson } from '#lib/json.ts'
import { digestOfText, type Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'

export function planDigest(base: string | undefined, commit: string, targets: Targets): string {
  const clusters = Object.fromEntries(
    [...targets].map(([name, { objects }]) => [
      name,
      Object.fromEntries(objects.map((o) => [refText(o.ref), o.digest])),
    ]),
  )
  return `sha256:${digestOfText(canonicalJson({ base: base ?? null, commit, clusters }))}`
}
