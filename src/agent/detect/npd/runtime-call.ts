// Sends a container runtime a small request over its own socket, so that the node needs no client program started every few seconds.
import { nodeHttp } from '#lib/node-http.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import { callGrpc, framed, type ProtoField, protoFieldsRead as fieldsOf } from '../../grpc-call.ts'

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
  const reply = await callGrpc(socketPath, METHOD, noSuchPod(), timeoutMs)
  return reply.kind === 'Body' ? undefined : reply.message
}

export type CriStatus =
  | { readonly kind: 'Ready' }
  /** The runtime answered, and reports that it cannot run pods. */
  | { readonly kind: 'NotReady' | 'NoAnswer'; readonly message: string }

const STATUS = '/runtime.v1.RuntimeService/Status'

/** Whether it can run pods at all. Its network is ready only after another program has configured it. */
export async function askCriStatus(socketPath: string, timeoutMs: number): Promise<CriStatus> {
  const reply = await callGrpc(socketPath, STATUS, framed(Buffer.alloc(0)), timeoutMs)
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
