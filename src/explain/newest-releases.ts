// The Releases that matter now: the newest of each track. Pure.
import type { Release } from '#api/kinds/release.ts'
import { keyText, namespacedName } from '#api/schema/object-meta.ts'

/** The newest Release of each track. Two namespaces that follow the same commit have Releases of the same name. */
export function newestReleases(all: readonly Release[]): readonly Release[] {
  const replaced = new Set(
    all.map(({ metadata: { namespace }, spec: { previous: name = '' } }) => keyText({ namespace, name })),
  )
  return all.filter((r) => !replaced.has(namespacedName(r)))
}
