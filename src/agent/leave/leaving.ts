// The order to leave, as stored on the agent's disk. After that the agent leaves, whatever the Machine orders or however often it is interrupted.
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { leaveRequestFile, leavingFile, type NodeDir } from '../node-dir.ts'

/** Components: being handed back. Report: all are off, and the last report is written. Host: the agent removes itself. */
type LeavingPhase = 'Components' | 'Report' | 'Host'

export interface Leaving {
  readonly format: 1
  readonly by: 'Machine' | 'Person'
  readonly phase: LeavingPhase
  /** The Machine stays and is only observed: components stay as they are. */
  readonly isObserved?: boolean
}

interface At {
  readonly files: Files
  readonly dir: NodeDir
}

const PHASES: ReadonlySet<unknown> = new Set(['Components', 'Report', 'Host'])

const parseLeaving = (v: unknown): Leaving | undefined =>
  isObject(v) && v['format'] === 1 && PHASES.has(v['phase']) ? (v as unknown as Leaving) : undefined

export const readLeaving = ({ files, dir }: At): Promise<Leaving | undefined> =>
  readState(files, leavingFile(dir), parseLeaving)

interface Recording extends At {
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const RETRY_MS = 2_000

/** Retries until the order is on the disk: a full disk delays leaving, but must not lose the order. Throws when the agent stops before. */
export async function recordLeaving({ files, dir, clock, log, signal }: Recording, leaving: Leaving): Promise<void> {
  for (;;)
    try {
      return await writeDurably(files, leavingFile(dir), JSON.stringify(leaving))
    } catch (error) {
      log.warn('cannot save the order to leave', { error, phase: leaving.phase, retryInMs: RETRY_MS })
      await clock.sleep(RETRY_MS, signal)
    }
}

/** Only root on the host can write to that folder. */
export async function isLeaveRequested({ files, dir }: At): Promise<boolean> {
  return (await files.stat(leaveRequestFile(dir))) !== undefined
}
