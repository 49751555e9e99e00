// One call to a gRPC service on a socket of the host, with requests and answers in protobuf by hand: three small messages do not justify a library of megabytes.
import net from 'node:net'

export interface ProtoField {
  readonly number: number
  /** Value of a number. */
  readonly value: number
  /** Content of a text or a message. */
  readonly bytes: Buffer
}

/** More fields than any status of a runtime has. */
const MAX_FIELDS = 256

/** The fields of one protobuf message, as far as they are well-formed. */
export const protoFieldsRead = (message: Buffer): readonly ProtoField[] => read(message, MAX_FIELDS).fields

/** All fields, or undefined: the message is malformed, or has more. */
export function protoFields(message: Buffer, most: number): readonly ProtoField[] | undefined {
  const { fields, isWhole } = read(message, most)
  return isWhole ? fields : undefined
}

/** The text of a field; empty if there is none. */
export const protoText = (message: Buffer, number: number): string =>
  protoFieldsRead(message)
    .find((field) => field.number === number)
    ?.bytes.toString('utf8') ?? ''

function read(message: Buffer, most: number): { readonly fields: readonly ProtoField[]; readonly isWhole: boolean } {
  const found: ProtoField[] = []
  let at = 0
  let isCut = false
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
  while (at < message.length && found.length < most) {
    const tag = varint()
    const [number, type] = [tag >>> 3, tag & 7]
    const value = type === 0 || type === 2 ? varint() : Number.NaN
    const end = at + (type === 2 ? value : 0)
    // The message may end right here, so its length alone does not tell.
    isCut = Number.isNaN(tag) || Number.isNaN(value) || end > message.length
    if (isCut) break
    found.push({ number, value, bytes: message.subarray(at, end) })
    at = end
  }
  return { fields: found, isWhole: !isCut && at === message.length }
}

export function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

export type GrpcReply =
  | { readonly kind: 'Body'; readonly body: Buffer }
  /** gRPC status other than OK: the runtime is there and refuses. */
  | { readonly kind: 'Refused' | 'NoAnswer'; readonly message: string }

/** A runtime's answer takes a few kilobytes, the devices of a node's pods some hundred. */
const MAX_REPLY_BYTES = 2 ** 20

export async function callGrpc(
  socketPath: string,
  path: string,
  request: Buffer,
  timeoutMs: number,
): Promise<GrpcReply> {
  // Imported only on nodes with such a call: it costs 2 MB.
  const http2 = await import('node:http2')
  return new Promise((resolve) => {
    const session = http2.connect('http://localhost', { createConnection: () => net.connect(socketPath) })
    const end = (reply: GrpcReply): void => {
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
