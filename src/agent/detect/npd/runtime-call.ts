// Sends a container runtime a small request over its own socket, so that no client program must be installed or started every few seconds.
import net from 'node:net'
import { nodeHttp } from '#lib/node-http.ts'

/** Undefined: it answered correctly; otherwise the actual answer. */
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
    // Time limit of a complete answer: a byte now and then is none.
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
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
}

export async function askCri(socketPath: string, timeoutMs: number): Promise<Answer> {
  // 2 MB that only a node with such a check needs.
  const http2 = await import('node:http2')
  return new Promise((resolve) => {
    const session = http2.connect('http://localhost', { createConnection: () => net.connect(socketPath) })
    const end = (answer: Answer): void => {
      clearTimeout(timer)
      session.destroy()
      resolve(answer)
    }
    const timer = setTimeout(() => end(`no answer within ${timeoutMs} ms`), timeoutMs)
    session.on('error', (e: Error) => end(e.message))
    const stream = session.request({
      ':method': 'POST',
      ':path': METHOD,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    let status: unknown
    stream.on('response', (headers) => (status = headers['grpc-status']))
    stream.on('trailers', (headers) => (status = headers['grpc-status']))
    stream.on('error', (e: Error) => end(e.message))
    stream.on('close', () => end(status === '0' ? undefined : `gRPC status ${String(status)}`))
    stream.resume()
    stream.end(noSuchPod())
  })
}
