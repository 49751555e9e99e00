// Why a component does not match its declaration: a reason from the catalog, a sentence, and the last lines of its output.
import type { Reason } from '#api/catalogue.ts'
import { stagingReason } from '#api/protocol/staging-reasons.ts'
import { isKubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'
import { lastLines } from '../last-lines.ts'

export interface Cause {
  readonly because: Reason
  readonly message: string
  /** The last log lines, if the component's own behavior is the cause. */
  readonly output?: string
}

/** Any other error is a failed call to the API server, the network or the disk; `onDisk`: what the last one is. */
export function causeOf(error: unknown, otherwise: Reason, onDisk = otherwise): Cause {
  const message = messageOf(error)
  if (!isKubeNodeError(error)) {
    const refusal = ofDisk(error)
    return refusal === undefined ? { because: otherwise, message } : { because: onDisk, message: refusal }
  }
  return { because: reasonIn(error.data) ?? stagingReason(error.code) ?? 'InstallFailed', message }
}

/** These pass once there is room or another disk. The others may come from where the version wants to be, and would fail on every host. */
const OF_FAILING_DISKS: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EIO'])

/** Why a switch cannot continue. A failing disk is no evidence against the version. */
export function switchCause(error: unknown): Cause {
  const isDisk = error instanceof Error && 'code' in error && OF_FAILING_DISKS.has(error.code)
  return causeOf(error, 'InstallFailed', isDisk ? 'HostUnsuitable' : 'InstallFailed')
}

/** A step that is tried again until it succeeds. */
export interface StepProblem extends Cause {
  /** Wall clock: when it failed first. */
  readonly since: number
}

export const stepProblem = (error: unknown, since: number): StepProblem => ({
  ...causeOf(error, 'InstallFailed', 'HostUnsuitable'),
  since,
})

const DISK: Readonly<Record<string, string>> = {
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EIO: 'the disk is broken',
  EACCES: 'permission denied',
  EPERM: 'the file or its folder is immutable, or a security module forbids it',
}

/** A write to an open file names no path. The other codes then may be of another call, such as a signal. */
const OF_WRITES: ReadonlySet<string> = new Set(['EROFS', 'ENOSPC', 'EDQUOT', 'EIO'])

/** The system's refusal in words. For a link or a rename, the second path is the one that changes. */
function ofDisk(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  const what = DISK[error.code]
  const path = 'dest' in error ? error.dest : 'path' in error ? error.path : undefined
  if (what === undefined) return undefined
  const why = `${what} (${error.code})`
  if (typeof path === 'string') return numbered(agentErrors.KN8087_component({ path, why }))
  return OF_WRITES.has(error.code) ? numbered(agentErrors.KN8087_disk({ why })) : undefined
}

/** An error code with several causes carries the actual one. */
const reasonIn = ({ reason }: Readonly<Record<string, unknown>>): Reason | undefined =>
  reason === 'FetchFailed' || reason === 'InvalidSpec' || reason === 'HostUnsuitable' ? reason : undefined

/** The last output line goes into the sentence, because it often shows the mistake. */
function withOutput(cause: Cause, output: string): Cause {
  const last = output.split('\n').at(-1) ?? ''
  return last === '' ? cause : { ...cause, message: `${cause.message}; last output: ${last}`, output }
}

/** For these reasons the component's last output explains more than its exit code. */
const EXPLAINED_BY_LOG: ReadonlySet<Reason> = new Set(['CrashLooping', 'ProbeFailed'])
const SHOWN_LINES = 3

/** Explains why an action is taken. Reads the output now, because the component's next start deletes it. */
export async function explained(
  { because, reason: message }: { readonly because: Reason; readonly reason: string },
  lastOutput: () => Promise<string>,
): Promise<Cause> {
  const cause = { because, message }
  return EXPLAINED_BY_LOG.has(because) ? withOutput(cause, lastLines(await lastOutput(), SHOWN_LINES)) : cause
}
