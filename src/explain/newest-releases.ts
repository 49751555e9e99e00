// The current Releases: the newest of each track. Pure.
import type { Release } from '#api/kinds/release.ts'
import { keyText, namespacedName } from '#api/schema/object-meta.ts'

/** Two namespaces that follow the same commit have Releases with the same name. */
export function newestReleases(all: readonly Release[]): readonly Release[] {
  const replaced = new Set(
    all.map(({ metadata: { namespace }, spec: { previous: name = '' } }) => keyText({ namespace, name })),
  )
  return all.filter((r) => !replaced.has(namespacedName(r)))
}
