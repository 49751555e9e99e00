// Caches the last rendered commits of each source, so that Releases and retries do not render again. Determines once where code runs.
import { getHeapStatistics } from 'node:v8'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { createValidator } from '#api/validate.ts'
import type { Clock } from '#lib/clock.ts'
import { isForbidden } from '#kube/errors.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import type { Rejected } from '#delivery/desired.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import { Semaphore } from '#lib/semaphore.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { accessOf, requireLocal, secretOf } from '../git/access.ts'
import { isLocal } from '../git/local-url.ts'
import { openLocalRepository, type LocalRepository } from '../git/local-repository.ts'
import { boundOfAll, nearlyFull, usageOf, type CopiesUsage } from '../git/copies.ts'
import {
  branchesOf,
  DEFAULT_MAX_BYTES,
  fetchMirror,
  type MirrorOptions,
  openMirror,
  removeUnusedCopies,
} from '../git/mirror.ts'
import type { GitRepository } from '../git/repository.ts'
import { hasGit, WITHOUT_GIT } from '../git/server-calls.ts'
import { CAGE_LEVELS, findCage } from '../render/cage.ts'
import { isOfTheFleet, renderCommit, type Rendered } from '../render/render.ts'
import { processRenderer, type Renderer } from '../render/renderer.ts'
import { rehearsed } from '../rehearsal/rehearsed.ts'
import { identitiesOf } from '../sops/decryption-key.ts'
import { syncErrors } from '../sync-errors.ts'
import type { SyncConfig } from './context.ts'
import { KeptRenders } from './kept-renders.ts'

export interface Fetched {
  readonly repository: LocalRepository
  readonly commit: string
  readonly isLocal: boolean
  /** The disk for copies is nearly full, or the git program is missing. */
  readonly note?: string
}

/** A failed commit is rendered again after this time, in case this machine caused the failure. */
const FAILED_FOR_MS = 120_000
const SWEEP_MS = 3_600_000
/** Share of the program's memory: for the newest commit of each source, the one before, and those that still roll out. */
const KEPT_SHARE = 0.25
/** One render can use a whole CPU and a gigabyte. */
const RENDERS_AT_ONCE = 4

