// The end of a program's log, for a message.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { printableLine } from '#lib/printable.ts'

const BYTES = 1_000
const MOST = 300

export function boundedTail(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, BYTES))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    return printableLine(bytes.toString('utf8').trim().split('\n').at(-1) ?? '').slice(-MOST)
  } finally {
    closeSync(file)
  }
}
