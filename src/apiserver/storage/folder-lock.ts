// One server per data folder: a lock that the kernel releases when the process ends in any way, kill -9 included.
import { dirname } from 'node:path'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { type FileLock, takeFileLock } from '#lib/file-lock.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

export function lockFolder(file: string): FileLock {
  let lock: FileLock | undefined
  try {
    lock = takeFileLock(file)
  } catch (e) {
    throw new KubeNodeError(apiserverErrors.KN6116({ file, why: messageOf(e) }), { cause: e })
  }
  if (lock === undefined) throw new KubeNodeError(apiserverErrors.KN6103({ folder: dirname(file) }))
  return lock
}
