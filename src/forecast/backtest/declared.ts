// The rules and policies of one side: of a commit or the work tree, rendered as sync renders them, or of a file.
import { resolve } from 'node:path'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { formatProblem } from '#api/problem.ts'
import { createValidator } from '#api/validate.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { parseDocuments } from '#lib/documents.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
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
    return { name, declared: declaredIn(objects) }
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
    this.#repository ??= openLocalRepository(resolve(this.#io.cwd, this.#asked.repo ?? '.'), { above: true })
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

  async #findCage(): Promise<Cage> {
    if (this.#cage !== undefined) return this.#cage
    this.#cage = await findCage(this.#asked.weakCage)
    if (this.#cage.isWeak) this.#io.err(this.#asked.weakCageNote)
    return this.#cage
  }
}

/** A fleet of one cluster needs no name. */
function objectsOf(targets: Targets, wanted: string, cluster: string): readonly KubeObject[] {
  const withRules = [...targets].filter(([, { objects }]) => objects.some((o) => o.object.kind === 'NodeRemedier'))
  const found = targets.get(wanted) ?? (withRules.length === 1 ? withRules[0]?.[1] : undefined)
  if (found === undefined)
    throw new KubeNodeError(backtestErrors.KN1344({ cluster, known: [...targets.keys()].join(', ') || 'none' }))
  return found.objects.map((o) => o.object)
}

const MAX_BYTES = 16 * 1024 * 1024

function rulesIn(file: string, cwd: string): Declared {
  const wrong = (why: string) => new KubeNodeError(backtestErrors.KN1346({ file, why }))
  let text: string
  try {
    text = readBoundedText(resolve(cwd, file), MAX_BYTES)
  } catch (cause) {
    throw wrong(systemTrouble(cause))
  }
  const { documents, problems } = parseDocuments(text)
  const [problem] = problems
  if (problem !== undefined) throw wrong(`line ${problem.line}: ${problem.message}`)
  const objects = documents
    .flatMap(({ value }) => (isObject(value) && Array.isArray(value['items']) ? value['items'] : [value]))
    .filter((o): o is Record<string, unknown> => isObject(o) && isObject(o['metadata']))
  const declared = declaredIn(objects as unknown as readonly KubeObject[])
  const validator = createValidator()
  for (const object of [...(declared.rules ?? []), ...(declared.policies ?? [])]) {
    const [first] = validator.problems(object.kind === 'NodeRemedier' ? nodeRemedier : defenderPolicy, object)
    if (first !== undefined) throw wrong(`${object.kind} ${object.metadata.name}: ${formatProblem(first)}`)
  }
  return declared
}

/** A side without policies has those that the history recorded: a file of rules says nothing about them. */
function declaredIn(objects: readonly KubeObject[]): Declared {
  const rules = objects
    .filter((o) => o.kind === 'NodeRemedier')
    .map((o) => applyDefaults(nodeRemedier.schema, o) as NodeRemedier)
  const policies = objects
    .filter((o) => o.kind === 'DefenderPolicy')
    .map((o) => applyDefaults(defenderPolicy.schema, o) as DefenderPolicy)
  return { rules: rules.length === 0 ? undefined : rules, policies: policies.length === 0 ? undefined : policies }
}
