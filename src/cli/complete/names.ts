// Names for completion, requested from the server within a time that users do not notice, and cached for some seconds. A failure gives no names and prints
// nothing.
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { type ResourceType, collectionPath, objectPath } from '#api/schema/resource.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { kindCalled } from '../fleet/target.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Names } from './candidates.ts'
import type { Typed } from './typed.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** For the whole request, including the connection. */
const ASK_MS = 300
/** A second press asks nothing; a new object shows up soon. */
const KEEP_MS = 10_000
/** For an empty or missing answer. */
const KEEP_NONE_MS = 3_000
/** Old names are better than none while a server is slow or unavailable. */
const KEEP_LATE_MS = 3_600_000
/** More names than people scroll through. */
const MOST_NAMES = 500
const MAX_NAME_CHARS = 253

const namespaceType = coreKind('Namespace')
const machines = kindCalled('machine')

export interface Asked {
  /** Identifies the kubeconfig and the question. */
  readonly key: string
  /** Undefined: no answer in time. */
  ask(): Promise<readonly string[] | undefined>
}

export function serverNames(io: Io, clock: Clock = systemClock): Names {
  const inTime: (ask: Asked['ask']) => ReturnType<Asked['ask']> = (ask) =>
    Promise.race([ask(), clock.sleep(ASK_MS).then(() => undefined)])
  /** Cached names need neither a connection nor the code for one. */
  const keptOf = async (typed: Typed, what: string, ask: Asked['ask']): Promise<readonly string[]> => {
    const asks = [what, optionOr(typed, io, '--context') ?? '', typed.options.get('--namespace') ?? '']
    const key = [...asks, io.env['KUBERNETES_SERVICE_HOST'] ?? '', ...(await versionsOf(await kubeconfigs(typed, io)))]
    return kept(folderOf(io), { key: key.join('\n'), ask }, clock)
  }
  const asked = (typed: Typed, what: string, ask: Asked['ask']): Promise<readonly string[]> =>
    keptOf(typed, what, async () => {
      // Loading code does not count toward the request's time.
      await import('#programs/run/connect.ts')
      return inTime(ask)
    })
  const listed = (type: ResourceType, typed: Typed): Promise<readonly string[]> =>
    asked(typed, collectionPath(type), async () => {
      const { config } = await connectionOf(typed, io)
      const given = typed.options.get('--namespace')
      const namespace = type.namespaced ? (given ?? config.namespace ?? SYSTEM_NAMESPACE) : undefined
      const path = `${collectionPath(type, namespace)}?limit=${MOST_NAMES}&includeObject=None`
      const table = await answerOf(config, path, 'application/json;as=Table;v=v1;g=meta.k8s.io')
      return table && firstCells(table)
    })
  const components = (machine: string, typed: Typed): Promise<readonly string[]> =>
    asked(typed, objectPath(machines, { name: machine }), async () => {
      const { config } = await connectionOf(typed, io)
      const found = await answerOf(config, objectPath(machines, { name: machine }), 'application/json')
      return found && componentsIn(found)
    })
  return {
    objects: listed,
    components,
    namespaces: (typed) => listed(namespaceType, typed),
    contexts: (typed) =>
      keptOf(typed, 'contexts', async () => {
        const { contextsIn } = await import('#kube/contexts.ts')
        return inTime(async () => contextsIn(await kubeconfigs(typed, io)))
      }),
  }
}

/** A changed file is read again. */
const versionsOf = (files: readonly string[]): Promise<readonly string[]> =>
  Promise.all(
    files.map(async (file) => {
      const found = await stat(file).catch(() => undefined)
      return `${resolve(file)} ${found === undefined ? 'absent' : `${found.mtimeMs} ${found.size}`}`
    }),
  )

/** The option as the command itself would read it. */
function optionOr({ command, options }: Typed, io: Io, flag: string): string | undefined {
  const variable = command.options.find((o) => o.long === flag)?.variable
  const text = variable === undefined ? undefined : io.env[variable]
  return options.get(flag) ?? (text === '' ? undefined : text)
}

async function connectionOf(typed: Typed, io: Io) {
  const { chosenConnection } = await import('#programs/run/connect.ts')
  return chosenConnection({
    file: optionOr(typed, io, '--kubeconfig'),
    context: optionOr(typed, io, '--context'),
    env: io.env,
    cwd: io.cwd,
  })
}

