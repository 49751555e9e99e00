// Refuses providers that a cluster's controllers do not serve, according to its inventory. If that is known, it replaces the render's warning about names that
// KubeNode does not ship. Pure.
import { declaredErrors } from '#declared/declared-errors.ts'
import { providersNamedBy } from '#declared/providers.ts'
import { refText } from '#delivery/object-ref.ts'
import type { Targets } from '#delivery/desired.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { RenderedProblem } from '#sync/render/problems.ts'
import type { Inventory } from './inventory.ts'

/** From the render: KubeNode does not ship a provider of this name. */
const DOUBTED = 'KN3076'
/** From the render: the fleet's own file does not list it, which is reason enough. */
const UNLISTED = 'KN3075'

export interface Serving {
  readonly after: Targets
  readonly inventories: readonly Inventory[]
  /** Clusters whose inventory is too old to refuse anything. */
  readonly stale: ReadonlySet<string>
}

/** `problems` from the render, with provider problems updated from the inventories. */
export function withServedProviders(
  problems: readonly RenderedProblem[],
  { after, inventories, stale }: Serving,
): readonly RenderedProblem[] {
  const known = inventories.filter((i) => i.providers !== undefined)
  const names = new Set(known.map((i) => i.cluster))
  const left = problems.flatMap((p) => {
    if (p.code !== DOUBTED) return [p]
    const clusters = p.clusters.filter((c) => !names.has(c))
    return clusters.length === 0 ? [] : [{ ...p, clusters }]
  })
  const refused = new Set(problems.flatMap((p) => (p.code === UNLISTED ? [p.object] : [])))
  const found = known
    .flatMap((inventory) => notServed(inventory, after, !stale.has(inventory.cluster)))
    .filter((p) => !refused.has(p.object))
  return [...found, ...left]
}

function notServed(
  { cluster, takenAt, providers = [] }: Inventory,
  after: Targets,
  isCertain: boolean,
): readonly RenderedProblem[] {
  return (after.get(cluster)?.objects ?? []).flatMap(({ ref, object, place }) =>
    providersNamedBy(object).flatMap(({ pointer, name }): readonly RenderedProblem[] => {
      if (name === undefined || providers.includes(name)) return []
      const near = didYouMean(name, [...providers])
      const { code, text } = declaredErrors.KN1451_inventory({
        cluster,
        name,
        hint: near === undefined ? '' : ` (did you mean ${near}?)`,
        names: providers.join(', '),
        takenAt,
      })
      const at = place === undefined ? {} : { place }
      return [{ clusters: [cluster], object: refText(ref), pointer, code, message: text, isCertain, ...at }]
    }),
  )
}
