// The Releases that matter now: the newest of each track. Pure.
import type { Release } from '#api/kinds/release.ts'

/** The newest Release of each track. Two namespaces that follow the same commit have Releases of the same name. */
export function newestReleases(all: readonly Release[]): readonly Release[] {
  const keyOf = ({ metadata }: Release, name: string | undefined): string => `${metadata.namespace ?? ''}/${name ?? ''}`
  const named = new Set(all.flatMap((r) => (r.spec.previous === undefined ? [] : keyOf(r, r.spec.previous))))
  return all.filter((r) => !named.has(keyOf(r, r.metadata.name)))
}
