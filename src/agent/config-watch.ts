// Notices when the configuration changes, so that the agent restarts with it. A file that is not a JSON object is half written or a mistake, and a file
// with host-only keys is refused: neither triggers a restart.
import { isDeepStrictEqual } from 'node:util'
import { basename, dirname } from 'node:path'
import type { Clock, Timer } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { watchFolder } from './files/folder-watch.ts'
import type { Files } from './files/port.ts'
import { type ConfigTexts, declaredRefusal, readConfigTexts } from './config-source.ts'
import { configFile, hostConfigFile, type NodeDir } from './node-dir.ts'

export interface ConfigWatchDeps {
  readonly files: Pick<Files, 'read'>
  readonly dir: NodeDir
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** The configuration that the agent started with. */
  readonly inForce: ConfigTexts
}

/** Kernel events can be lost, and editors write a file in several steps. */
const CHECK_EVERY_MS = 30_000
const SETTLE_MS = 200

type Read =
  | { readonly kind: 'Config'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'None' | 'Broken' }

function readingOf(text: string | undefined): Read {
  if (text === undefined) return { kind: 'None' }
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? { kind: 'Config', value } : { kind: 'Broken' }
  } catch {
    return { kind: 'Broken' }
  }
}

/** Whether a running agent must restart to apply the new file. */
export function isAnotherConfig(before: string | undefined, after: string | undefined): boolean {
  const now = readingOf(after)
  return now.kind !== 'Broken' && !isDeepStrictEqual(readingOf(before), now)
}

export function watchConfig(
  { files, dir, clock, log, inForce }: ConfigWatchDeps,
  onChange: () => void,
): { close(): void } {
  const paths = [configFile(dir), hostConfigFile(dir)]
  const path = configFile(dir)
  let timer: Timer | undefined
  let isClosed = false
  let unusable: string | undefined
  const check = async (): Promise<void> => {
    const found = await readConfigTexts({ files, dir })
    if (isClosed) return
    const refusal = declaredRefusal(dir, found.declared)
    const now = refusal === undefined ? found : { ...found, declared: inForce.declared }
    if (isAnotherConfig(inForce.declared, now.declared) || isAnotherConfig(inForce.fromHost, now.fromHost)) {
      log.info('configuration changed, restarting', { path })
      return onChange()
    }
    const isBroken = readingOf(found.declared).kind === 'Broken'
    if ((refusal === undefined && !isBroken) || found.declared === unusable) return
    unusable = found.declared
    if (refusal !== undefined) log.warn('agent.json is refused', { error: refusal })
    else log.warn('agent.json is not a JSON object; the agent keeps its current configuration', { path })
  }
  const checkIn = (ms: number): void => {
    timer?.cancel()
    timer = clock.after(ms, () => {
      check()
        .catch((cause: unknown) => log.warn('cannot read agent.json', { path, error: messageOf(cause) }))
        .finally(() => {
          if (!isClosed) checkIn(CHECK_EVERY_MS)
        })
    })
  }
  const watcher = watchFolder(dirname(path), (name) => {
    if (!isClosed && (name === undefined || paths.some((p) => name === basename(p)))) checkIn(SETTLE_MS)
  })
  checkIn(CHECK_EVERY_MS)
  return {
    close: () => {
      isClosed = true
      timer?.cancel()
      watcher?.close()
    },
  }
}
