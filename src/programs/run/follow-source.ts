// Where a process reads which clusters it runs roles for: a file, or lines of its standard input, each of which replaces the one before.
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { requireTrustedFolder } from '#lib/trusted-folder.ts'

export interface FollowSource {
  readonly name: string
  /** Undefined: nothing was listed yet. Throws if it cannot be read. */
  read(): string | undefined
  /** Roles of one cluster that end by themselves end no others. */
  readonly isolates: boolean
}

export function fileSource(file: string): FollowSource {
  let last: string | undefined
  return {
    name: file,
    isolates: false,
    read: () => {
      const text = readFileSync(file, 'utf8')
      if (text !== last) requireTrustedFolder(file)
      return (last = text)
    },
  }
}

/** A hundred clusters have some 100 KiB. */
const MOST_CHARS = 4 * 1024 * 1024

/** `onEnd`: the process at the other end has ended. */
export function lineSource(stream: Readable, onEnd: () => void): FollowSource {
  let [line, rest]: [string | undefined, string] = [undefined, '']
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    line = lines.at(-1) ?? line
    if (rest.length > MOST_CHARS) stream.destroy(new Error(`a line has more than ${MOST_CHARS} characters`))
  })
  stream.once('end', onEnd)
  stream.once('error', onEnd)
  return { name: 'standard input', isolates: true, read: () => line }
}
