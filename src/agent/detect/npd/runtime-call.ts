// Sends a container runtime a small request over its own socket, so that the node needs no client program started every few seconds.
import net from 'node:net'
import { nodeHttp } from '#lib/node-http.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'

/** Undefined: it answered correctly; otherwise a description of the answer. */
export type Answer = string | undefined

/** A list of containers with at most one entry. */
export const askDocker = (socketPath: string, timeoutMs: number): Promise<Answer> =>
  askHttp({ socketPath, path: '/containers/json?limit=1' }, timeoutMs)

export const askHttp = (
  place:
    | { readonly socketPath: string; readonly path: string }
    | { readonly host: string; readonly port: number; readonly path: string },
  timeoutMs: number,
): Promise<Answer> =>
  new Promise((resolve) => {
    const request = nodeHttp.get({ ...place, timeout: timeoutMs, agent: false }, (response) => {
      response.destroy()
      resolve(response.statusCode === 200 ? undefined : `HTTP ${response.statusCode ?? 0} from ${place.path}`)
    })
    refuseUpgrade(request)
    // The timeout covers a complete answer: a byte now and then does not count.
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    request.on('close', () => clearTimeout(timer))
    request.on('error', (e) => resolve(e.message))
  })

/** ListPodSandbox filtered by an impossible pod: a request that the kubelet makes all day, with an empty answer. */
const METHOD = '/runtime.v1.RuntimeService/ListPodSandbox'

function noSuchPod(): Buffer {
  const id = Buffer.from('0'.repeat(64))
  const filter = Buffer.concat([Buffer.from([0x0a, id.length]), id])
  const message = Buffer.concat([Buffer.from([0x0a, filter.length]), filter])
  return framed(message)
}

export const askCri = async (socketPath: string, timeoutMs: number): Promise<Answer> => {
  const reply = await callCri(socketPath, METHOD, noSuchPod(), timeoutMs)
  return reply.kind === 'Body' ? undefined : reply.message
}

export type CriStatus =
  | { readonly kind: 'Ready' }
  /** The runtime answered, and reports that it cannot run pods. */
  | { readonly kind: 'NotReady' | 'NoAnswer'; readonly message: string }

const STATUS = '/runtime.v1.RuntimeService/Status'

/** Whether it can run pods at all. Its network is ready only after another program has configured it. */
export async function askCriStatus(socketPath: string, timeoutMs: number): Promise<CriStatus> {
  const reply = await callCri(socketPath, STATUS, framed(Buffer.alloc(0)), timeoutMs)
  return reply.kind === 'Body'
    ? readCriStatus(reply.body)
    : { kind: reply.kind === 'Refused' ? 'NotReady' : 'NoAnswer', message: reply.message }
}

/** The condition RuntimeReady in a StatusResponse; an unreadable answer means not ready. */
export function readCriStatus(body: Buffer): CriStatus {
  // The message follows one byte for compression and four for the length.
  const status = fieldsOf(body.subarray(5)).find(({ number }) => number === 1)?.bytes
  const conditions = fieldsOf(status ?? Buffer.alloc(0)).flatMap(({ number, bytes }) =>
    number === 1 ? [fieldsOf(bytes)] : [],
  )
  const text = (of: readonly ProtoField[], n: number): string =>
    of.find(({ number }) => number === n)?.bytes.toString('utf8') ?? ''
  const ready = conditions.find((c) => text(c, 1) === 'RuntimeReady')
  if (ready === undefined) return { kind: 'NotReady', message: 'its status has no condition RuntimeReady' }
  if (ready.some(({ number, value }) => number === 2 && value === 1)) return { kind: 'Ready' }
  return {
    kind: 'NotReady',
    message: `RuntimeReady is false: ${text(ready, 3)} ${text(ready, 4)}`.trim().slice(0, 160),
  }
}

interface ProtoField {
  readonly number: number
  /** Value of a number. */
  readonly value: number
  /** Content of a text or a message. */
  readonly bytes: Buffer
}

/** More fields than any status has; the rest is not read. */
const MAX_FIELDS = 256

/** The fields of one protobuf message, as far as they are well-formed. */
function fieldsOf(message: Buffer): readonly ProtoField[] {
  const found: ProtoField[] = []
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = message[at++]
      if (byte === undefined) return Number.NaN
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    return Number.NaN
  }
  while (at < message.length && found.length < MAX_FIELDS) {
    const tag = varint()
    const [number, type] = [tag >>> 3, tag & 7]
    const value = type === 0 || type === 2 ? varint() : Number.NaN
    const end = at + (type === 2 ? value : 0)
    if (Number.isNaN(tag) || Number.isNaN(value) || end > message.length) break
    found.push({ number, value, bytes: message.subarray(at, end) })
    at = end
  }
  return found
}

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

type CriReply =
  | { readonly kind: 'Body'; readonly body: Buffer }
  /** gRPC status other than OK: the runtime is there and refuses. */
  | { readonly kind: 'Refused' | 'NoAnswer'; readonly message: string }

/** A runtime's answer takes a few kilobytes. */
const MAX_REPLY_BYTES = 2 ** 20

async function callCri(socketPath: string, path: string, request: Buffer, timeoutMs: number): Promise<CriReply> {
  // Imported only on nodes with such a check: it costs 2 MB.
  const http2 = await import('node:http2')
  return new Promise((resolve) => {
    const session = http2.connect('http://localhost', { createConnection: () => net.connect(socketPath) })
    const end = (reply: CriReply): void => {
      clearTimeout(timer)
      session.destroy()
      resolve(reply)
    }
    const silent = (message: string): void => end({ kind: 'NoAnswer', message })
    const timer = setTimeout(() => silent(`no answer within ${timeoutMs} ms`), timeoutMs)
    session.on('error', (e: Error) => silent(e.message))
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    let status: unknown
    const pieces: Buffer[] = []
    let bytes = 0
    stream.on('response', (headers) => (status = headers['grpc-status']))
    stream.on('trailers', (headers) => (status = headers['grpc-status']))
    stream.on('error', (e: Error) => silent(e.message))
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > MAX_REPLY_BYTES) silent(`an answer of more than ${MAX_REPLY_BYTES} bytes`)
      else pieces.push(piece)
    })
    stream.on('close', () =>
      status === '0'
        ? end({ kind: 'Body', body: Buffer.concat(pieces) })
        : end({ kind: status === undefined ? 'NoAnswer' : 'Refused', message: `gRPC status ${String(status)}` }),
    )
    stream.end(request)
  })
}
