// What a failure of the file of objects means: whether serving must stop, whether the next write may go well, and what a person does about it.
import { isKubeNodeError, KubeNodeError, messageOf, type ErrorCode, type Retry } from '#lib/errors.ts'

const BUSY = 5
const LOCKED = 6
const CORRUPT = 11
const FULL = 13
const NO_DATABASE = 26
/** The index of the log could not grow, which only a full disk does. */
const INDEX_TOO_SMALL = 4_874

const errcodeOf = (e: unknown): number =>
  e instanceof Error && 'errcode' in e && typeof e.errcode === 'number' ? e.errcode : 0

const isFull = (errcode: number): boolean => (errcode & 0xff) === FULL || errcode === INDEX_TOO_SMALL
const isBusy = (errcode: number): boolean => (errcode & 0xff) === BUSY || (errcode & 0xff) === LOCKED

/** As it goes from the writing thread to the serving one. */
export interface WriteFailure {
  readonly code: ErrorCode
  readonly message: string
  readonly retry: Retry
}

export const DISK_FULL = 'KN6106'
export const FILE_BUSY = 'KN6107'

export const fullFailure = (file: string): WriteFailure => ({
  code: DISK_FULL,
  retry: 'later',
  message: `cannot store anything in ${file}: the disk is full; nothing of this write was stored, and writes go on as soon as there is space: delete objects, or make space beside them`,
})

/** Of a transaction that was rolled back. Anything but a full disk and a lock of others is final: what the disk holds is not known. */
export function writeFailure(file: string, e: unknown): WriteFailure {
  const errcode = errcodeOf(e)
  if (isFull(errcode)) return fullFailure(file)
  if (isBusy(errcode))
    return {
      code: FILE_BUSY,
      retry: 'later',
      message: `cannot store anything in ${file}: another program holds it locked; nothing of this write was stored; end that program`,
    }
  return {
    code: 'KN6101',
    retry: 'never',
    message: `cannot store anything in ${file} any more: ${messageOf(e)}; the server ends, for what is on the disk is not known; look at the disk, then start it again`,
  }
}

export const failureError = ({ code, message, retry }: WriteFailure): KubeNodeError =>
  new KubeNodeError(code, message, { retry })

/** Of opening or reading the file. */
export function openFailure(file: string, e: unknown): KubeNodeError {
  if (isKubeNodeError(e)) return e
  const errcode = errcodeOf(e)
  const primary = errcode & 0xff
  const because = { cause: e }
  if (isFull(errcode))
    return new KubeNodeError(DISK_FULL, `cannot open ${file}: the disk is full; make space, then start again`, because)
  if (isBusy(errcode))
    return new KubeNodeError(
      FILE_BUSY,
      `cannot open ${file}: another program holds it locked; end that program, then start again`,
      because,
    )
  if (primary === CORRUPT || primary === NO_DATABASE || errcode === 0) return damaged(file, messageOf(e), e)
  return new KubeNodeError(
    'KN6101',
    `cannot read or write ${file}: ${messageOf(e)}; look at the disk and at the rights of the folder`,
    because,
  )
}

export const damaged = (file: string, seen: string, cause?: unknown): KubeNodeError =>
  new KubeNodeError(
    'KN6102',
    `cannot read the data in ${file}: ${seen}; it is damaged or no file of ours: look with kubenode apiserver check, then choose another folder with --data, or restore a backup into an empty one`,
    cause === undefined ? {} : { cause },
  )

export const foreign = (file: string): KubeNodeError =>
  new KubeNodeError(
    'KN6109',
    `cannot read the data in ${file}: it is a database of another program, and was left as it is; choose another folder with --data`,
  )

export const newer = (file: string, format: number, known: number): KubeNodeError =>
  new KubeNodeError(
    'KN6110',
    `cannot read the data in ${file}: its format is ${format}, this server knows ${known}; start a newer kubenode, or choose another folder with --data`,
  )

export const missing = (file: string): KubeNodeError =>
  new KubeNodeError(
    'KN6111',
    `cannot read ${file}: there is no such file; name the data folder of a server with --data`,
  )
