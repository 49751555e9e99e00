// The fleet repository behind the console: plans of its commits, rendered in the cage one at a time.
import { titledIn } from '#sync/git/titled-in.ts'
import { newestCommitText, shortCommit } from '#api/protocol/commit-title.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { PreparedCommit, PushedCommit, PushRequest } from '../prepared.ts'
import type {
  FleetRepository,
  PreparedPrediction,
  PrepareRequest,
  RepositoryPlan,
  RepositoryPlanRequest,
} from '../server/fleet-repository.ts'
import type { Part, PredictedPlan } from '../plan.ts'
import type { Inventory } from '#forecast/inventory.ts'
import type { KubeClient } from '#kube/client.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { Semaphore } from '#lib/semaphore.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { isLocal } from '#sync/git/local-url.ts'
import { openLocalRepository, type LocalRepository } from '#sync/git/local-repository.ts'
import { findCage, type WeakCage } from '#sync/render/cage.ts'
import { planTrailer } from '#sync/plan-digest.ts'
import { renderCommit, type Rendered } from '#sync/render/render.ts'
import { processRenderer, type Renderer } from '#sync/render/renderer.ts'
import { signatureOf } from '#forecast/plan/plan-signature.ts'
import { makePlan, type MadePlan, rendersFrom } from '#forecast/plan/make-plan.ts'
import { commitCalled } from '#forecast/plan/range.ts'
import { recordedName } from '#forecast/plan/recorded-name.ts'
import { certainPlan, predictedPlan } from './shown-plan.ts'
import { takeInventory } from '#forecast/plan/take-inventory.ts'
import type { Edit } from './edit.ts'
import { type NewCommit, newCommit } from './new-commit.ts'
import { diffLines, patchText, subjectOf } from './patch.ts'
import { prepared } from './prepare.ts'
import { type PushGit, pushPrepared } from './push-prepared.ts'
import { consoleRepositoryErrors } from './repository-errors.ts'
import { withEdits } from './with-edits.ts'

export interface RepositoryPlace {
  readonly folder: string
  /** The fleet's folder inside it. */
  readonly path: string
  readonly weakCage: WeakCage
  /** How git runs for a push; by default it may reach no server on this machine, and uses the system's CAs. */
  readonly git?: PushGit
}

/** A commit and its base, for a user who switches between two. */
const KEPT_RENDERS = 4
/** Prepared commits that may still be pushed. */
const KEPT_COMMITS = 16

interface Kept {
  readonly commit: NewCommit
  readonly edits: readonly Edit[]
  readonly answer: PreparedCommit
  readonly source: FleetSource
}

/** For one user with several tabs. */
const MOST_WAITING = 8

