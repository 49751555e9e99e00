// A server to hold against the recordings, reached over HTTPS as any client would.
import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'

export interface Target {
  readonly url: string
  readonly ca: string
  /** Of a user in system:masters. */
  readonly cert: string
  readonly key: string
  stop(): Promise<void>
}

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Buffer | undefined
  /** Without the client certificate. */
  readonly bare: boolean
}

export class Connection {
  readonly #url: URL
  readonly #admin: Agent
  readonly #bare: Agent

  constructor({ url, ca, cert, key }: Target) {
    this.#url = new URL(url)
    this.#admin = new Agent({ keepAlive: true, ca, cert, key })
    this.#bare = new Agent({ keepAlive: true, ca })
  }

  get host(): string {
    return this.#url.host
  }

  open({ method, path, headers, body, bare }: SentRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#url
      const agent = bare ? this.#bare : this.#admin
      const plain = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, typeof v === 'string' ? v : [...v]]))
      const sent = httpsRequest({ hostname, port, method, path, headers: plain, agent }, resolve)
      sent.on('error', reject)
      sent.end(body)
    })
  }

  close(): void {
    this.#admin.destroy()
    this.#bare.destroy()
  }
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
