// Finds how a set gets back to a revision's declaration, by rendering commits of the fleet's repository and trying reverts in a copy.
import { resolve } from 'node:path'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { findCage } from '#sync/render/cage.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { renderCommit, renderKey } from '#sync/render/render.ts'
import type { Targets } from '#delivery/desired.ts'
import { openFleetHistory, type Trial } from './fleet-history.ts'
import { type Declared, type WayBack, wayBackTo } from './revert-search.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { canonicalJson, isObject } from '#lib/json.ts'
import { applyDefaults } from '#api/schema/default.ts'

export interface WayBackRequest {
  readonly set: string
  /** Its current declaration, and the target. */
  readonly now: readonly unknown[]
  readonly wanted: readonly unknown[]
  readonly folder: string
  readonly path: string
  readonly cluster: string | undefined
  readonly weakCage: 'allow' | 'refuse'
  readonly env: Readonly<Record<string, string>>
}

export interface PreparedWayBack {
  readonly way: WayBack
  /** The clusters in which the result was compared. */
  readonly clusters: readonly string[]
}

/** Components as one text in a fixed order, without server defaults and secret values. */
function componentsText(components: readonly unknown[]): string {
  const spec = { spec: { components } }
  const filled = applyDefaults(machineComponentSet.schema, JSON.parse(JSON.stringify(spec)))
  const list = isObject(filled) && isObject(filled['spec']) ? filled['spec']['components'] : []
  const plain = (Array.isArray(list) ? list : [])
    .filter(isObject)
    .map((c) => Object.fromEntries(Object.entries(c).filter(([key]) => key !== 'sealed')))
  return canonicalJson(plain.toSorted((a, b) => (String(a['name']) < String(b['name']) ? -1 : 1)))
}

/** By cluster, where a set of this name is declared. */
function declaredIn(targets: Targets, set: string): ReadonlyMap<string, string> {
  const found = [...targets].flatMap(([cluster, { objects }]): [string, string][] => {
    const object = objects.find(
      ({ object: o }) => o.kind === machineComponentSet.kind && o.metadata.name === set,
    )?.object
    return object === undefined ? [] : [[cluster, componentsText((object as MachineComponentSet).spec.components)]]
  })
  return new Map(found)
}

export async function prepareWayBack(request: WayBackRequest): Promise<PreparedWayBack> {
  const repository = openLocalRepository(resolve(request.folder), { above: true })
  const renderer = processRenderer(await findCage(request.weakCage))
  const known = new Map<string, Targets | undefined>()
  const targetsAt = async (commit: string, where: Trial | undefined): Promise<Targets | undefined> => {
    const of = where === undefined ? repository : openLocalRepository(where.folder)
    const key = await renderKey(of, commit, request.path)
    // A commit that does not render declares nothing: it is neither a target nor a step.
    if (!known.has(key))
      known.set(
        key,
        await renderCommit(commit, { repository: of, renderer, path: request.path }).then(
          (r) => r.targets,
          () => undefined,
        ),
      )
    return known.get(key)
  }
  const { workTree, commonDir } = repository.folder
  const history = await openFleetHistory(workTree ?? commonDir, request.env)
  try {
    const head = history.commits[0]
    // If the newest commit does not render, nothing can be compared: report that.
    if (head !== undefined)
      known.set(
        await renderKey(repository, head.id, request.path),
        (await renderCommit(head.id, { repository, renderer, path: request.path })).targets,
      )
    const declared = declaredIn((head && (await targetsAt(head.id, undefined))) ?? new Map(), request.set)
    const clusters = clustersOf(request, declared)
    if (clusters.length === 0) return { way: { kind: 'None', searched: 0 }, clusters }
    const inClusters = (at: ReadonlyMap<string, string>): Declared => clusters.map((c) => at.get(c) ?? null)
    const wanted = clusters.map(() => componentsText(request.wanted))
    const way = await wayBackTo(wanted, history, async (commit, where) => {
      const targets = await targetsAt(commit, where)
      return targets && inClusters(declaredIn(targets, request.set))
    })
    return { way, clusters }
  } finally {
    await history.close()
  }
}

/** Sets of one name may differ between clusters: pick the cluster whose declaration equals the server's, or the only one. */
function clustersOf({ cluster, now }: WayBackRequest, declared: ReadonlyMap<string, string>): readonly string[] {
  if (cluster !== undefined) return declared.has(cluster) ? [cluster] : []
  const same = [...declared].filter(([, text]) => text === componentsText(now)).map(([name]) => name)
  return same.length > 0 || declared.size !== 1 ? same : [...declared.keys()]
}
