// The server as a process: its data folder, its kubeconfig file, its shutdown on a signal.
import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { letHeapGrow } from '#lib/heap-growth.ts'
import type { Logger } from '#lib/log.ts'
import { makePrivateFolder, namesIn } from '#lib/private-folder.ts'
import { requireTrustedWay } from '#lib/trusted-way.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { credentialsIn, type Credentials, keepCredentials } from '#lib/x509/server-keys.ts'
import type { OnAllowed } from './auth/authorizer.ts'
import { usedRights } from './auth/used-rights.ts'
import { apiserverErrors } from './apiserver-errors.ts'
import type { ApiServerOptions } from './api-server.ts'

/** More than that takes seconds to read, in which nothing is served. */
const MANY_BYTES = 32 * 1024 * 1024
/** One line for each right that a client used. */
export const USED_RIGHTS_FILE = 'used-rights.jsonl'
/** Files that any start leaves in a data folder. */
const OURS = /^(used-rights\.jsonl|objects\.db.*|pki|pki\.new|cache|admin\.kubeconfig(\.part|\.partial)?)$/

export interface RunOptions {
  /** Folder for objects, keys and certificates; made when missing. */
  readonly data: string
  readonly port: number
  readonly host?: string
  /** False: a controller manager runs in place of our loops. */
  readonly loops?: boolean
  /** Given by a hub, and kept in the data folder; created there when left out. */
  readonly credentials?: Credentials
  /** What KubeNode tells the server about its clients. */
  readonly rules?: Pick<ApiServerOptions, 'judgeSubject' | 'acceptsUser' | 'openPath'>
  /** Where its webhooks may be: anywhere without it. */
  readonly mayCall?: ApiServerOptions['mayCall']
  /** Shared by the servers of one process. */
  readonly policies?: ApiServerOptions['policies']
  readonly log?: Logger
  /** Of Kubernetes, as it reports it; our own when absent. */
  readonly version?: string
  /** False: what Node compiles is kept elsewhere, since the folder may be removed while the process runs. */
  readonly keepsCompiled?: boolean
  /** The running program: a user who can modify it may also change folders above the data folder. */
  readonly program?: string | undefined
  /** This many files and folders were readable by other users, and are no longer. */
  readonly onClosed?: (count: number) => void
  /** A large file of objects is read before serving starts. */
  readonly onReading?: (bytes: number) => void
  /** Keeps in the data folder which rights clients use. */
  readonly recordsRights?: boolean
  /** Stops the server. */
  readonly signal: AbortSignal
}

export interface Running {
  readonly url: string
  /** The file that was written. */
  readonly kubeconfig: string
  readonly credentials: () => Credentials
  /** Kept in the data folder first, so that the next start has them too. */
  readonly replaceCredentials: (next: Credentials) => Promise<void>
  /** Resolves when the server has ended; rejects when its disk forced that: the process should exit. */
  readonly ended: Promise<void>
}

/** Some two hundred small files, which a start loads once what it compiles is kept. */
const loadServer = () => Promise.all([import('./api-server.ts'), import('./storage/sqlite.ts')])