async function kubeconfigs(typed: Typed, io: Io): Promise<readonly string[]> {
  const one = optionOr(typed, io, '--kubeconfig')
  if (one !== undefined) return [one]
  const listed = (io.env['KUBECONFIG'] ?? '').split(delimiter).filter((f) => f !== '')
  if (listed.length > 0) return listed
  const { unnamedKubeconfigs } = await import('#programs/run/unnamed-cluster.ts')
  return (await unnamedKubeconfigs({ env: io.env, cwd: io.cwd })).map(({ file }) => file)
}

type Config = Awaited<ReturnType<typeof connectionOf>>['config']

/** Undefined unless the request succeeds. */
async function answerOf(config: Config, path: string, accept: string): Promise<object | undefined> {
  const { clientOf } = await import('#programs/run/connect.ts')
  const client = clientOf(config, 'kubenode-completion')
  try {
    const { status, text } = await client.raw({ method: 'GET', path, headers: { accept }, timeoutMs: ASK_MS })
    const answer: unknown = status === 200 ? JSON.parse(text) : undefined
    return isObject(answer) ? answer : undefined
  } finally {
    client.close()
  }
}

const listIn = (value: unknown, key: string): readonly unknown[] =>
  isObject(value) && Array.isArray(value[key]) ? (value[key] as readonly unknown[]) : []

/** The first column is the name. A table without objects is small. */
const firstCells = (table: unknown): readonly string[] =>
  listIn(table, 'rows').flatMap((row) => namesIn(listIn(row, 'cells')[0]))

/** Pods have their logs elsewhere. */
function componentsIn(machine: unknown): readonly string[] {
  const { spec, status } = isObject(machine) ? machine : {}
  const all = [...listIn(spec, 'components'), ...listIn(status, 'components')]
  const pods = all.flatMap((c) => (isObject(c) && c['workload'] === true ? [c['name']] : []))
  return all.flatMap((c) => (isObject(c) && !pods.includes(c['name']) ? namesIn(c['name']) : []))
}

/** Skips what cannot be a name: it could send control codes to the terminal. */
const namesIn = (cell: unknown): readonly string[] =>
  typeof cell === 'string' && cell.length <= MAX_NAME_CHARS && /^[a-z0-9][-a-z0-9.:]*$/.test(cell) ? [cell] : []

function folderOf({ env }: Io): string | undefined {
  const { XDG_CACHE_HOME: cache, HOME: home } = env
  if (cache !== undefined && cache !== '') return join(cache, 'kubenode', 'completion')
  return home === undefined || home === '' ? undefined : join(home, '.cache', 'kubenode', 'completion')
}

/** Caches nothing without a private folder. */
export async function kept(folder: string | undefined, asked: Asked, clock: Clock): Promise<readonly string[]> {
  const ask = () => asked.ask().catch(() => undefined)
  if (folder === undefined) return (await ask()) ?? []
  const file = join(folder, sha256Hex(asked.key).slice(0, 32))
  const before = await readKept(file, clock).catch(() => undefined)
  if (before?.isFresh === true) return before.names
  const old = before?.names ?? []
  // Write the cache before asking: if the server does not answer, the next press does not ask again.
  await keep(folder, file, old).catch(() => undefined)
  const names = await ask()
  if (names === undefined) return old
  await keep(folder, file, names).catch(() => undefined)
  return names
}

interface Kept {
  readonly names: readonly string[]
  readonly isFresh: boolean
}

async function readKept(file: string, clock: Clock): Promise<Kept | undefined> {
  const { mtimeMs, uid, size } = await stat(file)
  const age = clock.now() - mtimeMs
  const isOurs = uid === process.getuid?.() && size <= MOST_NAMES * (MAX_NAME_CHARS + 1)
  if (!isOurs || age < 0 || age > KEEP_LATE_MS) return undefined
  const names = (await readFile(file, 'utf8')).split('\n').flatMap(namesIn)
  return { names, isFresh: age <= (size === 0 ? KEEP_NONE_MS : KEEP_MS) }
}

async function keep(folder: string, file: string, names: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const fresh = `${file}.${process.pid}`
  await writeFile(fresh, names.join('\n'), { mode: 0o600 })
  await rename(fresh, file)
}
