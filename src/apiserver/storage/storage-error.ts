// The meaning of a failure of the file of objects: whether serving must stop, whether the next write may succeed, and what a user can do about it.
import { isKubeNodeError, KubeNodeError, messageOf, type ErrorMessage, type Retry } from '#lib/errors.ts'
import { isSqliteBusy, primaryCode, sqliteCode } from '#lib/sqlite-code.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

const CORRUPT = 11
const FULL = 13
const NO_DATABASE = 26
/** The index of the log could not grow, which only a full disk does. */
const INDEX_TOO_SMALL = 4_874

const isFull = (errcode: number): boolean => primaryCode(errcode) === FULL || errcode === INDEX_TOO_SMALL
const isOfSystem = (e: unknown): boolean => e instanceof Error && 'syscall' in e
const hasNoSpace = (e: unknown): boolean =>
  isOfSystem(e) && e instanceof Error && 'code' in e && (e.code === 'ENOSPC' || e.code === 'EDQUOT')

/** As it is sent from the writing thread to the serving one. */
export interface WriteFailure extends ErrorMessage {
  readonly retry: Retry
}

export const DISK_FULL = apiserverErrors.KN6106.code
export const FILE_BUSY = apiserverErrors.KN6107.code

export const fullFailure = (file: string): WriteFailure => ({ ...apiserverErrors.KN6106({ file }), retry: 'later' })

/** Failure of a transaction that was rolled back. Anything but a full disk and another process's lock is final: the content of the disk is unknown. */
export function writeFailure(file: string, e: unknown): WriteFailure {
  const errcode = sqliteCode(e)
  if (isFull(errcode)) return fullFailure(file)
  if (isSqliteBusy(errcode)) return { ...apiserverErrors.KN6107({ file }), retry: 'later' }
  return { ...apiserverErrors.KN6116_unknown({ file, why: messageOf(e) }), retry: 'never' }
}

export const failureError = (failure: WriteFailure): KubeNodeError =>
  new KubeNodeError(failure, { retry: failure.retry })

/** Failure of opening or reading the file. */
export function openFailure(file: string, e: unknown): KubeNodeError {
  if (isKubeNodeError(e)) return e
  const errcode = sqliteCode(e)
  const primary = primaryCode(errcode)
  const because = { cause: e }
  if (isFull(errcode) || hasNoSpace(e)) return new KubeNodeError(apiserverErrors.KN6106({ file }), because)
  if (isSqliteBusy(errcode)) return new KubeNodeError(apiserverErrors.KN6107({ file }), because)
  // Of the file system, before SQLite saw the file: no word about what is in it.
  if (isOfSystem(e)) return new KubeNodeError(apiserverErrors.KN6116_io({ file, why: systemTrouble(e) }), because)
  if (primary === CORRUPT || primary === NO_DATABASE || errcode === 0) return damaged(file, messageOf(e), e)
  return new KubeNodeError(apiserverErrors.KN6116_io({ file, why: messageOf(e) }), because)
}

export const damaged = (file: string, seen: string, cause?: unknown): KubeNodeError =>
  new KubeNodeError(apiserverErrors.KN6102({ file, seen }), cause === undefined ? {} : { cause })

export const foreign = (file: string): KubeNodeError => new KubeNodeError(apiserverErrors.KN1203_database({ file }))

export const newer = (file: string, format: number, known: number): KubeNodeError =>
  new KubeNodeError(apiserverErrors.KN6110({ file, format, known }))

export const missing = (file: string): KubeNodeError => new KubeNodeError(apiserverErrors.KN6111({ file }))
