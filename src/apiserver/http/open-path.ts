// One path for anonymous clients, with or without a valid certificate: the program that installs the server supplies the answers. It gives no rights,
// and each address is a client of its own, so that a flood from one lengthens its own queue only.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KeyAndCertificate } from '#lib/x509/certificates.ts'
import { encodeJson } from '../codec/json.ts'
import type { Client, Gate } from '../flow/gate.ts'
import type { FlowLevel } from '../flow/levels.ts'
import type { Answer } from '../handlers/context.ts'
import { JSON_TYPE } from '../handlers/encode.ts'
import { readBody, receiveBody, type BodyPace } from './body.ts'

interface OpenRequest {
  readonly method: string
  readonly body: string
  readonly address: string
}

interface OpenAnswer {
  readonly status: number
  readonly body: unknown
}

export interface OpenPath {
  readonly path: string
  /** Longer bodies are refused before they are read. */
  readonly bodyBytes: number
  answer(request: OpenRequest): Promise<OpenAnswer>
  close(): void
}

/** What the server provides to the handler of the path. */
interface OwnServer {
  /** Known once the server listens. */
  readonly url: () => string
  /** PEM of all authorities that are trusted now. */
  readonly ca: () => string
  /** Issues a client certificate without storing it: its holder has the rights that roles give to the name. */
  readonly identity: (commonName: string) => KeyAndCertificate
}

export type MakeOpenPath = (own: OwnServer) => OpenPath

export const isOpenPath = (open: OpenPath | undefined, { url = '' }: IncomingMessage): open is OpenPath =>
  open !== undefined && (url === open.path || url.startsWith(`${open.path}?`))

/** By address: clients behind one address share its queue. */
export const openClient = ({ socket }: IncomingMessage, { bodyBytes }: OpenPath, level: FlowLevel): Client => ({
  name: `open:${socket.remoteAddress ?? ''}`,
  level: { ...level, bodyBytes, watches: 0 },
  share: 'others',
})

export async function openAnswer(
  open: OpenPath,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  { gate, client, pace }: { readonly gate: Gate; readonly client: Client; readonly pace: BodyPace },
): Promise<Answer> {
  const isGone = () => response.destroyed
  const entered = gate.arrive(client, isGone)
  const leave = typeof entered === 'function' ? entered : await entered
  if (response.closed) leave()
  else response.once('close', leave)
  const method = request.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  if (hasBody) {
    const charge = (bytes: number): void => gate.chargeBytes(client.name, bytes)
    const held = gate.holdBody(client)
    await receiveBody({ request, response }, { held, charge, level: client.level, pace })
  }
  const body = hasBody ? (await readBody(request)).toString('utf8') : ''
  const answer = await open.answer({ method, body, address: request.socket.remoteAddress ?? '' })
  return { code: answer.status, body: encodeJson(answer.body), type: JSON_TYPE }
}
