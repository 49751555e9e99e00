// The lowest revision that the file of objects must reach: written beside it after each commit, so that a log that was cut or
// deleted, or a file that was restored alone, is noticed at the next start. Invariant: never ahead of durable data.
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { KubeNodeError } from '#lib/errors.ts'
import { damaged } from './storage-error.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

const markFile = (file: string): string => `${file}.mark`

const DIGITS = 16
const textOf = (revision: number): string => {
  const digits = String(revision).padStart(DIGITS, '0')
  return `${digits} ${crc32(digits).toString(16).padStart(8, '0')}\n`
}

/** 0 when nothing was marked yet. After a loss of power the text may not have reached the disk: that is no mark, not a wrong one. */
export function markedRevision(file: string): number {
  let text = ''
  try {
    text = readFileSync(markFile(file), 'latin1')
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw e
  }
  if (/^\0*$/.test(text)) return 0
  const revision = Number(text.slice(0, DIGITS))
  if (!Number.isSafeInteger(revision) || text !== textOf(revision))
    throw damaged(markFile(file), 'it holds no revision with a right check sum')
  return revision
}

export function refuseGoneBack(file: string, revision: number): void {
  const marked = markedRevision(file)
  if (revision >= marked) return
  throw new KubeNodeError(apiserverErrors.KN6108({ file, revision, marked }))
}

/** Written in place: less than a sector, so never torn. */
export class RevisionMark {
  readonly #fd: number

  constructor(file: string) {
    this.#fd = openSync(markFile(file), constants.O_RDWR | constants.O_CREAT, 0o600)
  }

  write(revision: number): void {
    try {
      writeSync(this.#fd, textOf(revision), 0, 'latin1')
    } catch {
      // an older mark is a lower one, and still true
    }
  }

  /** Before anything that makes the log unnecessary: the mark must outlast it. */
  close(): void {
    try {
      fsyncSync(this.#fd)
    } finally {
      closeSync(this.#fd)
    }
  }
}
