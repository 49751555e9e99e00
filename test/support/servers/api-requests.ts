// A plain HTTPS client of an API server for tests: what is sent and what is answered, nothing retried, nothing interpreted.
import { Agent, request, type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { KubeObject } from '#api/schema/object.ts'
import type { RunningServer } from './api-servers.ts'
import { fresh } from '#test/support/tools/kubectl.ts'
import { defined } from '#lib/defined.ts'

export interface SendOptions {
  readonly as?: string
  readonly groups?: readonly string[]
  readonly token?: string
  /** Content type of the body. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A body that is sent as it is, in place of JSON. */
  readonly text?: string
}

/** Loosely typed on purpose: each test names the fields that it reads. */
export interface Body extends KubeObject {
  readonly items?: readonly KubeObject[]
  readonly reason?: string
  readonly message?: string
  readonly code?: number
}

export interface Reply {
  readonly code: number
  readonly body: Body
  readonly warnings: readonly string[]
}

export interface RawReply {
  readonly code: number
  readonly headers: IncomingMessage['headers']
  readonly bytes: Buffer
}

export interface WatchLine {
  readonly type: string
  readonly object: KubeObject & { readonly code?: number; readonly reason?: string; readonly message?: string }
}

export interface OpenWatch {
  readonly lines: readonly WatchLine[]
  /** Resolves when the lines so far are enough. */
  until(isEnough: (lines: readonly WatchLine[]) => boolean): Promise<readonly WatchLine[]>
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>
  close(): void
}

const WITHIN_MS = 120_000
const PATCH_TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

export class Requests {
  readonly #url: URL
  readonly #admin: Agent
  readonly #bare: Agent
  readonly #lacksAccounts: boolean

  constructor({
    url,
    ca,
    cert,
    key,
    lacksAccounts = false,
  }: Pick<RunningServer, 'url' | 'ca' | 'cert' | 'key' | 'lacksAccounts'>) {
    this.#lacksAccounts = lacksAccounts
    this.#url = new URL(url)
    this.#admin = new Agent({ keepAlive: true, ca, cert, key })
    this.#bare = new Agent({ keepAlive: true, ca })
  }

  #options(method: string, path: string, { as, groups = [], token, type, headers = {} }: SendOptions): RequestOptions {
    return {
      hostname: this.#url.hostname,
      port: this.#url.port,
      method,
      path,
      agent: token === undefined ? this.#admin : this.#bare,
      headers: {
        ...(type === undefined || type === '' ? {} : { 'content-type': type }),
        ...defined({ 'impersonate-user': as }),
        ...(groups.length === 0 ? {} : { 'impersonate-group': [...groups] }),
        ...(token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
    }
  }

  async send(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Reply> {
    const type = body === undefined ? {} : { type: 'application/json' }
    const text = options.text ?? (body === undefined ? undefined : JSON.stringify(body))
    const bytes = text === undefined ? undefined : Buffer.from(text)
    // Node gives the body of a DELETE no length by itself
    const length: Record<string, string> = bytes === undefined ? {} : { 'content-length': String(bytes.length) }
    const headers = { ...length, ...options.headers }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(this.#options(method, path, { ...type, ...options, headers }), resolve)
      sent.on('error', reject)
      sent.end(bytes)
    })
    const parts: Buffer[] = []
    for await (const part of response) parts.push(part as Buffer)
    const answer = Buffer.concat(parts).toString('utf8')
    const warning = response.headers['warning'] ?? ''
    return {
      code: response.statusCode ?? 0,
      body: (answer.startsWith('{')
        ? JSON.parse(answer)
        : { kind: '', apiVersion: '', metadata: {}, message: answer }) as Body,
      warnings: [...warning.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((m) => (m[1] ?? '').replaceAll('\\"', '"')),
    }
  }

  get = (path: string, options?: SendOptions): Promise<Reply> => this.send('GET', path, undefined, options)
  post = (path: string, body: unknown, options?: SendOptions): Promise<Reply> => this.send('POST', path, body, options)
  put = (path: string, body: unknown, options?: SendOptions): Promise<Reply> => this.send('PUT', path, body, options)
  delete = (path: string, body?: unknown, options?: SendOptions): Promise<Reply> =>
    this.send('DELETE', path, body, options)
  patch = (kind: keyof typeof PATCH_TYPES, path: string, body: unknown, options: SendOptions = {}): Promise<Reply> =>
    this.send('PATCH', path, body, { type: PATCH_TYPES[kind], ...options })

  /** The answer with its headers, its bytes as they came over the wire. */
  async raw(path: string, options: SendOptions = {}): Promise<RawReply> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(this.#options('GET', path, options), resolve)
        .on('error', reject)
        .end()
    })
    const parts: Buffer[] = []
    for await (const part of response) parts.push(part as Buffer)
    return { code: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(parts) }
  }

  /** The answer as it came. */
  text = async (path: string, options?: SendOptions): Promise<string> =>
    (await this.raw(path, options)).bytes.toString('utf8')

  /** Of a write that must go well. */
  /** A namespace of its own, by name. */
  async namespace(prefix: string, labels: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = fresh(prefix)
    await this.made('/api/v1/namespaces', { metadata: { name, labels } })
    if (this.#lacksAccounts)
      await this.made(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } })
    return name
  }

  async made(path: string, body: unknown, options?: SendOptions): Promise<KubeObject> {
    const { code, body: answer } = await this.post(path, body, options)
    if (code !== 201) throw new Error(`POST ${path} was answered ${code}: ${answer.message ?? ''}`)
    return answer
  }

  watch(path: string, options: SendOptions = {}): Promise<OpenWatch> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#options('GET', path, options), (response) => {
        if (response.statusCode !== 200) {
          response.resume()
          return reject(new Error(`the watch ${path} was answered ${response.statusCode}`))
        }
        resolve(openWatch(response, () => void sent.destroy()))
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  close(): void {
    this.#admin.destroy()
    this.#bare.destroy()
  }
}

function openWatch(response: IncomingMessage, close: () => void): OpenWatch {
  const lines: WatchLine[] = []
  const looks = new Set<() => void>()
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (part: string) => {
    const pieces = (rest + part).split('\n')
    rest = pieces.pop() ?? ''
    lines.push(...pieces.filter((p) => p !== '').map((p) => JSON.parse(p) as WatchLine))
    for (const look of looks) look()
  })
  const ended = new Promise<void>((resolve) => response.once('close', () => resolve()))
  // a broken connection ends the watch; `until` reports that to its caller
  response.on('error', () => undefined)
  return {
    lines,
    ended,
    close,
    until: (isEnough) =>
      new Promise((resolve, reject) => {
        const finish = (act: () => void) => {
          clearTimeout(late)
          looks.delete(look)
          act()
        }
        const seen = () => lines.map((l) => `${l.type} ${l.object.metadata?.name ?? l.object.message ?? ''}`).join(', ')
        const late = setTimeout(() => finish(() => reject(new Error(`the watch only saw: ${seen()}`))), WITHIN_MS)
        const look = () => {
          if (isEnough(lines)) finish(() => resolve(lines))
        }
        looks.add(look)
        look()
      }),
  }
}
