// The rules and policies of one side: of a commit or the work tree, rendered as sync renders them, or of a file that names some.
import { resolve } from 'node:path'
import type { KubeObject } from '#api/schema/object.ts'
import { KubeNodeError, isKubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { type LocalRepository, openLocalRepository } from '#sync/git/local-repository.ts'
import { titledIn } from '#sync/git/titled-in.ts'
import { withWorkTree } from '#sync/git/work-tree.ts'
import { type Cage, findCage } from '#sync/render/cage.ts'
import { renderCommit } from '#sync/render/render.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import type { Targets } from '#delivery/desired.ts'
import { commitCalled } from '../plan/range.ts'
import type { Declared } from './backtest.ts'
import { backtestErrors } from './backtest-errors.ts'
import { declaredIn, rulesIn } from './rules-file.ts'

export interface SideAsked {
  readonly commit?: string | undefined
  readonly file?: string | undefined
  /** With the edits of the work tree. */
  readonly isDirty?: boolean
}

export interface FleetAsked {
  readonly repo?: string | undefined
  readonly path: string
  /** The cluster of the fleet; that of the history if left out. */
  readonly fleetCluster?: string | undefined
  readonly weakCage: 'allow' | 'refuse'
  readonly weakCageNote: string
}

export interface NamedSide {
  readonly name: string
  readonly declared: Declared
}

const AS_RECORDED: NamedSide = {
  name: 'the rules that the history recorded',
  declared: { rules: undefined, policies: undefined },
}

/** Opens the repository and the cage once for both sides. */
export class DeclaredSides {
  readonly #asked: FleetAsked
  readonly #io: Io
  #repository: LocalRepository | undefined
  #cage: Cage | undefined

  constructor(asked: FleetAsked, io: Io) {
    this.#asked = asked
    this.#io = io
  }

  async read({ commit, file, isDirty = false }: SideAsked, cluster: string): Promise<NamedSide> {
    if (file !== undefined) return { name: file, declared: rulesIn(file, this.#io.cwd) }
    if (commit === undefined) return AS_RECORDED
    const { name, objects } = await this.objects({ commit, isDirty }, cluster)
    // A commit is the whole: what it does not declare does not exist.
    const { rules = [], policies = [] } = declaredIn(objects)
    return { name, declared: { rules, policies } }
  }

  /** All that the commit declares for the cluster. */
  async objects(
    side: Omit<SideAsked, 'file'>,
    cluster: string,
  ): Promise<{ readonly name: string; readonly objects: readonly KubeObject[] }> {
    const { name, targets } = await this.targets(side)
    return { name, objects: objectsOf(targets, this.#asked.fleetCluster ?? cluster, cluster) }
  }

  /** What the commit declares for each cluster. */
  async targets({
    commit = 'HEAD',
    isDirty = false,
  }: Omit<SideAsked, 'file'>): Promise<{ readonly name: string; readonly targets: Targets }> {
    this.#repository ??= this.#open()
    const repository = this.#repository
    const id = await commitCalled(repository, commit)
    const titled = await titledIn(repository, id)
    const from = isDirty ? withWorkTree(repository) : repository
    const rendering = renderCommit(id, {
      repository: from,
      renderer: processRenderer(await this.#findCage()),
      path: this.#asked.path,
      ...(isDirty && { called: 'the work tree' }),
    })
    const { targets } = await withProgress(this.#io, `rendering commit ${titled}`, rendering)
    return { name: isDirty ? `the work tree on ${titled}` : `commit ${titled}`, targets }
  }

  #open(): LocalRepository {
    const folder = resolve(this.#io.cwd, this.#asked.repo ?? '.')
    try {
      return openLocalRepository(folder, { above: true })
    } catch (e) {
      // Who asks about a history may stand anywhere: a new repository is no answer.
      throw isKubeNodeError(e) && e.code === 'KN1209' ? new KubeNodeError(backtestErrors.KN1209_fleet({ folder })) : e
    }
  }

  async #findCage(): Promise<Cage> {
    if (this.#cage !== undefined) return this.#cage
    this.#cage = await findCage(this.#asked.weakCage)
    if (this.#cage.isWeak) this.#io.err(this.#asked.weakCageNote)
    return this.#cage
  }
}

/** A fleet that has rules for one cluster needs no name. */
export function onlyWithRules(targets: Targets): string | undefined {
  const withRules = [...targets].filter(([, { objects }]) => objects.some((o) => o.object.kind === 'NodeRemedier'))
  return withRules.length === 1 ? withRules[0]?.[0] : undefined
}

function objectsOf(targets: Targets, wanted: string, cluster: string): readonly KubeObject[] {
  const found = targets.get(wanted) ?? targets.get(onlyWithRules(targets) ?? '')
  if (found === undefined)
    throw new KubeNodeError(backtestErrors.KN1344({ cluster, known: [...targets.keys()].join(', ') || 'none' }))
  return found.objects.map((o) => o.object)
}