export async function runApiServer({
  data,
  port,
  host = '127.0.0.1',
  loops = true,
  credentials: given,
  rules = {},
  mayCall,
  policies,
  log,
  version,
  keepsCompiled = true,
  program,
  onClosed = () => undefined,
  onReading = () => undefined,
  recordsRights = false,
  signal,
}: RunOptions): Promise<Running> {
  useSmallPools()
  const way = { program, isClosedByCaller: true }
  requireTrustedWay(data, way)
  refuseStrangers(data)
  const open = makePrivateFolder(data)
  // Created by another process meanwhile, in a folder that all may write.
  requireTrustedWay(data, way)
  if (open > 0) onClosed(open)
  // Compiled once, the files of the server load in a third of the time.
  if (keepsCompiled) enableCompileCache(join(data, 'cache'))
  const [{ createApiServer }, { sqliteStorage }] = await loadServer()
  const objects = join(data, 'objects.db')
  const bytes = statSync(objects, { throwIfNoEntry: false })?.size ?? 0
  if (bytes > MANY_BYTES) onReading(bytes)
  const storage = sqliteStorage(objects)
  const keys = join(data, 'pki')
  const server = await closedUnless(storage, () => {
    if (given !== undefined) keepCredentials(keys, given)
    return createApiServer({
      storage,
      credentials: credentialsIn(keys, systemClock.now(), [host]),
      host,
      port,
      loops: loops ? 'all' : 'none',
      podAccounts: true,
      ...rules,
      ...(mayCall === undefined ? {} : { mayCall }),
      ...(policies === undefined ? {} : { policies }),
      ...(log === undefined ? {} : { log }),
      ...(version === undefined ? {} : { version }),
      ...(recordsRights && { onAllowed: usedRightsIn(join(data, USED_RIGHTS_FILE)) }),
    })
  })
  const kubeconfig = join(data, 'admin.kubeconfig')
  try {
    await server.listen()
    writeKubeconfig(kubeconfig, server.adminKubeconfig())
  } catch (e) {
    // a server must not keep listening when its caller failed to learn of it
    await server.close()
    throw e
  }
  letHeapGrow(GROWTH_PERCENT)
  const ended = new Promise<void>((resolve, reject) => {
    const stop = () => void server.close().then(resolve, reject)
    // the end is not orderly then: pending writes must not delay it
    void server.failed.then(reject)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  const replaceCredentials = async (next: Credentials): Promise<void> => {
    keepCredentials(keys, next)
    await server.replaceCredentials(next)
    writeKubeconfig(kubeconfig, server.adminKubeconfig())
  }
  return { url: server.url, kubeconfig, credentials: () => server.credentials, replaceCredentials, ended }
}

/** A start that failed, such as on a full disk, must not keep the folder locked: the same process tries it again. */
async function closedUnless<T>(storage: { close(): Promise<void> }, start: () => Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (e) {
    await storage.close()
    throw e
  }
}

/** A full disk loses lines, never requests. */
function usedRightsIn(path: string): OnAllowed {
  const known = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
  return usedRights((line) => {
    try {
      appendFileSync(path, `${line}\n`)
    } catch {
      // A line that is cut is no JSON, so a reader of the record fails.
    }
  }, known)
}

/** Their owner is not ours to change, for example when a user passes the parent folder by mistake. */
function refuseStrangers(data: string): void {
  const names = namesIn(data)
  const [stranger] = names
  if (stranger === undefined || names.some((name) => OURS.test(name))) return
  throw new KubeNodeError(apiserverErrors.KN1203_serverFolder({ folder: data, stranger }))
}

/** Never half a file: the disk may be full, and another process may be reading. On a full disk the file of an earlier start must do. */
function writeKubeconfig(path: string, text: string): void {
  try {
    if (existsSync(path) && readFileSync(path, 'utf8') === text) return
    writeWholeFile(path, text)
  } catch (cause) {
    throw new KubeNodeError(apiserverErrors.KN6116_write({ file: path, why: messageOf(cause) }), { cause })
  }
}

/**
 * The engine's own rule lets a small heap grow by a tenth and starts marking when less than one new space of that is left: a server in its first minute marked
 * six times on its way to 30 MB. With this factor it marks as rarely, and starts early enough to mark in the background: starting at the last moment, which
 * also counts bodies outside the heap, meant collecting at once, and every client waited 20 ms or more.
 */
const GROWTH_PERCENT = 200

/**
 * Small Buffers are slices of pools, and a pool that is alive at two collections of young garbage stays until a full one. Node's pools of 64 KiB live that
 * long in a server at rest and added 5 MiB a minute; those of 8 KiB are used up in a fraction of the time.
 */
const POOL_BYTES = 8 * 1024

function useSmallPools(): void {
  Buffer.poolSize = POOL_BYTES
}
