// Turns a commit into the objects of each cluster: reads its files from git, runs them in a cage, checks the result. Equal commits give equal bytes.
import { titledIn } from '../git/titled-in.ts'
import { createHash } from 'node:crypto'
import { SEALED_FILE } from '#api/names.ts'
import { createValidator, type Validator } from '#api/validate.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { inSlices } from '#lib/slices.ts'
import type { GitRepository } from '../git/repository.ts'
import { dependencyAt } from './written-for.ts'
import type { CageLayer } from './cage.ts'
import { answering } from './answered.ts'
import { folderFiles, isOfFleet } from './folder-files.ts'
import { placesOf } from './places.ts'
import type { FleetError, RenderRequest } from './protocol.ts'
import { findingProblems, type RenderedProblem } from './problems.ts'
import type { Targets } from '#delivery/desired.ts'
import { checkingRendered } from './rendered.ts'
import type { Renderer } from './renderer.ts'
import { openTargets, type Decryption, type SealedFiles } from './sealed.ts'
import type { CagedEnd, CageLimits } from './run-caged.ts'
import { syncErrors } from '../sync-errors.ts'

export interface Rendered {
  readonly commit: string
  readonly targets: Targets
  /** The layers of the cage that it ran in. */
  readonly cage: readonly CageLayer[]
  /** The start of the fleet's output. */
  readonly printed: string
  /** Conflicts between one cluster's objects, and likely mistakes: the first ones. */
  readonly problems: readonly RenderedProblem[]
  readonly moreProblems: number
  /** Approximate bytes in memory. */
  readonly memory: number
  /** The kubenode version that the repository depends on. It decides nothing, because the running version renders. */
  readonly writtenFor?: string
}

export interface RenderOptions {
  readonly repository: GitRepository
  readonly renderer: Renderer
  readonly validator?: Validator
  /** The fleet's folder in the repository. */
  readonly path?: string
  /** Name for errors; default: the commit and its title. */
  readonly called?: string
  readonly limits?: CageLimits
  /** Keys for encrypted values, or no keys at all. Absent: they stay encrypted, as in a plan. */
  readonly decryption?: Decryption
  /** Renders a second time and fails when the bytes differ. */
  readonly twice?: boolean
}

const ENTRY = 'fleet/main.ts'
const FLEET_FOLDERS = ['fleet', 'rules'] as const

/** Tests run in the user's checkout, not here. */
const TEST = /\.(test|cases)\.ts$/

export async function renderCommit(commit: string, options: RenderOptions): Promise<Rendered> {
  const { repository, renderer, path = '.' } = options
  const files = await fleetFiles(repository, commit, path)
  const { time } = await repository.commit(commit)
  const at = { now: time * 1_000, seed: Number.parseInt(commit.slice(0, 8), 16) }
  const rendered = await renderFiles(
    files,
    options.called ?? `commit ${await titledIn(repository, commit)}`,
    at,
    options,
  )
  const writtenFor = await dependencyAt(repository, commit, path)
  return { commit, cage: renderer.layers, ...rendered, ...defined({ writtenFor }) }
}

/** The time does not matter for a lint. */
const NO_COMMIT = { now: 0, seed: 1 }

/** Renders a work tree, with or without git, for a lint. The folder is the parent of `fleet/`. */
export function renderFolder(folder: string, options: FolderOptions): Promise<RenderedFiles> {
  const found = Object.entries(folderFiles(folder, FLEET_FOLDERS)).filter(([path]) => !TEST.test(path))
  return renderFiles(Object.fromEntries(found), `folder ${folder}`, NO_COMMIT, options)
}

type FolderOptions = Pick<RenderOptions, 'renderer' | 'validator' | 'limits' | 'twice' | 'decryption'>
type RenderedFiles = Pick<Rendered, 'targets' | 'printed' | 'problems' | 'moreProblems' | 'memory'>
type Files = Readonly<Record<string, string>>

