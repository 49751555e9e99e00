// A registry in memory that speaks the OCI distribution API, and lets a test answer in its place.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sha256Hex } from '#lib/sha256.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** True when it has answered. */
export type Instead = (asked: Asked, response: ServerResponse, registry: FakeRegistry) => boolean

interface Kept {
  readonly type: string
  readonly bytes: Buffer
}

const digestOf = (bytes: Buffer): string => `sha256:${sha256Hex(bytes)}`

export class FakeRegistry {
  readonly blobs = new Map<string, Buffer>()
  readonly manifests = new Map<string, Kept>()
  readonly asked: Asked[] = []
  instead: Instead = () => false
  readonly #uploads = new Map<string, Buffer>()
  readonly #knowsReferrers: boolean
  readonly #server: Server

  private constructor(knowsReferrers: boolean) {
    this.#knowsReferrers = knowsReferrers
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('error', () => undefined)
      request.on('end', () => {
        const { method = '', url = '', headers } = request
        const asked = { method, path: url, headers, body: Buffer.concat(chunks) }
        this.asked.push(asked)
        if (!this.instead(asked, response, this)) this.#answer(asked, response)
      })
    })
  }

  static async start({ knowsReferrers = false } = {}): Promise<FakeRegistry> {
    const registry = new FakeRegistry(knowsReferrers)
    await new Promise<void>((done) => registry.#server.listen(0, '127.0.0.1', done))
    return registry
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  #answer({ method, path, headers, body }: Asked, response: ServerResponse): void {
    const [, kind = '', rest = ''] = /^\/v2\/[a-z/]+?\/(manifests|blobs|referrers)\/(.*)$/.exec(path) ?? []
    const end = (status: number, more: Record<string, string | number> = {}, bytes?: Buffer) => {
      response.writeHead(status, more)
      response.end(method === 'HEAD' ? undefined : bytes)
    }
    const notThere = () => end(404, {}, Buffer.from('{"errors":[{"message":"unknown"}]}'))
    if (kind === 'manifests' && method === 'PUT') {
      const kept = { type: String(headers['content-type']), bytes: body }
      for (const name of [rest, digestOf(body)]) this.manifests.set(name, kept)
      const subject = (JSON.parse(body.toString('utf8')) as { subject?: { digest: string } }).subject?.digest
      const known = this.#knowsReferrers && subject !== undefined ? { 'oci-subject': subject } : {}
      return end(201, { 'docker-content-digest': digestOf(body), ...known })
    }
    if (kind === 'manifests') {
      const kept = this.manifests.get(rest)
      return kept === undefined ? notThere() : end(200, { 'content-type': kept.type }, kept.bytes)
    }
    if (kind === 'referrers') return this.#knowsReferrers ? this.#referrers(rest, end) : notThere()
    const upload = /^uploads\/([^?]*)(?:\?digest=(.*))?$/.exec(rest)
    if (upload !== null) return this.#upload(method, upload[1] ?? '', upload[2], body, end, path)
    const blob = this.blobs.get(rest)
    return blob === undefined ? notThere() : end(200, { 'content-length': blob.length }, blob)
  }

  #referrers(digest: string, end: (status: number, headers: Record<string, string>, bytes: Buffer) => void): void {
    const found = [...new Map([...this.manifests.values()].map((m) => [digestOf(m.bytes), m]))].flatMap(([at, m]) => {
      const { subject, artifactType } = JSON.parse(m.bytes.toString('utf8')) as {
        subject?: { digest: string }
        artifactType?: string
      }
      return subject?.digest === digest ? [{ mediaType: m.type, digest: at, size: m.bytes.length, artifactType }] : []
    })
    const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests: found }
    end(200, { 'content-type': index.mediaType }, Buffer.from(JSON.stringify(index)))
  }

  #upload(
    method: string,
    id: string,
    digest: string | undefined,
    body: Buffer,
    end: (status: number, headers?: Record<string, string>) => void,
    path: string,
  ): void {
    const base = path.slice(0, path.indexOf('uploads/'))
    if (method === 'POST') {
      const made = randomUUID()
      this.#uploads.set(made, Buffer.alloc(0))
      return end(202, { location: `${base}uploads/${made}`, range: '0-0' })
    }
    const there = this.#uploads.get(id)
    if (there === undefined) return end(404)
    const whole = method === 'GET' ? there : Buffer.concat([there, body])
    this.#uploads.set(id, whole)
    const place = { location: `${base}uploads/${id}`, range: `0-${Math.max(0, whole.length - 1)}` }
    if (method !== 'PUT') return end(method === 'GET' ? 204 : 202, place)
    if (digest === undefined || digestOf(whole) !== decodeURIComponent(digest)) return end(400)
    this.blobs.set(digestOf(whole), whole)
    return end(201)
  }
}
