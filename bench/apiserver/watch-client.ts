// A process that only watches: its own TLS connections, one watch on each, and the arrival time of each mark. Several such processes keep up with a server, so
// the figure is the server's and not the client's.
import { connect, type SecureContext, createSecureContext } from 'node:tls'
import type { Target } from './load.ts'

export interface OpenOrder {
  readonly open: { readonly target: Target; readonly paths: readonly string[] }
}
/** What has arrived of a mark so far. */
export interface AskOrder {
  readonly ask: string
}
export type Order = OpenOrder | AskOrder

export type Report =
  | { readonly opened: number }
  | { readonly failed: string }
  /** Sent once all watches here have the mark that is said to reach all of them, and when asked. */
  | { readonly mark: string; readonly at: readonly number[] }

/** Milliseconds on a clock that all processes of a machine share. */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6

/** Handshakes under way at once. */
const OPENING = 16
const MARK = Buffer.from('"bench/mark":"')
const LONGEST_MARK = 32

const arrivals = new Map<string, number[]>()
let watches = 0
const say = (report: Report): void => void process.send?.(report)

function open(target: Target, context: SecureContext, path: string): Promise<void> {
  const { host, port } = target
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, secureContext: context })
    let head = ''
    let tail: Buffer = Buffer.alloc(0)
    const seen = new Set<string>()
    socket.once('secureConnect', () =>
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json\r\n\r\n`),
    )
    socket.on('error', reject)
    socket.on('data', (part: Buffer) => {
      if (head !== 'read') {
        head += part.toString('latin1')
        if (!head.includes('\r\n\r\n')) return
        if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(head.slice(0, 200)))
        head = 'read'
        resolve()
      }
      const now = sharedNow()
      // a mark that is cut in two is found with the next part
      const text = tail.length === 0 ? part : Buffer.concat([tail, part])
      for (let i = text.indexOf(MARK); i >= 0; i = text.indexOf(MARK, i + 1)) {
        const end = text.indexOf('"', i + MARK.length)
        if (end < 0) break
        const mark = text.toString('latin1', i + MARK.length, end)
        if (seen.has(mark)) continue
        seen.add(mark)
        arrived(mark, now)
      }
      tail = Buffer.from(part.subarray(Math.max(0, part.length - MARK.length - LONGEST_MARK)))
    })
  })
}

function arrived(mark: string, now: number): void {
  let at = arrivals.get(mark)
  if (at === undefined) {
    at = []
    arrivals.set(mark, at)
  }
  at.push(now)
  if (!mark.startsWith('all-') || at.length === watches) say({ mark, at })
}

async function openAll({ target, paths }: OpenOrder['open']): Promise<void> {
  const context = createSecureContext({ ca: target.ca, cert: target.cert, key: target.key })
  watches = paths.length
  let next = 0
  const opener = async (): Promise<void> => {
    for (let i = next++; i < paths.length; i = next++) await open(target, context, paths[i] ?? '')
  }
  await Promise.all(Array.from({ length: OPENING }, opener))
  say({ opened: watches })
}

if (process.send !== undefined)
  process.on('message', (order: Order) => {
    if ('ask' in order) return say({ mark: order.ask, at: arrivals.get(order.ask) ?? [] })
    openAll(order.open).catch((e: unknown) => say({ failed: String(e) }))
  })
