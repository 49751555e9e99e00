// One fleet a data folder: the first start holds a lock that ends with its process, however that ends.
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { makeFolders } from '#lib/private-folder.ts'
import { localErrors } from './local-errors.ts'

/** Tells a process from a later one with the same pid. Empty where the system does not say. */
function startTimeOf(pid: number): string {
  try {
    // The name in parentheses may hold spaces; the fields count from its end.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    return (e as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The process that holds the lock, unless it is gone. */
function holder(path: string): number | undefined {
  try {
    const [pid = 0, start = ''] = readFileSync(path, 'utf8').trim().split(' ')
    const isHeld = isAlive(Number(pid)) && (start === '' || startTimeOf(Number(pid)) === start)
    return isHeld && Number(pid) > 0 ? Number(pid) : undefined
  } catch {
    return undefined
  }
}

export const isLocked = (path: string): boolean => holder(path) !== undefined

/** Answers how to give the lock back. */
export function takeLock(path: string): () => void {
  const refused = (cause: unknown) =>
    new KubeNodeError(localErrors.KN1205({ folder: dirname(path), why: messageOf(cause) }), { cause })
  try {
    makeFolders(dirname(path))
  } catch (cause) {
    throw refused(cause)
  }
  for (const isLast of [false, true]) {
    try {
      const file = openSync(path, 'wx', 0o600)
      writeSync(file, `${process.pid} ${startTimeOf(process.pid)}\n`)
      closeSync(file)
      return () => rmSync(path, { force: true })
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw refused(cause)
      const pid = holder(path)
      if (pid !== undefined || isLast) {
        throw new KubeNodeError(localErrors.KN1201({ path: dirname(path), pid: pid ?? 'unknown' }))
      }
      rmSync(path, { force: true })
    }
  }
  throw new Error('unreachable')
}
