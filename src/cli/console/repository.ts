// The repository of a fleet behind the console: plans of its commits, rendered in the cage and one at a time.
import type { FleetRepository, RepositoryPlan, RepositoryPlanWish } from '#console/server/fleet-repository.ts'
import type { Part, PredictedPlan } from '#console/plan.ts'
import type { Inventory } from '#forecast/inventory.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock, timestamp } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { openLocalRepository, type LocalRepository } from '#sync/git/local-repository.ts'
import { findCage, type WeakCage } from '#sync/render/cage.ts'
import { renderCommit, type Rendered } from '#sync/render/render.ts'
import { processRenderer, type Renderer } from '#sync/render/renderer.ts'
import { signatureOf } from '../commands/plan-signature.ts'
import { makePlan, type MadePlan, rendersFrom } from '../plan/make-plan.ts'
import { commitCalled } from '../plan/range.ts'
import { recordedName } from '../plan/recorded-name.ts'
import { certainPlan, predictedPlan } from '../plan/shown-plan.ts'
import { takeInventory } from '../plan/take-inventory.ts'
import { OneAtATime } from './one-at-a-time.ts'

export interface RepositoryPlace {
  readonly folder: string
  /** Folder of the fleet in it. */
  readonly path: string
  readonly weakCage: WeakCage
}

/** A commit and its base, for the person who goes back and forth between two. */
const KEPT_RENDERS = 4

export class ConsoleRepository implements FleetRepository {
  readonly name: string
  readonly #repository: LocalRepository
  readonly #place: RepositoryPlace
  readonly #turns = new OneAtATime()
  readonly #rendered = new Map<string, Rendered>()
  #renderer: Promise<Renderer> | undefined

  /** Throws where there is no repository. */
  constructor(place: RepositoryPlace) {
    this.#repository = openLocalRepository(place.folder, { above: true })
    this.#place = place
    this.name = this.#repository.folder.workTree ?? this.#repository.folder.commonDir
  }

  plan({ commit, base, clients }: RepositoryPlanWish): Promise<RepositoryPlan> {
    return this.#turns.run(async () => {
      const id = await commitCalled(this.#repository, commit)
      const about = await this.#repository.commit(id)
      const against = base === undefined ? about.parents[0] : await commitCalled(this.#repository, base)
      const taken = clients === undefined ? undefined : await inventoriesOf(clients)
      const made = await this.#made(id, against, this.#repository, taken?.inventories)
      const signature = this.#signature(id)
      return {
        certain: certainPlan(made, { ...about, ...(signature !== undefined && { signature }) }),
        predicted: predictedOf(made, taken),
      }
    })
  }

  #made(
    commit: string,
    base: string | undefined,
    after: GitRepository,
    inventories?: readonly Inventory[],
  ): Promise<MadePlan> {
    const render = (id: string, from: GitRepository): Promise<Rendered> => this.#render(id, from)
    return makePlan({
      commit,
      base,
      inventories,
      render: rendersFrom(this.#repository, after, render),
      onNothingBefore: () => undefined,
    })
  }

  async #render(id: string, from: GitRepository): Promise<Rendered> {
    const known = from === this.#repository ? this.#rendered.get(id) : undefined
    if (known !== undefined) return known
    this.#renderer ??= findCage(this.#place.weakCage).then((cage) => processRenderer(cage))
    const renderer = await this.#renderer.catch((error: unknown) => {
      this.#renderer = undefined
      throw error
    })
    const made = await renderCommit(id, { repository: from, renderer, path: this.#place.path })
    if (from !== this.#repository) return made
    this.#rendered.set(id, made)
    for (const old of [...this.#rendered.keys()].slice(0, -KEPT_RENDERS)) this.#rendered.delete(old)
    return made
  }

  #signature(id: string): string | undefined {
    const own = signatureOf(this.#repository, id)
    switch (own.kind) {
      case 'By':
        return `signed with ${own.key}`
      case 'Unknown':
        return `has a signature of OpenPGP that names the key ${own.key}`
      case 'Bad':
        return `the signature ${own.why}`
      case 'None':
        return undefined
      default:
        return own satisfies never
    }
  }
}

interface Taken {
  readonly at: number
  readonly inventories: readonly Inventory[]
  /** Clusters that could not be read. */
  readonly failed: readonly string[]
}

/** With the rights of the person: a cluster that they may not read is unknown, and named. */
async function inventoriesOf(clients: ReadonlyMap<string, KubeClient>): Promise<Taken> {
  const at = systemClock.now()
  const all = await Promise.all(
    [...clients].map(async ([name, client]): Promise<Inventory | string> => {
      try {
        const cluster = await recordedName(client)
        return await takeInventory(client, { cluster, takenAt: timestamp(at) })
      } catch (e) {
        return `${name} could not be read: ${messageOf(e)}`
      }
    }),
  )
  return {
    at,
    inventories: all.filter((i) => typeof i !== 'string'),
    failed: all.filter((i) => typeof i === 'string'),
  }
}

function predictedOf(made: MadePlan, taken: Taken | undefined): Part<PredictedPlan> {
  if (taken === undefined) return { state: 'Unasked' }
  const value = predictedPlan(made, taken.at)
  if (value === undefined) return { state: 'Absent', why: 'no cluster was read' }
  return { state: 'Made', value: { ...value, warnings: [...value.warnings, ...taken.failed] } }
}
