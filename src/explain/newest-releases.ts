// The Releases that matter now: the newest of each track. Pure.
import type { Release } from '#api/kinds/release.ts'

/** The newest Release of each track. */
export function newestReleases(all: readonly Release[]): readonly Release[] {
  const named = new Set(all.flatMap(({ spec }) => spec.previous ?? []))
  return all.filter((r) => !named.has(r.metadata.name ?? ''))
}
