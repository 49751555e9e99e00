// Writes whole lines to a descriptor and never throws: a log that is full, closed or unread must not end its program.
import { writeSync } from 'node:fs'

export interface LineWriter {
  /** `line` ends with a newline. */
  write(line: string): void
}

/** How long a slow pipe reader may delay a line, unless the previous line was lost too. */
const PATIENCE_MS = 50
const RETRY_MS = 5
const RETRIES = PATIENCE_MS / RETRY_MS

export type WriteBytes = (fd: number, bytes: Uint8Array, offset: number) => number

/** `lost` creates the line that reports how many lines were lost before it. */
export function lineWriter(fd: number, lost: (lines: number) => string, write: WriteBytes = writeSync): LineWriter {
  let lostLines = 0
  let isMidLine = false

  function isWritten(text: string): boolean {
    // Otherwise the rest of a truncated line would swallow the next one.
    const bytes = Buffer.from(isMidLine ? `\n${text}` : text)
    let retries = lostLines > 0 ? 0 : RETRIES
    for (let at = 0; at < bytes.length;) {
      try {
        const written = write(fd, bytes, at)
        if (written === 0) return false
        at += written
        isMidLine = at < bytes.length
      } catch (e) {
        if (!isBusy(e) || retries-- === 0) return false
        sleepSync(RETRY_MS)
      }
    }
    return true
  }

  return {
    write(line) {
      if (lostLines > 0 && !isWritten(lost(lostLines))) {
        lostLines++
        return
      }
      lostLines = isWritten(line) ? 0 : 1
    },
  }
}

const isBusy = (e: unknown): boolean => e instanceof Error && 'code' in e && e.code === 'EAGAIN'

const never = new Int32Array(new SharedArrayBuffer(4))
const sleepSync = (ms: number): void => void Atomics.wait(never, 0, 0, ms)
