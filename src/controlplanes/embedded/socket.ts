// The control plane host over a private socket: the API servers' process listens, and the cluster role calls. A user who can open the socket can do everything,
// so it has mode 0600 in a folder of its owner.
import { chmodSync, rmSync } from 'node:fs'
import type { IncomingMessage, Server } from 'node:http'
import type { ControlPlaneHost, HostCapabilities } from '../port.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { doubtOfSocket } from '#lib/own-socket.ts'
import { embeddedErrors } from './embedded-errors.ts'

/** A request names one control plane; a response lists all, each with ten snapshots. */
const MOST_BYTES = 4 * 1024 * 1024
/** Starting a large one, a snapshot or a restore takes seconds. */
const ANSWER_WITHIN_MS = 120_000

const CALLS = ['put', 'get', 'list', 'kubeconfig', 'stop', 'snapshot', 'drop', 'restore', 'delete'] as const
type Call = (typeof CALLS)[number]
type Answer<K extends Call> = Awaited<ReturnType<ControlPlaneHost[K]>>

export async function serveHost(host: ControlPlaneHost, socket: string): Promise<{ close(): Promise<void> }> {
  // Left by a killed process: the lock of the folder admits only one listener.
  rmSync(socket, { force: true })
  const server = nodeHttp.createServer((asked, answer) => {
    answered(host, asked).then(
      (value) => answer.end(JSON.stringify({ value: value ?? null })),
      (error: unknown) => {
        answer.statusCode = 500
        answer.end(JSON.stringify({ error: messageOf(error) }))
      },
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  chmodSync(socket, 0o600)
  return { close: () => closed(server, socket) }
}

async function closed(server: Server, socket: string): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await ended
  rmSync(socket, { force: true })
}

async function answered(host: ControlPlaneHost, asked: IncomingMessage): Promise<unknown> {
  const call = CALLS.find((c) => asked.url === `/${c}`)
  if (call === undefined || asked.method !== 'POST') throw new Error('there is no such call')
  const args: unknown = JSON.parse(await bodyText(asked))
  if (!Array.isArray(args)) throw new Error('the arguments of a call are a list')
  const method = host[call] as (...all: readonly unknown[]) => Promise<unknown>
  return method.apply(host, args)
}

async function bodyText(stream: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of stream as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The client side of a host in another process. */
export class SocketHost implements ControlPlaneHost {
  readonly name: string
  readonly capabilities: HostCapabilities
  readonly #socket: string

  constructor(socket: string, { name, capabilities }: Pick<ControlPlaneHost, 'name' | 'capabilities'>) {
    this.#socket = socket
    this.name = name
    this.capabilities = capabilities
  }

  put = (...args: Parameters<ControlPlaneHost['put']>) => this.#ask('put', args)
  get = (...args: Parameters<ControlPlaneHost['get']>) => this.#ask('get', args)
  list = (...args: Parameters<ControlPlaneHost['list']>) => this.#ask('list', args)
  kubeconfig = (...args: Parameters<ControlPlaneHost['kubeconfig']>) => this.#ask('kubeconfig', args)
  stop = (...args: Parameters<ControlPlaneHost['stop']>) => this.#ask('stop', args)
  snapshot = (...args: Parameters<ControlPlaneHost['snapshot']>) => this.#ask('snapshot', args)
  drop = (...args: Parameters<ControlPlaneHost['drop']>) => this.#ask('drop', args)
  restore = (...args: Parameters<ControlPlaneHost['restore']>) => this.#ask('restore', args)
  delete = (...args: Parameters<ControlPlaneHost['delete']>) => this.#ask('delete', args)

  async #ask<K extends Call>(call: K, args: Parameters<ControlPlaneHost[K]>): Promise<Answer<K>> {
    const limits = [...args].filter((a): a is AbortSignal => a instanceof AbortSignal)
    const sent = [...args].filter((a) => !(a instanceof AbortSignal))
    const signal = AbortSignal.any([...limits, AbortSignal.timeout(ANSWER_WITHIN_MS)])
    try {
      const doubt = doubtOfSocket(this.#socket)
      if (doubt !== undefined) throw new Error(doubt)
      const text = await posted(this.#socket, `/${call}`, JSON.stringify(sent), signal)
      const answer: unknown = JSON.parse(text)
      if (!isObject(answer) || !('value' in answer)) throw new Error(isObject(answer) ? String(answer['error']) : text)
      return (answer['value'] ?? undefined) as Answer<K>
    } catch (cause) {
      const why = messageOf(cause)
      throw new KubeNodeError(embeddedErrors.KN1093({ socket: this.#socket, why }), { retry: 'later', cause })
    }
  }
}

/** A new connection each time: a kept one may lead to a process that has since restarted. */
const posted = (socketPath: string, path: string, body: string, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = nodeHttp.request({ socketPath, path, method: 'POST', agent: false, signal }, (answer) => {
      bodyText(answer).then(resolve, reject)
    })
    sent.once('error', reject)
    sent.end(body)
  })
