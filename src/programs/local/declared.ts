// Serves what the newest commit declares besides objects: packed artifacts and the trust document. These need no stages: artifacts are named by digest, and
// agents refuse a trust document older than theirs. If a commit cannot be served, the previous one stays in place.
import { titledIn } from '#sync/git/titled-in.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { provideArtifacts, type Pack } from './artifacts.ts'
import type { DebianStore } from '#providers/nspawn/debian.ts'
import type { Layout } from './layout.ts'
import { exportCommit } from './repository.ts'

/** Where `kubenode artifact from-…` puts archives, outside git. */
const PACKED = 'artifacts'
/** Exporting and packing a commit takes seconds. */
const LONGEST_EXPORT_MS = 3_600_000

/** Whether the commit is followed is decided later, and shown by its source. */
export const packedLine = (commit: string, versions: number): string =>
  `commit ${commit}: ${counted(versions, 'component version')} signed and packed`

export interface DeclaredFilesDeps {
  readonly layout: Pick<Layout, 'root' | 'repository' | 'artifacts' | 'follows'>
  readonly pack: Pack
  /** Source of components that are in no commit; undefined where no machine needs them. */
  readonly debian?: Omit<DebianStore, 'artifacts' | 'print'>
  readonly print: (line: string) => void
}

export class DeclaredFiles {
  readonly #deps: DeclaredFilesDeps
  #served: string | undefined
  #refused: string | undefined
  #running: Promise<void> | undefined

  constructor(deps: DeclaredFilesDeps) {
    this.#deps = deps
  }

  /** Throws if the commit cannot be served. Returns the number of component versions. */
  async serve(commit: string, signal?: AbortSignal): Promise<number> {
    const { layout, pack, debian, print } = this.#deps
    const folders = { parent: layout.root, prefix: 'commit-', maxAgeMs: LONGEST_EXPORT_MS }
    sweepOwnedFolders(folders)
    const files = makeOwnedFolder(folders)
    try {
      const { repository, artifacts, follows } = layout
      const path = follows?.path ?? '.'
      await exportCommit(repository, commit, files, path)
      const packUntilEnded: Pack = (folder, target) => {
        signal?.throwIfAborted()
        return pack(folder, target)
      }
      const versions = await provideArtifacts({
        root: join(files, path),
        artifacts,
        pack: packUntilEnded,
        print,
        ...(debian !== undefined && { debian: { ...debian, print } }),
        ...(follows !== undefined && { packed: join(repository, path, PACKED) }),
        ...defined({ signal }),
      })
      this.#served = commit
      return versions
    } finally {
      rmSync(files, { recursive: true, force: true })
    }
  }

  /** Serves each new commit in the background, one at a time. A refused commit is reported once. */
  follow(commit: string): void {
    if (this.#running !== undefined || commit === this.#served || commit === this.#refused) return
    const { layout, print } = this.#deps
    const called = titledIn(openLocalRepository(layout.repository), commit)
    this.#running = this.serve(commit)
      .then(async (versions) => print(packedLine(await called, versions)))
      .catch(async (cause: unknown) => {
        this.#refused = commit
        print(`cannot serve the components of commit ${await called}: ${messageOf(cause)}`)
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves once nothing is being packed, so that the data folder is safe to leave. */
  async idle(): Promise<void> {
    await this.#running
  }
}
