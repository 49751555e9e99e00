// The door of a fake vendor, in a thread of its own: it notes when each request arrived, which a vendor's door does at once, however busy the servers behind it are.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import type { Arrival, ThreadReply } from './arrivals.ts'

const waiting = new Map<number, { readonly request: IncomingMessage; readonly response: ServerResponse }>()
let last = 0

const server = createServer((request, response) => void take(request, response))

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrivedAt = Date.now()
  const id = ++last
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const { method = '', url = '' } = request
  const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]))
  waiting.set(id, { request, response })
  const arrival: Arrival = { kind: 'Arrival', id, request: { method, path: url, headers, body, arrivedAt } }
  parentPort?.postMessage(arrival, [])
}

parentPort?.on('message', ({ id, answer }: ThreadReply) => {
  const found = waiting.get(id)
  waiting.delete(id)
  if (found === undefined) return
  if (answer === 'Lost') found.request.socket.destroy()
  else found.response.writeHead(answer.status, { ...answer.headers }).end(answer.text)
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  parentPort?.postMessage({ kind: 'Listening', port }, [])
})
