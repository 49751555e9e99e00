// Starts a program with resource limits: through a shell, or through prlimit in an image without a shell.
import { existsSync } from 'node:fs'
import { KIB } from '#lib/bytes.ts'

export interface ProgramLimits {
  readonly cpuSeconds?: string
  readonly openFiles?: number
  /** Zero: it may not write files. */
  readonly fileBytes: number
  readonly dataBytes: number
}

export interface LimitedCommand {
  readonly file: string
  readonly args: readonly string[]
}

type Limit = (limits: ProgramLimits, program: readonly string[]) => LimitedCommand

const SHELL = '/bin/sh'
const PRLIMIT = '/usr/bin/prlimit'
/** Unit of the file limit in a POSIX shell. */
const SHELL_BLOCK = 512

/** No core dumps either. */
export const limited = (
  limits: ProgramLimits,
  program: readonly string[],
  hasShell = existsSync(SHELL),
): LimitedCommand => (hasShell ? byShell(limits, program) : byPrlimit(limits, program))

/** The data limit may be rejected where a lower one is already in force. */
const byShell: Limit = ({ cpuSeconds, openFiles, fileBytes, dataBytes }, program) => {
  const lines = [
    'ulimit -c 0',
    `ulimit -f ${Math.floor(fileBytes / SHELL_BLOCK)} 2>/dev/null${fileBytes === 0 ? '' : ' || true'}`,
    ...(openFiles === undefined ? [] : [`ulimit -n ${openFiles}`]),
    ...(cpuSeconds === undefined ? [] : [`ulimit -t ${Number(cpuSeconds)}`]),
    `ulimit -d ${Math.floor(dataBytes / KIB)} 2>/dev/null || true`,
    'exec "$@"',
  ]
  return { file: SHELL, args: ['-c', `set -eu\n${lines.join('\n')}\n`, 'limited', ...program] }
}

const byPrlimit: Limit = ({ cpuSeconds, openFiles, fileBytes, dataBytes }, program) => {
  const limits = [
    '--core=0',
    `--fsize=${fileBytes}`,
    ...(openFiles === undefined ? [] : [`--nofile=${openFiles}`]),
    ...(cpuSeconds === undefined ? [] : [`--cpu=${Number(cpuSeconds)}`]),
    `--data=${dataBytes}`,
  ]
  return { file: PRLIMIT, args: [...limits, '--', ...program] }
}
