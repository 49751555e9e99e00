// An HTTPS endpoint for admission webhooks that answers each path in a way of its own, well or badly, and remembers what it was asked.
import { createServer } from 'node:https'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { newAuthority } from './tls.ts'

interface Asked {
  readonly path: string
  readonly query: string
  readonly request: Readonly<Record<string, unknown>> & { readonly uid: string; readonly name?: string }
}

type Reply = (asked: Asked, response: ServerResponse) => unknown

export interface WebhookEndpoint {
  readonly url: string
  /** Base64 of the authority, as a configuration wants it. */
  readonly caBundle: string
  readonly otherBundle: string
  readonly asked: Asked[]
  readonly connections: () => number
  /** What a path answers: an AdmissionReview's response without its uid, or whatever the function writes itself. */
  on(path: string, reply: Reply): void
  /** Ends idle connections without a word, as a restart does. */
  drop(): void
  stop(): Promise<void>
}

export const jsonPatch = (...operations: readonly object[]) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
})

export async function startWebhookEndpoint(): Promise<WebhookEndpoint> {
  const authority = await newAuthority('webhook-ca')
  const other = await newAuthority('other-ca')
  const replies = new Map<string, Reply>()
  const asked: Asked[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer({ ...(await authority.server()), keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('error', () => undefined)
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [path = '', query = ''] = (request.url ?? '').split('?')
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { request: Asked['request'] }
      const one = { path, query, request: review.request }
      asked.push(one)
      const answer = replies.get(path)?.(one, response)
      if (answer === undefined) return
      response.setHeader('content-type', 'application/json')
      const filled = { uid: one.request.uid, ...(answer as object) }
      response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: filled }))
    })
  })
  server.on('secureConnection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caBundle: base64(authority.cert),
    otherBundle: base64(other.cert),
    asked,
    connections: () => connections,
    on: (path, reply) => void replies.set(path, reply),
    drop: () => {
      for (const s of sockets) s.destroy()
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
