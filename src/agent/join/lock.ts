// One agent per node: locks a file in its state folder. The kernel releases the lock when the agent exits, however it exits.
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, isKubeNodeError } from '#lib/errors.ts'
import { type FileLock, takeFileLock } from '#lib/file-lock.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { agentErrors } from '../agent-errors.ts'

export type NodeLock = FileLock

const TRY_EVERY_MS = 200

/** Waits for an agent that is about to exit, for example because its supervisor was killed. */
export async function awaitNodeLock(
  stateFolder: string,
  mostMs: number,
  clock: Pick<Clock, 'monotonic' | 'sleep'> = systemClock,
): Promise<NodeLock> {
  const until = clock.monotonic() + mostMs
  for (;;) {
    try {
      return takeNodeLock(stateFolder)
    } catch (e) {
      if (!isKubeNodeError(e) || e.code !== agentErrors.KN8001.code || clock.monotonic() >= until) throw e
      await clock.sleep(TRY_EVERY_MS)
    }
  }
}

/** If other users could write to the folder, they could replace the lock with their own. */
const OTHERS_WRITE = 0o022

export function takeNodeLock(stateFolder: string): NodeLock {
  let lock: NodeLock | undefined
  try {
    const { uid, mode } = statSync(stateFolder)
    if (uid !== process.geteuid?.()) throw new Error(`the folder belongs to another user (uid ${uid})`)
    if ((mode & OTHERS_WRITE) !== 0) chmodSync(stateFolder, mode & 0o7777 & ~OTHERS_WRITE)
    lock = takeFileLock(join(stateFolder, 'agent.lock'))
  } catch (e) {
    throw new KubeNodeError(agentErrors.KN8087_lock({ stateFolder, why: systemTrouble(e) }), {
      retry: 'later',
      cause: e,
    })
  }
  if (lock === undefined) throw new KubeNodeError(agentErrors.KN8001({ stateFolder }))
  return lock
}