/** `what`: for example `commit 3f1c9e0a7b5d`. */
async function renderFiles(
  all: Files,
  what: string,
  at: Pick<RenderRequest, 'now' | 'seed'>,
  { renderer, limits, twice, decryption, validator = createValidator() }: FolderOptions,
): Promise<RenderedFiles> {
  const { files, sealed } = apart(all)
  const request = { files, entry: ENTRY, release: '', ...at }
  const end = await renderer.run(request, limits)
  const { answer, printed } = await inSlices(answering(end, `render ${what}`))
  if ('error' in answer) throw fleetError(what, answer.error)
  if (twice === true) {
    const again = await renderer.run(request, limits)
    if ((await inSlices(digesting(again))) !== (await inSlices(digesting(end))))
      throw new KubeNodeError(syncErrors.KN7112({ what }))
  }
  const places = placesOf(files, answer.madeAt)
  const targets = await inSlices(checkingRendered(answer.clusters, validator, places, sealed))
  const problems = await inSlices(findingProblems(targets, files, places))
  const opened = decryption === undefined ? targets : await openTargets(targets, sealed, decryption)
  return { targets: opened, printed, memory: answer.memory, ...problems }
}

/** Fleet code gets no encrypted files: it has no use for them, and could move their values. */
function apart(all: Files): { readonly files: Files; readonly sealed: SealedFiles } {
  const { sealed = [], files = [] } = Object.groupBy(Object.entries(all), ([path]) =>
    SEALED_FILE.test(path) ? 'sealed' : 'files',
  )
  return { files: Object.fromEntries(files), sealed: new Map(sealed) }
}

/** Digest of an answer's bytes, however they arrived; without an answer, nothing is equal to it. */
function* digesting(end: CagedEnd): Generator<void, string | symbol> {
  if (end.kind !== 'Answered') return Symbol(end.kind)
  const hash = createHash('sha256')
  for (const chunk of end.chunks) {
    hash.update(chunk)
    yield
  }
  return hash.digest('hex')
}

const join = (path: string, folder: string): string => (path === '.' || path === '' ? folder : `${path}/${folder}`)

async function fleetFiles(repository: GitRepository, commit: string, path: string): Promise<Record<string, string>> {
  const folders = FLEET_FOLDERS.map((folder) => join(path, folder))
  const found = await repository.readTree(commit, folders)
  const files: Record<string, string> = {}
  for (const [name, bytes] of found) {
    const inside = path === '.' ? name : name.slice(path.length + 1)
    if (isOfFleet(inside) && !TEST.test(inside)) files[inside] = Buffer.from(bytes).toString('utf8')
  }
  if (!Object.hasOwn(files, ENTRY))
    throw new KubeNodeError(
      syncErrors.KN7011({
        commit: await titledIn(repository, commit),
        repository: repository.name,
        entry: join(path, ENTRY),
      }),
    )
  return files
}

/** Equal keys render to equal objects as long as this release runs. */
export async function renderKey(repository: GitRepository, commit: string, path = '.'): Promise<string> {
  const ids = await Promise.all(FLEET_FOLDERS.map((folder) => repository.idAt(commit, join(path, folder))))
  return ids.map((id) => id ?? '-').join('+')
}

const CODES = { Syntax: 'KN7102', Thrown: 'KN7102', Import: 'KN7103', NothingSynthesised: 'KN7111' } as const

/** Failures that only another commit fixes: in its code, or files that cannot be read at all or not in time. */
const OF_THE_COMMIT = /^KN(71(0[1-79]|1[1245679]|2[01]|32)|70(05|06|08|11|15|16|19))$/

/** The same commit fails again; any other failure may be caused by this machine. */
export const isOfTheFleet = ({ code }: KubeNodeError): boolean => OF_THE_COMMIT.test(code)

/** Fleet code even sets an error's class. */
function fleetErrorOf(error: unknown): FleetError {
  const { kind, message, at } = isObject(error) ? error : {}
  return {
    kind: typeof kind === 'string' && Object.hasOwn(CODES, kind) ? (kind as FleetError['kind']) : 'Thrown',
    message: typeof message === 'string' ? message : 'the render failed',
    ...(typeof at === 'string' ? { at } : {}),
  }
}

function fleetError(of: string, error: unknown): KubeNodeError {
  const { kind, message, at } = fleetErrorOf(error)
  // A construct's problems are a list of lines.
  const why = printableLine(
    message
      .slice(0, 2_000)
      .replaceAll(/:[^\S\n]*\n\s*/g, ': ')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .join('; '),
  )
  const place = at === undefined ? '' : ` at ${printableLine(at.slice(0, 300))}`
  return new KubeNodeError(syncErrors[CODES[kind]]({ what: of, place, why }), {
    data: { why, ...(at !== undefined && { at: printableLine(at.slice(0, 300)) }) },
  })
}
