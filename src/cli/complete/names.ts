// Names for completion: asked of the server within a bound that a person does not notice, and kept for some seconds. Whatever fails is no name, and never a word on the prompt.
import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { type ResourceType, collectionPath } from '#schema/resource.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { shownNamespace } from '../inspect/find-object.ts'
import type { Io } from '../io.ts'
import { contextsIn } from './contexts.ts'
import type { Names } from './candidates.ts'
import type { Typed } from './typed.ts'

/** Of the whole question, with its connection. */
const ASK_MS = 300
/** Pressing the key again asks nothing; a new object appears soon. */
const KEEP_MS = 10_000
/** Without a name, or an answer. */
const KEEP_NONE_MS = 3_000
/** More names than anyone scrolls through. */
const MOST_NAMES = 500
const MAX_NAME_CHARS = 253

const namespaceType = coreKind('Namespace')

export interface Asked {
  /** Identifies the server and what was asked. */
  readonly key: string
  ask(): Promise<readonly string[]>
}

export function serverNames(io: Io, clock: Clock = systemClock): Names {
  /** Loading our own code is no question to a server: callers do it before. */
  const safely = async (ask: () => Promise<readonly string[]>): Promise<readonly string[]> => {
    const late = clock.sleep(ASK_MS).then((): readonly string[] => [])
    return Promise.race([ask().catch(() => []), late])
  }
  const listed = async (type: ResourceType, typed: Typed): Promise<readonly string[]> => {
    await import('../run/connect.ts')
    return safely(async () => {
      const connection = await connectionOf(typed, io)
      const said = typed.options.get('--namespace')
      const namespace = type.namespaced ? shownNamespace(said, connection.config.namespace) : undefined
      const path = `${collectionPath(type, namespace)}?limit=${MOST_NAMES}&includeObject=None`
      const key = [connection.config.server, connection.context, path].join('\n')
      return kept(folderOf(io), { key, ask: () => firstCells(connection.config, path) }, clock)
    })
  }
  return {
    objects: listed,
    namespaces: (typed) => listed(namespaceType, typed),
    contexts: (typed) => safely(() => contextsIn(kubeconfigs(typed, io))),
  }
}

/** As the command itself would read it. */
function optionOr({ command, options }: Typed, io: Io, flag: string): string | undefined {
  const variable = command.options.find((o) => o.long === flag)?.envVar
  const text = variable === undefined ? undefined : io.env[variable]
  return options.get(flag) ?? (text === '' ? undefined : text)
}

async function connectionOf(typed: Typed, io: Io) {
  const { chosenConnection } = await import('../run/connect.ts')
  return chosenConnection({
    file: optionOr(typed, io, '--kubeconfig'),
    context: optionOr(typed, io, '--context'),
    env: io.env,
  })
}

function kubeconfigs(typed: Typed, io: Io): readonly string[] {
  const one = optionOr(typed, io, '--kubeconfig')
  return one === undefined ? (io.env['KUBECONFIG'] ?? '').split(':').filter((f) => f !== '') : [one]
}

type Config = Awaited<ReturnType<typeof connectionOf>>['config']

/** The first column of a table is the name, and a table without objects is small. */
async function firstCells(config: Config, path: string): Promise<readonly string[]> {
  const { clientOf } = await import('../run/connect.ts')
  const client = clientOf(config, 'kubenode-completion')
  try {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const { status, text } = await client.raw({ method: 'GET', path, headers: { accept }, timeoutMs: ASK_MS })
    const table: unknown = status === 200 ? JSON.parse(text) : undefined
    const rows = isObject(table) && Array.isArray(table['rows']) ? (table['rows'] as readonly unknown[]) : []
    return rows.flatMap((row) => (isObject(row) && Array.isArray(row['cells']) ? namesIn(row['cells'][0]) : []))
  } finally {
    client.close()
  }
}

/** What cannot be a name is not shown: it could steer the terminal. */
const namesIn = (cell: unknown): readonly string[] =>
  typeof cell === 'string' && cell.length <= MAX_NAME_CHARS && /^[a-z0-9][-a-z0-9.:]*$/.test(cell) ? [cell] : []

function folderOf({ env }: Io): string | undefined {
  const { XDG_CACHE_HOME: cache, HOME: home } = env
  if (cache !== undefined && cache !== '') return join(cache, 'kubenode', 'completion')
  return home === undefined || home === '' ? undefined : join(home, '.cache', 'kubenode', 'completion')
}

/** Without a folder of our own nothing is kept. */
export async function kept(folder: string | undefined, asked: Asked, clock: Clock): Promise<readonly string[]> {
  if (folder === undefined) return asked.ask()
  const file = join(folder, createHash('sha256').update(asked.key).digest('hex').slice(0, 32))
  const found = await readKept(file, clock).catch(() => undefined)
  if (found !== undefined) return found
  // Kept before the server is asked: while it does not answer, the next key press does not ask again.
  await keep(folder, file, []).catch(() => undefined)
  const names = await asked.ask().catch((): readonly string[] => [])
  await keep(folder, file, names).catch(() => undefined)
  return names
}

async function readKept(file: string, clock: Clock): Promise<readonly string[] | undefined> {
  const { mtimeMs, uid, size } = await stat(file)
  const age = clock.now() - mtimeMs
  const isOurs = uid === process.getuid?.() && size <= MOST_NAMES * (MAX_NAME_CHARS + 1)
  if (!isOurs || age < 0 || age > (size === 0 ? KEEP_NONE_MS : KEEP_MS)) return undefined
  const text = await readFile(file, 'utf8')
  return text.split('\n').flatMap(namesIn)
}

async function keep(folder: string, file: string, names: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const fresh = `${file}.${process.pid}`
  await writeFile(fresh, names.join('\n'), { mode: 0o600 })
  await rename(fresh, file)
}
