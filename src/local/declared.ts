// Serves what the newest commit declares besides objects: packed artifacts, the trust document and the configuration of agents.
// A commit that cannot be served leaves what was served before in place.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '#lib/errors.ts'
import { provideArtifacts, type Pack } from './artifacts.ts'
import type { Layout } from './layout.ts'
import { exportCommit } from './repository.ts'

export interface DeclaredFilesDeps {
  readonly layout: Pick<Layout, 'root' | 'repository' | 'artifacts'>
  readonly pack: Pack
  readonly say: (line: string) => void
}

export class DeclaredFiles {
  readonly #deps: DeclaredFilesDeps
  #served: string | undefined
  #refused: string | undefined
  #running: Promise<void> | undefined

  constructor(deps: DeclaredFilesDeps) {
    this.#deps = deps
  }

  /** Throws when the commit cannot be served. Answers with the number of component versions. */
  async serve(commit: string): Promise<number> {
    const { layout, pack } = this.#deps
    const files = mkdtempSync(join(layout.root, 'commit-'))
    try {
      await exportCommit(layout.repository, commit, files)
      const versions = await provideArtifacts(files, layout.artifacts, pack)
      this.#served = commit
      return versions
    } finally {
      rmSync(files, { recursive: true, force: true })
    }
  }

  /** Serves a commit that is new, one at a time and in the background; a refused one is reported once. */
  follow(commit: string): void {
    if (this.#running !== undefined || commit === this.#served || commit === this.#refused) return
    const { say } = this.#deps
    this.#running = this.serve(commit)
      .then((versions) => say(`serving the ${versions} component versions of commit ${commit.slice(0, 8)}`))
      .catch((cause: unknown) => {
        this.#refused = commit
        say(`cannot serve the components of commit ${commit.slice(0, 8)}: ${messageOf(cause)}`)
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves once nothing is being packed: the data folder may be left alone. */
  async idle(): Promise<void> {
    await this.#running
  }
}
