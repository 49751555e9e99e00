// The order to leave, as the agent keeps it on the disk: from then on it leaves, whatever the API server says or however often it is interrupted.
import { isObject } from '#lib/json.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { leaveRequestFile, leavingFile, type NodeDir } from '../node-dir.ts'

/** Components: they are handed back. Report: all are off, and the last report is written. Host: the agent removes itself. */
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

export const writeLeaving = ({ files, dir }: At, leaving: Leaving): Promise<void> =>
  writeDurably(files, leavingFile(dir), JSON.stringify(leaving))

/** Only root on the host writes into that folder. */
export async function isLeaveRequested({ files, dir }: At): Promise<boolean> {
  return (await files.stat(leaveRequestFile(dir))) !== undefined
}
