// Turns a kubeconfig file, or this pod's service account, into a client. A file with only data needs no library; anything else goes through client-node.
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, normalize, resolve } from 'node:path'
import { readBoundedText } from '#lib/bounded-file.ts'
import { defined } from '#lib/defined.ts'
import { type ErrorMessage, KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { type AnswerBounds, HttpKubeClient } from '#kube/http/client.ts'
import { type Environment, isInPod, podAccount } from '#kube/in-cluster.ts'
import { parseSafeKubeconfig, safeKubeconfigProblems } from '#kube/kubeconfig-safe.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
import { sharedVariable } from './shared-variables.ts'
import { runErrors } from './run-errors.ts'

export interface Connection {
  readonly config: ConnectionConfig
  readonly context: string
  readonly warnings: readonly string[]
  /** Where it was found if the user named no file. */
  readonly unnamed?: string
  /** As messages name it: `context test of ~/.kube/config`. */
  readonly place: string
}

/** A pod has no context; its cluster's name comes from an option. */
const IN_POD = ''

export interface Chosen {
  /** As the user gave it. */
  readonly file?: string | undefined
  readonly context?: string | undefined
  readonly env: Environment
  readonly cwd: string
  /** Another root of the file system, in tests. */
  readonly root?: string
  /** Set at an interactive terminal: a login program may prompt. */
  readonly show?: ((text: string) => void) | undefined
}

const FLAG_VARIABLE = sharedVariable('kubeconfig')

/** Files listed in KUBECONFIG. */
export const listedFiles = (env: Environment): readonly string[] =>
  (env['KUBECONFIG'] ?? '').split(delimiter).filter((f) => f !== '')

/** What the user named, else KUBECONFIG, else ~/.kube/config or the local fleet around the current folder, else this pod's service account. */
export async function chosenConnection({ file, context, env, cwd, root, show }: Chosen): Promise<Connection> {
  if (file !== undefined) {
    const isVariable = env[FLAG_VARIABLE] === file
    return connectionOf(file, context, { origin: isVariable ? FLAG_VARIABLE : '--kubeconfig', cwd, show })
  }
  const named = listedFiles(env)
  const [first] = named
  if (first !== undefined && named.length === 1)
    return connectionOf(first, context, { origin: 'KUBECONFIG', cwd, show })
  if (named.length > 1) return listedConnection(named, context, show)
  const { homeKubeconfig, unnamedCluster } = await import('./unnamed-cluster.ts')
  const found = await unnamedCluster({ env, cwd }, context)
  if (found !== undefined) {
    const connection = await connectionOf(found.file, context, { show, isDataOnly: found.isFleet })
    return { ...connection, unnamed: found.called, place: placeIn(found.called, connection) }
  }
  if (!isInPod(env)) throw new KubeNodeError(await unchosen({ home: homeKubeconfig(env) ?? '~/.kube/config' }, cwd))
  return podConnection(env, root)
}

/** A local fleet that starts elsewhere would not be chosen here afterwards. */
async function unchosen(seen: { readonly home: string }, cwd: string): Promise<ErrorMessage> {
  const { startsAround } = await import('../local/data-folder.ts')
  return startsAround(cwd) ? runErrors.KN1312_fleet(seen) : runErrors.KN1312(seen)
}

export const podConnection = (env: Environment, root?: string): Connection => ({
  config: podAccount(env, root),
  context: IN_POD,
  warnings: [],
  place: 'this cluster',
})

const placeIn = (file: string, { context }: Pick<Connection, 'context'>): string =>
  `context ${context} of ${normalize(file)}`

const placed = (file: string, found: Omit<Connection, 'place'>): Connection => ({
  ...found,
  place: placeIn(file, found),
})

/** Like kubectl, skips missing files of the list. */
async function listedConnection(
  files: readonly string[],
  context: string | undefined,
  show: Chosen['show'],
): Promise<Connection> {
  const there = files.filter((f) => existsSync(f))
  if (there.length === 0) {
    const file = files.map((f) => resolve(f)).join(' and ')
    throw new KubeNodeError(runErrors.KN1301({ file, origin: namedBy('KUBECONFIG'), why: 'there is no such file' }))
  }
  const { loadKubeconfig } = await import('#kube/kubeconfig.ts')
  return placed('KUBECONFIG', await loadKubeconfig({ files: there, ...defined({ context, show }) }))
}

const namedBy = (origin: string | undefined): string => (origin === undefined ? '' : ` (named by ${origin})`)

interface FileUse extends Partial<Pick<Chosen, 'show'>> {
  /** The option or variable that names the file. */
  readonly origin?: string
  /** Where to search for a local fleet that has the context. */
  readonly cwd?: string | undefined
  /** Refuses a file that runs programs, or names other files. */
  readonly isDataOnly?: boolean
}

export async function connectionOf(
  file: string,
  context?: string,
  { origin, cwd, show, isDataOnly = false }: FileUse = {},
): Promise<Connection> {
  let text: string
  try {
    text = readBoundedText(file)
  } catch (cause) {
    const words = { file: resolve(file), origin: namedBy(origin), why: systemTrouble(cause) }
    throw new KubeNodeError(runErrors.KN1301(words), { cause })
  }
  if (!isDataOnly && safeKubeconfigProblems(text).length > 0) {
    const { loadKubeconfig } = await import('#kube/kubeconfig.ts')
    return placed(file, await loadKubeconfig({ files: [file], ...defined({ context, show }) }))
  }
  if (context !== undefined) await requireContext(context, file, text, cwd)
  return placed(file, { ...parseSafeKubeconfig(text, file, context), warnings: [] })
}

/** Same wording as for a list of files, without line positions, which only the file's author needs. */
async function requireContext(context: string, file: string, text: string, cwd: string | undefined): Promise<void> {
  const { contextsInText } = await import('#kube/contexts.ts')
  const known = contextsInText(text)
  if (known.includes(context)) return
  const { fleetWith } = await import('./unnamed-cluster.ts')
  const fleet = cwd === undefined ? undefined : await fleetWith(context, cwd)
  const names = known.join(', ') || 'none'
  throw new KubeNodeError(
    kubeErrors.KN2015({
      context: JSON.stringify(context),
      files: file,
      known: fleet === undefined ? names : `${names}; ${fleet.called} has it: --kubeconfig ${fleet.file}`,
    }),
  )
}

export const clientOf = (config: ConnectionConfig, userAgent: string, bounds?: AnswerBounds): HttpKubeClient =>
  new HttpKubeClient(config, { userAgent, ...defined({ bounds }) })

/** For interactive use: shows what the command is waiting for. Simultaneous slow requests are reported once. */
export function talkingClientOf(
  { config, place }: Pick<Connection, 'config' | 'place'>,
  print: (line: string) => void,
  onRequest?: (method: string, path: string) => void,
): HttpKubeClient {
  let last = ''
  const onSlow = (method: string, path: string): void => {
    const line = `waiting for ${config.server}: ${method} ${path.split('?', 1)[0]}`
    if (line !== last) print(line)
    last = line
  }
  return new HttpKubeClient(config, { userAgent: 'kubenode-cli', place, onSlow, ...defined({ onRequest }) })
}

/** A connection's CA in PEM and its address: what other programs need to reach the same server. */
export function serverOf({ config }: Connection): { readonly server: string; readonly ca: string } {
  const { server, ca } = config
  if (ca === undefined) throw new KubeNodeError(runErrors.KN1302({ server }))
  return { server, ca: 'data' in ca ? ca.data : readFileSync(ca.file, 'utf8') }
}
