// What a FleetSource may write, and whether several of them can be told apart. Pure.
import { API_GROUP } from '#api/kind.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import type { ErrorMessage } from '#lib/errors.ts'
import { numbered } from '#lib/errors.ts'
import { missingWrites, type Writes } from '#delivery/writes.ts'
import { refText } from '#delivery/object-ref.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { syncErrors } from '../sync-errors.ts'
import { isVerified } from '../trust/policy.ts'

/** Why the source cannot be followed next to the others. The oldest one continues, so that a new source cannot stop it. */
export function standingProblem(source: FleetSource, all: readonly FleetSource[]): ErrorMessage | undefined {
  const key = namespacedName(source)
  const others = all.filter((s) => namespacedName(s) !== key && s.metadata.deletionTimestamp === undefined)
  const replaced = others.find((s) => source.spec.replaces?.includes(namespacedName(s)) === true)
  if (replaced !== undefined) return syncErrors.KN7402({ source: key, other: namespacedName(replaced) })
  const silent = others
    .filter((other) => isBefore(other, source))
    .find((other) => source.spec.writes === undefined || other.spec.writes === undefined)
  if (silent === undefined) return undefined
  const missing = source.spec.writes === undefined ? key : namespacedName(silent)
  return syncErrors.KN1524_beside({ source: key, other: namespacedName(silent), missing })
}

function isBefore(a: FleetSource, b: FleetSource): boolean {
  const [x, y] = [a, b].map((s) => `${s.metadata.creationTimestamp ?? ''} ${namespacedName(s)}`) as [string, string]
  return x < y
}

/** Objects that the source may not write are neither applied nor pruned, on any path. */
export function withinScope(targets: Targets, source: FleetSource): Targets {
  const { writes } = source.spec
  const key = namespacedName(source)
  const own = isVerified(source)
    ? new Map([...targets].map(([name, target]) => [name, withoutSources(target, key)] as const))
    : targets
  if (writes === undefined) return own
  return new Map([...own].map(([name, target]) => [name, scoped(target, writes, key)]))
}

/** A FleetSource defines the signers of commits: declared in a commit, it would choose its own. */
function withoutSources({ objects, rejected }: RenderedTarget, source: string): RenderedTarget {
  const { kept = [], sources = [] } = Object.groupBy(objects, ({ ref }) =>
    ref.kind === fleetSource.kind && ref.group === API_GROUP ? 'sources' : 'kept',
  )
  const refused = sources.map(({ ref, place }) => ({
    ref,
    ...defined({ place }),
    problem: numbered(syncErrors.KN7044({ object: refText(ref), source })),
  }))
  return { objects: kept, rejected: [...rejected, ...refused] }
}

function scoped({ objects, rejected }: RenderedTarget, writes: Writes, source: string): RenderedTarget {
  const judged = objects.map((object) => ({ object, missing: missingWrites(writes, object.ref) }))
  const refused = judged
    .filter(({ missing }) => missing.length > 0)
    .map(({ object: { ref, place }, missing }) => ({
      ref,
      ...defined({ place }),
      problem: numbered(syncErrors.KN7403({ source, missing: missing.join(' and ') })),
    }))
  const allowed = judged.filter(({ missing }) => missing.length === 0).map(({ object }) => object)
  return { objects: allowed, rejected: [...rejected, ...refused] }
}
