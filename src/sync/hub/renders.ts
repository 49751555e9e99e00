// Keeps the last rendered commits of each source, so that Releases and retries do not render again, and finds the cage once.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { createValidator } from '#api/validate.ts'
import { isLocal } from '../git/locate.ts'
import { openLocalRepository } from '../git/local-repository.ts'
import { fetchMirror } from '../git/mirror.ts'
import type { GitRepository } from '../git/repository.ts'
import { findCage, type Cage } from '../render/cage.ts'
import { renderCommit, renderKey, type Rendered } from '../render/render.ts'
import type { SyncConfig } from './context.ts'

export interface Fetched {
  readonly repository: GitRepository
  readonly commit: string
  readonly isLocal: boolean
}

/** The newest, the one before, and a few that still roll out. */
const KEPT_RENDERS = 8

export class Renders {
  readonly #config: SyncConfig
  readonly #validator = createValidator()
  readonly #repositories = new Map<string, GitRepository>()
  readonly #rendered = new Map<string, Promise<Rendered>>()
  #cage: Promise<Cage> | undefined

  constructor(config: SyncConfig) {
    this.#config = config
  }

  /** The commit that the source follows now. */
  async fetch({ spec }: FleetSource): Promise<Fetched> {
    const { url, ref } = spec
    const local = isLocal(url)
    const repository = local ? this.#local(url) : await fetchMirror(url, ref, this.#mirror())
    this.#repositories.set(url, repository)
    const name = ref.commit ?? (ref.branch === undefined ? `refs/tags/${ref.tag ?? ''}` : `refs/heads/${ref.branch}`)
    return { repository, commit: await repository.resolve(name), isLocal: local }
  }

  /** Of a source that was fetched before, or is local. */
  async render({ spec }: FleetSource, commit: string): Promise<Rendered> {
    const repository = this.#repositories.get(spec.url) ?? (isLocal(spec.url) ? this.#local(spec.url) : undefined)
    const from = repository ?? (await fetchMirror(spec.url, spec.ref, this.#mirror()))
    this.#repositories.set(spec.url, from)
    const key = `${spec.url}\n${spec.path}\n${commit}`
    const known = this.#rendered.get(key)
    if (known !== undefined) return known
    const made = this.#render(from, commit, spec.path)
    this.#rendered.set(key, made)
    for (const old of [...this.#rendered.keys()].slice(0, -KEPT_RENDERS)) this.#rendered.delete(old)
    // A failure is not kept: it may have been the machine's.
    made.catch(() => this.#rendered.delete(key))
    return made
  }

  /** Trying a cage takes a tenth of a second, so it is done before the first commit waits for it. A failure is told by the render that needs it. */
  prepare(): void {
    this.#findCage().catch(() => undefined)
  }

  #findCage(): Promise<Cage> {
    this.#cage ??= findCage(this.#config.weakCage).catch((error: unknown) => {
      this.#cage = undefined
      throw error
    })
    return this.#cage
  }

  async #render(repository: GitRepository, commit: string, path: string): Promise<Rendered> {
    const cage = await this.#findCage()
    const { renderLimits } = this.#config
    return renderCommit(commit, {
      repository,
      cage,
      path,
      validator: this.#validator,
      ...(renderLimits === undefined ? {} : { limits: renderLimits }),
    })
  }

  #local(url: string): GitRepository {
    return this.#repositories.get(url) ?? openLocalRepository(url)
  }

  #mirror() {
    const { cacheDir, gitEnv } = this.#config
    return { cacheDir, ...(gitEnv === undefined ? {} : { env: gitEnv }) }
  }
}

export { renderKey }
