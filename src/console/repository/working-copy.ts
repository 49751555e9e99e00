// Edits a fleet's working copy: tries likely lines of the newest commit, renders each, and takes the first with exactly the wanted effect.
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { type LocalRepository, openLocalRepository } from '#sync/git/local-repository.ts'
import { findCage, type WeakCage } from '#sync/render/cage.ts'
import { renderCommit, type Rendered } from '#sync/render/render.ts'
import { processRenderer, type Renderer } from '#sync/render/renderer.ts'
import { commitCalled } from '#forecast/plan/range.ts'
import { makePlan, type MadePlan, rendersFrom } from '#forecast/plan/make-plan.ts'
import type { Edit } from './edit.ts'
import { consoleRepositoryErrors } from './repository-errors.ts'
import { withEdits } from './with-edits.ts'

export interface CopyPlace {
  readonly folder: string
  /** The fleet's folder inside it. */
  readonly path: string
  readonly weakCage: WeakCage
}

/** One part of a change: candidate lines, and a check that a plan shows this part and the earlier ones and nothing else. */
export interface Step {
  readonly edits: (files: ReadonlyMap<string, string>) => readonly Edit[]
  readonly isDone: (made: MadePlan) => boolean
}

const FOLDERS = ['fleet', 'rules'] as const

export class WorkingCopy {
  readonly #repository: LocalRepository
  readonly #place: CopyPlace
  readonly #head: string
  readonly #renderer: Renderer
  #base: Rendered | undefined

  private constructor(repository: LocalRepository, place: CopyPlace, head: string, renderer: Renderer) {
    this.#repository = repository
    this.#place = place
    this.#head = head
    this.#renderer = renderer
  }

  static async open(place: CopyPlace): Promise<WorkingCopy> {
    const repository = openLocalRepository(resolve(place.folder), { above: true })
    const head = await commitCalled(repository, 'HEAD')
    return new WorkingCopy(repository, place, head, processRenderer(await findCage(place.weakCage)))
  }

  /** The edits of all steps together; undefined if one of them has no line that works. */
  async find(steps: readonly Step[]): Promise<readonly Edit[] | undefined> {
    const files = new Map(await this.#files())
    const edits = new Map<string, Edit>()
    for (const step of steps) {
      const found = await this.#firstOf(step, files, edits)
      if (found === undefined) return undefined
      edits.set(found.path, found)
      files.set(found.path, found.after)
    }
    return [...edits.values()]
  }

  /** Only writes over committed content: a user's uncommitted changes stay. */
  async write(edits: readonly Edit[]): Promise<readonly string[]> {
    const { workTree } = this.#repository.folder
    if (workTree === undefined)
      throw new KubeNodeError(
        consoleRepositoryErrors.KN1385_edit({ path: this.#repository.name, why: 'it has no work tree' }),
      )
    for (const { path, before } of edits) {
      const at = join(workTree, path)
      const kind = await lstat(at).catch(() => undefined)
      const now = kind?.isFile() === true ? await readFile(at, 'utf8') : undefined
      if (now === before && (kind === undefined || kind.isFile())) continue
      const why = kind?.isSymbolicLink() === true ? 'it is a symbolic link' : 'it has changes that are not committed'
      throw new KubeNodeError(consoleRepositoryErrors.KN1385_edit({ path, why }))
    }
    for (const { path, after } of edits) {
      await mkdir(dirname(join(workTree, path)), { recursive: true })
      await writeFile(join(workTree, path), after)
    }
    return edits.map((e) => e.path)
  }

  async #firstOf(
    step: Step,
    files: ReadonlyMap<string, string>,
    before: ReadonlyMap<string, Edit>,
  ): Promise<Edit | undefined> {
    for (const edit of step.edits(files)) {
      const first = before.get(edit.path)
      const merged = first === undefined ? edit : { ...edit, before: first.before }
      const made = await this.#made([...new Map([...before, [edit.path, merged]]).values()]).catch(() => undefined)
      if (made !== undefined && step.isDone(made)) return merged
    }
    return undefined
  }

  async #made(edits: readonly Edit[]): Promise<MadePlan> {
    const render = async (id: string, from: Parameters<typeof renderCommit>[1]['repository']): Promise<Rendered> => {
      if (from === this.#repository && this.#base !== undefined) return this.#base
      const made = await renderCommit(id, { repository: from, renderer: this.#renderer, path: this.#place.path })
      if (from === this.#repository) this.#base = made
      return made
    }
    return makePlan({
      commit: this.#head,
      base: this.#head,
      render: rendersFrom(this.#repository, withEdits(this.#repository, edits), render),
    })
  }

  async #files(): Promise<ReadonlyMap<string, string>> {
    const { path } = this.#place
    const folders = FOLDERS.map((f) => (path === '.' ? f : `${path}/${f}`))
    const found = await this.#repository.readTree(this.#head, folders)
    return new Map([...found].map(([name, bytes]) => [name, Buffer.from(bytes).toString('utf8')]))
  }
}
