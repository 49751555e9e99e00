// Parses server-sent events from text chunks. Pure: the caller provides bytes, connections and time.
import { defined } from '#lib/defined.ts'

export interface StreamEvent {
  readonly name: string
  readonly id?: string
  readonly data: string
}

/** Many times the server's unsent limit: a longer event is an error. */
const MOST_CHARACTERS = 8_000_000

/** Returns a function that takes the next chunk and returns the events it completes. */
export function eventReader(): (chunk: string) => readonly StreamEvent[] {
  let rest = ''
  return (chunk) => {
    rest += chunk
    if (rest.length > MOST_CHARACTERS) throw new Error('an event of the stream is too large')
    const blocks = rest.replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap(eventOf)
  }
}

function eventOf(block: string): readonly StreamEvent[] {
  let name = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    else if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }
  return data.length === 0 ? [] : [{ name, data: data.join('\n'), ...defined({ id }) }]
}
