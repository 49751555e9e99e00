// Exit codes, and the one place that turns a thrown error into user text.
import { isKubeNodeError, messageOf, numbered } from '../errors.ts'
import { systemMessage } from '../system-trouble.ts'
import { printable } from '../printable.ts'
import { terminalErrors } from './terminal-errors.ts'
import type { Io } from './io.ts'

export const EXIT_OK = 0
/** A failed test, or a difference. */
export const EXIT_DIFFERENT = 1
/** Bad input or an error; nothing was written. */
export const EXIT_ERROR = 2
/** Ctrl-C, as shells report it: 128 plus the signal's number. */
export const EXIT_INTERRUPTED = 130

/** Ends a command with a code after it printed its findings. */
export class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

/** The purpose of a system call whose name only means something to programmers. */
const ACTS: ReadonlyMap<string, string> = new Map([
  ['lstat', 'read'],
  ['stat', 'read'],
  ['scandir', 'read'],
  ['access', 'read'],
  ['mkdir', 'create'],
  ['mkdtemp', 'create'],
  ['unlink', 'delete'],
  ['rmdir', 'delete'],
])

/** Prints the error and returns its exit code. Shows a stack trace only for bugs. */
export function reportError(io: Io, error: unknown): number {
  if (error instanceof Exit) return error.code
  if (isKubeNodeError(error)) {
    io.err(`${printable(error.message)}\n`)
    return EXIT_ERROR
  }
  if (isSystemError(error)) {
    const { syscall, path, code } = error
    const act = ACTS.get(syscall) ?? syscall
    const what = path === undefined ? act : `${act} ${path}`
    io.err(`${printable(numbered(terminalErrors.KN1002_input({ what, why: systemMessage(code) ?? code })))}\n`)
    return EXIT_ERROR
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
  io.err(`${printable(numbered(terminalErrors.KN1000({ stack })))}\n`)
  return EXIT_ERROR
}

/** An operating system error about a user's file or port is not a bug. */
const isSystemError = (e: unknown): e is NodeJS.ErrnoException & { code: string; syscall: string } =>
  e instanceof Error && 'syscall' in e && 'code' in e && typeof e.code === 'string' && typeof e.syscall === 'string'