export class ConsoleRepository implements FleetRepository {
  readonly name: string
  readonly #repository: LocalRepository
  readonly #place: RepositoryPlace
  /** A plan takes a whole core. */
  readonly #oneAtATime = new Semaphore(1, {
    what: 'plans',
    mostWaiting: MOST_WAITING,
    full: () => new KubeNodeError(consoleRepositoryErrors.KN1044_plans({ most: MOST_WAITING }), { retry: 'later' }),
  })
  readonly #rendered = new Map<string, Rendered>()
  readonly #prepared = new Map<string, Kept>()
  #renderer: Promise<Renderer> | undefined

  /** Throws if there is no repository. */
  constructor(place: RepositoryPlace) {
    this.#repository = openLocalRepository(place.folder, { above: true })
    this.#place = place
    this.name = this.#repository.folder.workTree ?? this.#repository.folder.commonDir
  }

  plan({ commit, base, clients }: RepositoryPlanRequest): Promise<RepositoryPlan> {
    return this.#oneAtATime.run(async () => {
      const id = await commitCalled(this.#repository, commit)
      const about = await this.#repository.commit(id)
      const against = base === undefined ? about.parents[0] : await commitCalled(this.#repository, base)
      const taken = clients === undefined ? undefined : await inventoriesOf(clients)
      const made = await this.#made(id, against, this.#repository, taken?.inventories)
      const signature = await this.#signature(id)
      return {
        certain: certainPlan(made, { ...about, ...defined({ signature }) }),
        predicted: predictedOf(made, taken),
      }
    })
  }

  prepare({ person, source, change, client, ...by }: PrepareRequest): Promise<PreparedCommit> {
    return this.#oneAtATime.run(async () => {
      const follows = source.spec.ref?.branch ?? ''
      const base = await this.#branch(source, follows)
      const { edits, made, subject, branch, machines } = await prepared(change, {
        base,
        reason: by.reason,
        files: await this.#files(base),
        planOf: (tried) => this.#made(base, base, withEdits(this.#repository, tried)),
        client,
      })
      const needsPlan = source.spec.requirePlan === true
      const trailers = needsPlan ? [planTrailer(made.digest)] : []
      const words = { ...by, subject: subjectOf(subject), trailers, at: systemClock.now() }
      const commit = await newCommit(this.#repository, base, edits, words)
      const refused = await refusedFor(source, base, this.#repository)
      const answer: PreparedCommit = {
        id: commit.id,
        base,
        url: source.spec.url,
        follows,
        branch,
        message: subject,
        patch: patchText(commit.id, words, edits),
        lines: diffLines(edits),
        plan: certainPlan(
          { ...made, commit: commit.id },
          { author: by.author, time: words.at / 1_000, message: subject },
        ),
        warnings: refused === undefined ? [] : [refused],
        ...defined({ machines, refused }),
        needsToken: source.spec.url.startsWith('https:'),
      }
      this.#prepared.set(preparedKey(person, commit.id), { commit, edits, answer, source })
      for (const old of [...this.#prepared.keys()].slice(0, -KEPT_COMMITS)) this.#prepared.delete(old)
      return answer
    })
  }

  async predict({ id, person, clients }: PreparedPrediction): Promise<Part<PredictedPlan>> {
    const { answer, edits } = this.#keptOf(id, person)
    return this.#oneAtATime.run(async () => {
      const taken = await inventoriesOf(clients)
      const after = withEdits(this.#repository, edits)
      return predictedOf(await this.#made(answer.base, answer.base, after, taken.inventories), taken)
    })
  }

  async push(asked: PushRequest, person: string): Promise<PushedCommit> {
    const kept = this.#keptOf(asked.id, person)
    return pushPrepared({ ...kept, asked, repository: this.#repository, git: this.#place.git })
  }

  #keptOf(id: string, person: string): Kept {
    const kept = this.#prepared.get(preparedKey(person, id))
    if (kept === undefined) throw new KubeNodeError(consoleRepositoryErrors.KN1725({ commit: shortCommit(id) }))
    return kept
  }

  /** The followed branch's commit: as fetched, or in this same repository. */
  async #branch(source: FleetSource, branch: string): Promise<string> {
    const names = isLocal(source.spec.url)
      ? [`refs/heads/${branch}`]
      : [`refs/remotes/origin/${branch}`, `refs/heads/${branch}`]
    for (const name of branch === '' ? [] : names) {
      const found = await this.#repository.resolve(name).catch(() => undefined)
      if (found !== undefined) return found
    }
    const values = { repository: this.name, branch, source: source.metadata.name ?? '' }
    throw new KubeNodeError(consoleRepositoryErrors.KN1724(values))
  }

  async #files(commit: string): Promise<ReadonlyMap<string, string>> {
    const found = await this.#repository.readTree(commit, ['fleet'])
    return new Map([...found].map(([path, bytes]) => [path, Buffer.from(bytes).toString('utf8')]))
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

  async #signature(id: string): Promise<string | undefined> {
    const own = await signatureOf(this.#repository, id)
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

/** Another user's commit is unknown: a commit shown to one user is not pushed in another's name. */
const preparedKey = (person: string, commit: string): string => `${commit} ${person}`

/** Reasons for sync to refuse the commit on the followed branch. */
async function refusedFor(
  { spec, status, metadata }: FleetSource,
  base: string,
  repository: LocalRepository,
): Promise<string | undefined> {
  const mode = spec.verify?.mode ?? 'Off'
  if (spec.verify !== undefined && mode !== 'Off' && mode !== 'None')
    return `FleetSource ${metadata.name} follows signed commits only (${mode}), and the console has no key of yours: this commit is not signed`
  const followed = status?.commit
  if (followed !== undefined && followed !== base)
    return `the repository has ${await titledIn(repository, base)}, and FleetSource ${metadata.name} follows ${newestCommitText(status ?? {})}`
  return undefined
}

interface Taken {
  readonly at: number
  readonly inventories: readonly Inventory[]
  /** Clusters that could not be read. */
  readonly failed: readonly string[]
}

/** With the user's rights: a cluster they may not read is unknown and listed. */
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
