// Starts and stops clusters while a process runs. Their options are in a file that is read again on each change. A new entry starts, a missing one stops, and
// one that changed or got a new kubeconfig restarts. An unreadable file changes nothing.
import { statSync } from 'node:fs'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Ended } from '#runtime/manager.ts'
import type { FollowSource } from './follow-source.ts'
import { runErrors } from './run-errors.ts'
import type { RunOptions } from './run-options.ts'

/** Upper bound on noticing a change; one poll is one small read. */
const POLL_MS = 200
const MOST_CLUSTERS = 100
/** Pause after roles of one cluster ended by themselves. */
const AGAIN_MS = 10_000

export type ReadOptions = (args: readonly string[]) => RunOptions

export interface Following {
  readonly source: FollowSource
  readonly read: ReadOptions
  readonly log: Logger
  readonly signal: AbortSignal
  /** Runs until the signal aborts or one of its roles ends on its own. */
  readonly run: (options: RunOptions, signal: AbortSignal) => Promise<readonly Ended[]>
}

interface Running {
  /** The kubeconfig files it started with. */
  readonly files: string | undefined
  readonly stop: AbortController
  readonly ended: Promise<readonly Ended[]>
}

/**
 * A failure in one cluster, such as a restored store with an earlier leader, must not stop the others. If work keeps running, only ending the process helps.
 */
const isLost = (how: readonly Ended[]): boolean =>
  how.some(({ reason }) => reason === 'LeadershipLost') &&
  how.every(({ reason, left }) => (reason === 'LeadershipLost' || reason === 'Stopped') && left.length === 0)

/**
 * Resolves when the signal aborts or a role ends on its own: the process then exits and its supervisor restarts it. A role that only lost its leadership
 * restarts by itself.
 */
export async function runFollowed({ source, read, log, signal, run }: Following): Promise<readonly Ended[]> {
  const file = source.name
  const running = new Map<string, Running>()
  const surprise = Promise.withResolvers<readonly Ended[]>()
  const failed = new AbortController()
  surprise.promise.catch(() => undefined)
  const over = AbortSignal.any([signal, failed.signal])
  let last = ''

  function start(entry: string): void {
    const stop = new AbortController()
    const ended = Promise.resolve().then(() => run(read(JSON.parse(entry) as readonly string[]), stop.signal))
    running.set(entry, { files: kubeconfigsOf(entry), stop, ended })
    ended.then(
      (how) => {
        if (stop.signal.aborted) return
        if (isLost(how)) {
          log.warn('leadership lost: the roles of this cluster start again', { entry })
          return start(entry)
        }
        if (source.isolates && how.every(({ left }) => left.length === 0))
          return startLater(entry, how.find((e) => e.error !== undefined)?.error)
        surprise.resolve(how)
        failed.abort()
      },
      (error: unknown) => {
        if (stop.signal.aborted) return
        if (source.isolates) return startLater(entry, error)
        surprise.reject(error)
        failed.abort()
      },
    )
  }

  /** Of hosted programs one cluster may be hostile: what it does to its own must not reach the others of the process. */
  function startLater(entry: string, error: unknown): void {
    log.error('the roles of this cluster ended: they start again in a while', { entry, error })
    const before = running.get(entry)
    systemClock.after(AGAIN_MS, () => {
      if (running.get(entry) === before && !over.aborted) start(entry)
    })
  }

  async function stop(entry: string): Promise<void> {
    const found = running.get(entry)
    found?.stop.abort(new Error('the cluster was taken out'))
    await found?.ended.catch(() => undefined)
    running.delete(entry)
  }

  try {
    let isFirst = true
    while (!over.aborted) {
      try {
        const text = source.read()
        if (text !== undefined && text !== last) {
          const entries = entriesIn(text, file)
          // Remove deleted clusters first: a new cluster may take their place.
          await Promise.all([...running.keys()].filter((entry) => !entries.includes(entry)).map(stop))
          for (const entry of entries) if (!running.has(entry)) start(entry)
          last = text
        }
      } catch (error) {
        if (isFirst) throw error
        log.error('the file of clusters cannot be read: the running ones continue', { file, error })
      }
      // A client reads its kubeconfig once; with an outdated authority or certificate the server would soon refuse it.
      for (const [entry, { files }] of running)
        if (![files, undefined].includes(kubeconfigsOf(entry))) {
          log.info('a kubeconfig was replaced: its roles start again', { file })
          await stop(entry)
          start(entry)
        }
      isFirst = false
      await systemClock.sleep(POLL_MS, over).catch(() => undefined)
    }
  } finally {
    await Promise.all([...running.keys()].map(stop))
  }
  return failed.signal.aborted ? await surprise.promise : []
}

/** Identifies the files of its kubeconfigs, each replaced as a whole. Undefined while one is missing. */
function kubeconfigsOf(entry: string): string | undefined {
  const words = JSON.parse(entry) as readonly string[]
  const files = words.flatMap((word, at) => (words[at - 1] === '--kubeconfig' ? [word.replace(/^[a-z]+=/, '')] : []))
  const stats = files.map((path) => statSync(path, { throwIfNoEntry: false }))
  return stats.includes(undefined) ? undefined : stats.map((s) => `${s?.ino ?? 0}@${s?.mtimeMs ?? 0}`).join()
}

/** Each entry is identified by its own text. */
export function entriesIn(text: string, file: string): readonly string[] {
  const refused = (why: string) => new KubeNodeError(runErrors.KN1002_follow({ file, why }))
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (cause) {
    throw refused(messageOf(cause))
  }
  if (!Array.isArray(found) || !found.every(isOptions)) throw refused('it is no list of lists of words')
  if (found.length > MOST_CLUSTERS)
    throw refused(`it has ${found.length} clusters, at most ${MOST_CLUSTERS} run in a process`)
  return [...new Set(found.map((entry) => JSON.stringify(entry)))]
}

const isOptions = (entry: unknown): entry is readonly string[] =>
  Array.isArray(entry) && entry.length > 0 && entry.every((word) => typeof word === 'string')