export class Renders {
  readonly #config: SyncConfig
  readonly #clock: Clock
  readonly #validator = createValidator()
  readonly #repositories = new Map<string, LocalRepository>()
  readonly #rendered = new KeptRenders<Rendered>(
    KEPT_SHARE * getHeapStatistics().heap_size_limit,
    ({ memory }) => memory,
  )
  /** By source: the newest observed commit, and what cancels the render of another one. */
  readonly #newest = new Map<string, { readonly commit: string; readonly superseded: AbortController }>()
  /** By reader: two fetches into one copy would wait for each other's locks, and clean up after each other. */
  readonly #fetches = new KeyedLock({ what: 'fetches of one repository' })
  readonly #atOnce = new Semaphore(RENDERS_AT_ONCE, { what: 'renders' })
  #renderer: Promise<Renderer> | undefined
  #sweptAt: number | undefined
  /** Readers of all sources; undefined until they were listed. */
  #readers: ReadonlySet<string> | undefined

  readonly #readSecret: ReadSecret
  readonly #makeRenderer: () => Promise<Renderer>

  constructor(config: SyncConfig, clock: Clock, { readSecret, makeRenderer }: RenderPorts = {}) {
    this.#config = config
    this.#clock = clock
    this.#readSecret = readSecret ?? (async () => undefined)
    this.#makeRenderer =
      makeRenderer ?? (async () => processRenderer(await findCage(config.weakCage, CAGE_LEVELS, config.caged)))
  }

  /** Fetches the commit that the source follows now. */
  async fetch(source: FleetSource): Promise<Fetched> {
    const { url, ref } = source.spec
    const repository = await this.#fetched(source)
    const name = ref.commit ?? (ref.branch === undefined ? `refs/tags/${ref.tag ?? ''}` : `refs/heads/${ref.branch}`)
    const commit = await repository.resolve(name)
    this.#saw(`${url}\n${name}`, commit)
    const note = isLocal(url) ? undefined : this.#note()
    return { repository, commit, isLocal: isLocal(url), ...defined({ note }) }
  }

  /** Commits by branch name, below this folder of branches in the repository itself; a fork has none there. */
  async branches(source: FleetSource, folder: string): Promise<ReadonlyMap<string, string>> {
    const { url } = source.spec
    if (isLocal(url)) return (await this.#fetched(source)).branches(folder)
    const options = await this.#mirrorOptions(source)
    return this.#fetches.run(options.reader ?? url, () => branchesOf(url, folder, options))
  }

  /** Like `render`, but undefined as soon as the source moves to another commit. */
  async renderNewest(source: FleetSource, commit: string): Promise<Rendered | undefined> {
    const superseded = [...this.#newest.values()].find((n) => n.commit === commit)?.superseded.signal
    try {
      return await this.render(source, commit, superseded)
    } catch (error) {
      if (superseded?.aborted === true) return undefined
      throw error
    }
  }

  /** Whether it costs nothing to render it now: it is in memory, or failed a moment ago. */
  isKept(source: FleetSource, commit: string): boolean {
    return this.#rendered.has(keptFor(source), commit)
  }

  /** For a source that was fetched before, or is local. */
  render(source: FleetSource, commit: string, signal?: AbortSignal): Promise<Rendered> {
    return this.#rendering(source, commit, false, signal)
  }

  /** Like `render`, for commits that are needed less than others: these stay in memory. */
  renderAside(source: FleetSource, commit: string): Promise<Rendered> {
    return this.#rendering(source, commit, true)
  }

  async #rendering(source: FleetSource, commit: string, isAside: boolean, signal?: AbortSignal): Promise<Rendered> {
    const { spec } = source
    const remote = isLocal(spec.url) ? undefined : await this.#copyWith(source, commit)
    const from = remote ?? (await this.#fetched(source))
    const key = keptFor(source)
    const known = this.#rendered.get(key, commit, isAside)
    if (known !== undefined) return known
    const made = this.#render(source, from, commit, signal)
    this.#rendered.add(key, commit, made, isAside)
    made.then(
      ({ targets }) => this.#tryAgain(() => this.#rendered.drop(key, commit, made), targets),
      (error: unknown) => this.#forget(() => this.#rendered.drop(key, commit, made), error),
    )
    return made
  }

  #note(): string | undefined {
    const notes = [nearlyFull(this.#usage()), hasGit(this.#config.gitEnv ?? {}) ? undefined : WITHOUT_GIT]
    const all = notes.filter((note) => note !== undefined)
    return all.length === 0 ? undefined : all.join('; ')
  }

  #usage(): CopiesUsage {
    const { cacheDir, maxRepositoryBytes = DEFAULT_MAX_BYTES } = this.#config
    return usageOf(cacheDir, boundOfAll(maxRepositoryBytes))
  }

  #saw(ref: string, commit: string): void {
    const known = this.#newest.get(ref)
    if (known?.commit === commit) return
    known?.superseded.abort()
    this.#newest.set(ref, { commit, superseded: new AbortController() })
  }

  /** A file that the key does not open may open with the Secret's next content, and no commit announces that. */
  #tryAgain(drop: () => void, targets: Rendered['targets']): void {
    if (![...targets.values()].some(({ rejected }) => rejected.some(isUndecrypted))) return
    this.#clock.after(FAILED_FOR_MS, drop)
  }

  /** Failures outside the fleet's code are retried immediately. */
  #forget(drop: () => void, error: unknown): void {
    if (isKubeNodeError(error) && isOfTheFleet(error)) this.#clock.after(FAILED_FOR_MS, drop)
    else drop()
  }

  /** Runs periodically: removes copies of sources that no longer exist. */
  removeUnused(sources: readonly FleetSource[]): void {
    const now = this.#clock.monotonic()
    this.#readers = new Set(sources.map(readerOf))
    if (this.#sweptAt !== undefined && now - this.#sweptAt < SWEEP_MS) return
    this.#sweptAt = now
    const readers = this.#readers
    removeUnusedCopies(this.#config.cacheDir, readers, this.#clock.now())
    for (const reader of this.#repositories.keys()) if (!readers.has(reader)) this.#repositories.delete(reader)
  }

  /** Testing a cage takes a tenth of a second, so it runs before the first commit. The render that needs the cage reports a failure. */
  prepare(): void {
    this.#findRenderer().catch(() => undefined)
  }

  #findRenderer(): Promise<Renderer> {
    this.#renderer ??= this.#makeRenderer().catch((error: unknown) => {
      this.#renderer = undefined
      throw error
    })
    return this.#renderer
  }

  async #render(
    source: FleetSource,
    repository: GitRepository,
    commit: string,
    signal?: AbortSignal,
  ): Promise<Rendered> {
    const renderer = await this.#findRenderer()
    const { path, decryption } = source.spec
    const identities =
      decryption === undefined
        ? undefined
        : await identitiesOf(source, await this.#secretOf(source, decryption.secretRef))
    const { renderLimits, rehearsal } = this.#config
    const made = {
      repository,
      renderer,
      path,
      decryption: { identities, ...(decryption?.requirePlaces === true && { requirePlaces: true }) },
      validator: this.#validator,
      limits: { ...renderLimits, ...defined({ signal }) },
    }
    const rendered = await this.#atOnce.run(() => renderCommit(commit, made))
    return rehearsal === undefined ? rendered : { ...rendered, targets: rehearsed(rendered.targets, rehearsal) }
  }

  /** A reader's cached copy is not shared: another source must prove that it may read the repository. */
  async #fetched(source: FleetSource): Promise<LocalRepository> {
    const { url, ref } = source.spec
    const reader = readerOf(source)
    if (isLocal(url)) {
      requireLocal(source, this.#config.localRepositories ?? [])
      const repository = this.#repositories.get(reader) ?? openLocalRepository(url)
      this.#repositories.set(reader, repository)
      return repository
    }
    const options = await this.#mirrorOptions(source)
    const { cacheDir } = options
    const once = () => this.#fetches.run(reader, () => fetchMirror(url, ref, options))
    const repository = await once().catch((error: unknown) => {
      if (this.#readers === undefined || !isKubeNodeError(error) || error.code !== syncErrors.KN7057.code) throw error
      removeUnusedCopies(cacheDir, new Set([...this.#readers, reader]), this.#clock.now(), true)
      return once()
    })
    this.#repositories.set(reader, repository)
    return repository
  }

  async #mirrorOptions(source: FleetSource): Promise<MirrorOptions> {
    const { secretRef } = source.spec
    // Read again for each fetch: a new token or authority counts from the next fetch on.
    const secret = secretRef === undefined ? undefined : await this.#secretOf(source, secretRef)
    const { cacheDir, gitEnv, gitReach: reach, maxRepositoryBytes: maxBytes } = this.#config
    return {
      cacheDir,
      access: accessOf(source, secret, this.#clock.now()),
      reader: readerOf(source),
      ...defined({ env: gitEnv, reach, maxBytes }),
    }
  }

  /** Works without the server, which may have been unreachable since before this process started. */
  async #copyWith(source: FleetSource, commit: string): Promise<LocalRepository | undefined> {
    const reader = readerOf(source)
    const known = this.#repositories.get(reader)
    if (known !== undefined) return known
    const found = await openMirror({ cacheDir: this.#config.cacheDir, reader, url: source.spec.url }, commit)
    if (found !== undefined) this.#repositories.set(reader, found)
    return found
  }

  async #secretOf(source: FleetSource, secretRef: { readonly name: string }): Promise<KubeObject | undefined> {
    const { namespace, name } = secretOf(source, secretRef)
    try {
      return await this.#readSecret(namespace, name)
    } catch (cause) {
      if (!isForbidden(cause)) throw cause
      const values = { source: namespacedName(source), namespace, name }
      throw new KubeNodeError(syncErrors.KN7027(values), { retry: 'later', cause })
    }
  }
}

const isUndecrypted = ({ problem }: Rejected): boolean => problem.startsWith(UNDECRYPTED)
const UNDECRYPTED = syncErrors.KN7133({ file: '', why: '' }).code

/** Content that one source can decrypt is not shown to another source that reads the same repository. */
const decryptedFor = (source: FleetSource): string =>
  source.spec.decryption === undefined
    ? ''
    : `${namespacedName(source)} ${source.spec.decryption.requirePlaces === true ? 'places' : ''}`

const keptFor = (source: FleetSource): string => `${readerOf(source)}\n${decryptedFor(source)}\n${source.spec.path}`

/** A source with the program's own credentials shares its copies with earlier ones. */
const readerOf = (source: FleetSource): string =>
  source.spec.writes === undefined && source.spec.secretRef === undefined
    ? source.spec.url
    : `${source.spec.url}\n${namespacedName(source)}`

export interface RenderPorts {
  readonly readSecret?: ReadSecret
  /** Default: a process on this machine. */
  readonly makeRenderer?: () => Promise<Renderer>
}

/** The Secret of this namespace and name, if it exists. */
export type ReadSecret = (namespace: string, name: string) => Promise<KubeObject | undefined>
