// In place of CoreDNS: answers what pods of a sealed host ask for names of Services and of the pods behind them. IPv4 and UDP only.
import { createSocket } from 'node:dgram'
import type { SealedHost } from './sealed-host.ts'

const PORT = 53
const LOOK_EVERY_MS = 300
/** Also of a record before its data. */
const HEADER_BYTES = 12
const ADDRESS_TYPE = 1
const TTL_SECONDS = 1
/** A response with recursion, and one for a name that does not exist. */
const [ANSWERED, NO_NAME] = [0x81_80, 0x81_83]
/** The name of the question, once more. */
const SAME_NAME = 0xc0_0c

/** By name without the domain. */
export type Names = ReadonlyMap<string, readonly string[]>

/** Undefined for what is no question. */
function answerOf(asked: Buffer, names: Names): Buffer | undefined {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let size = asked[at]; size !== undefined && size !== 0; size = asked[at]) {
    labels.push(asked.toString('latin1', at + 1, at + 1 + size))
    at += 1 + size
  }
  const end = at + 5
  if (asked.length < end) return undefined
  const [, name] = /^(.*)\.cluster\.local$/.exec(labels.join('.').toLowerCase()) ?? []
  const found = names.get(name ?? '')
  const addresses = asked.readUInt16BE(at + 1) === ADDRESS_TYPE ? (found ?? []) : []
  const header = Buffer.alloc(HEADER_BYTES)
  asked.copy(header, 0, 0, 2)
  for (const [n, value] of [found === undefined ? NO_NAME : ANSWERED, 1, addresses.length].entries())
    header.writeUInt16BE(value, 2 + 2 * n)
  const records = addresses.map((address) => {
    const record = Buffer.alloc(HEADER_BYTES)
    for (const [n, value] of [SAME_NAME, ADDRESS_TYPE, 1, 0, TTL_SECONDS, 4].entries())
      record.writeUInt16BE(value, 2 * n)
    return Buffer.concat([record, Buffer.from(address.split('.').map(Number))])
  })
  return Buffer.concat([header, asked.subarray(HEADER_BYTES, end), ...records])
}

export interface ClusterNames {
  stop(): Promise<void>
}

export async function serveNames({ outside }: SealedHost, look: () => Promise<Names>): Promise<ClusterNames> {
  let names: Names = new Map()
  const socket = createSocket('udp4')
  socket.on('message', (asked, { address, port }) => {
    const answer = answerOf(asked, names)
    if (answer !== undefined) socket.send(answer, port, address)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(PORT, outside, resolve)
  })
  const end = new AbortController()
  const loop = (async () => {
    while (!end.signal.aborted) {
      // An API server that is busy is asked again.
      names = await look().catch(() => names)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  })()
  return {
    stop: async () => {
      end.abort()
      await loop
      socket.close()
    },
  }
}
