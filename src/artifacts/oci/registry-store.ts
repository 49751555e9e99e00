// A registry's repository, over the OCI distribution API. Trusts no response without checking its digest.
import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, isKubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { printable } from '#lib/printable.ts'
import { checked } from './checked.ts'
import {
  MAX_MANIFEST_BYTES,
  MEDIA,
  digestOf,
  hexOf,
  isDigest,
  isManifestType,
  readIndex,
  readManifest,
  type Descriptor,
} from './descriptor.ts'
import { stored } from './image-documents.ts'
import type { BlobSource, ImageStore, StoredManifest } from './image-store.ts'
import { ociErrors } from './oci-errors.ts'
import { piecesOf } from './pieces.ts'
import { answerChallenge, type Credentials } from './registry-auth.ts'
import { RegistryHttp, readAnswer, type RegistryAnswer, type RegistryRequest } from './registry-http.ts'
import type { ImageReference } from './reference.ts'

export interface RegistryOptions {
  readonly ca?: string
  readonly credentials?: Credentials
  /** Without TLS. */
  readonly isInsecure?: boolean
  /** For writes too. */
  readonly mayWrite?: boolean
  /** Chunk size of an upload: a lost connection costs at most one chunk. */
  readonly pieceBytes?: number
  /** Between attempts to continue an upload. */
  readonly pauseMs?: number
}

const ACCEPTED = [MEDIA.index, MEDIA.manifest, MEDIA.dockerList, MEDIA.dockerManifest].join(', ')
const PIECE_BYTES = 16 * 1024 * 1024
const MAX_ATTEMPTS = 5
const PAUSE_MS = 1_000
const MAX_ERROR_BYTES = 64 * 1024
/** Names as people know them; the API of Docker's own registry is on another host. */
const API_HOSTS: Readonly<Record<string, string>> = { 'docker.io': 'registry-1.docker.io' }

type Send = Omit<RegistryRequest, 'url'> & { readonly path?: string; readonly url?: URL }

export class RegistryStore implements ImageStore {
  readonly place: string
  readonly #http: RegistryHttp
  readonly #options: RegistryOptions
  readonly #origin: string
  readonly #base: string
  readonly #scope: string
  readonly #host: string
  #authorization: string | undefined

  constructor({ host, repository }: Pick<ImageReference, 'host' | 'repository'>, options: RegistryOptions = {}) {
    const { isInsecure = false, ca } = options
    this.place = `${host}/${repository}`
    this.#options = options
    this.#host = host
    const apiHost = API_HOSTS[host] ?? host
    const origin = new URL(`${isInsecure ? 'http' : 'https'}://${apiHost}`)
    this.#origin = origin.origin
    this.#base = `/v2/${repository}`
    this.#scope = `repository:${repository}:${options.mayWrite === true ? 'pull,push' : 'pull'}`
    this.#http = new RegistryHttp({ insecure: isInsecure ? [origin.host] : [], ...defined({ ca }) })
  }

  async manifest(reference: string): Promise<StoredManifest | undefined> {
    const what = `read ${reference}`
    const answer = await this.#send({
      method: 'GET',
      path: `manifests/${reference}`,
      headers: { accept: ACCEPTED },
      what,
    })
    if (answer.status === 404) return discard(answer)
    await this.#require(answer, [200], what)
    const bytes = await readAnswer(answer, MAX_MANIFEST_BYTES, what)
    const digest = digestOf(bytes)
    if (isDigest(reference) && digest !== reference)
      throw new KubeNodeError(
        ociErrors.KN13010({ what: reference, why: `the registry sent content with digest ${digest}` }),
      )
    const mediaType = answer.headers['content-type']?.split(';')[0]?.trim() ?? MEDIA.manifest
    return { descriptor: { mediaType, digest, size: bytes.length }, bytes }
  }

  async putManifest({ descriptor, bytes }: StoredManifest, tag?: string): Promise<void> {
    const { digest, mediaType } = descriptor
    const what = `write ${tag ?? digest}`
    const headers = { 'content-type': mediaType }
    const path = `manifests/${tag ?? digest}`
    const answer = await this.#send({ method: 'PUT', path, headers, body: bytes, what })
    await this.#require(answer, [201], what)
    answer.body.destroy()
    const reported = answer.headers['docker-content-digest']
    if (reported !== undefined && reported !== digest)
      throw new KubeNodeError(ociErrors.KN13010({ what: digest, why: `the registry stored it as ${String(reported)}` }))
    const subject = isManifestType(mediaType) ? readManifest(digest, bytes).subject : undefined
    // A registry that supports referrers confirms each; others get a list under a tag.
    if (subject !== undefined && answer.headers['oci-subject'] === undefined)
      await this.#listReferrer(subject, descriptor)
  }

  async hasBlob({ digest, size }: Descriptor): Promise<boolean> {
    const what = `look for ${digest}`
    const answer = await this.#send({ method: 'HEAD', path: `blobs/${digest}`, what })
    answer.body.destroy()
    if (answer.status === 404) return false
    await this.#require(answer, [200], what)
    const length = answer.headers['content-length']
    return length === undefined || Number(length) === size
  }

  openBlob(descriptor: Descriptor): BlobSource {
    const { digest } = descriptor
    const what = `read ${digest}`
    const pieces = async function* (this: RegistryStore): AsyncGenerator<Buffer> {
      const answer = await this.#send({ method: 'GET', path: `blobs/${digest}`, what })
      await this.#require(answer, [200], what)
      try {
        for await (const piece of answer.body) yield piece as Buffer
      } catch (e) {
        throw new KubeNodeError(ociErrors.KN13020({ what, host: answer.url.host, why: messageOf(e) }), {
          retry: 'later',
        })
      } finally {
        answer.body.destroy()
      }
    }
    return { descriptor, from: (offset) => skipping(checked(pieces.call(this), descriptor), offset) }
  }

  /** Uploads in chunks; after a lost connection, continues at the registry's offset. */
  async putBlob(source: BlobSource): Promise<void> {
    const { digest, size } = source.descriptor
    const what = `upload ${digest}`
    const begun = await this.#send({ method: 'POST', path: 'blobs/uploads/', what })
    begun.body.destroy()
    await this.#require(begun, [202], what)
    let place = this.#placeOf(begun, what)
    let [offset, attempts, why] = [0, 0, '']
    for (; offset < size;) {
      const before = offset
      try {
        for await (const piece of piecesOf(source.from(offset), this.#options.pieceBytes ?? PIECE_BYTES)) {
          const answer = await this.#sendPiece(place, offset, piece, what)
          place = this.#placeOf(answer, what)
          offset += piece.length
        }
      } catch (e) {
        if (!isKubeNodeError(e) || e.retry !== 'later') throw e
        why = e.message
        attempts = offset > before ? 1 : attempts + 1
        if (attempts > MAX_ATTEMPTS)
          throw new KubeNodeError(ociErrors.KN1449_upload({ digest, host: this.#host, attempts: MAX_ATTEMPTS, why }))
        await wait(this.#options.pauseMs ?? PAUSE_MS)
        const there = await this.#uploaded(place, what)
        place = there.place
        offset = there.offset
      }
    }
    place.searchParams.set('digest', digest)
    const ended = await this.#send({ method: 'PUT', url: place, what })
    ended.body.destroy()
    await this.#require(ended, [201], what)
  }

  async referrers(digest: string): Promise<readonly Descriptor[]> {
    const what = `list what refers to ${digest}`
    const answer = await this.#send({
      method: 'GET',
      path: `referrers/${digest}`,
      headers: { accept: MEDIA.index },
      what,
    })
    const isList = answer.headers['content-type']?.startsWith(MEDIA.index) === true
    if (answer.status === 200 && isList)
      return readIndex(what, await readAnswer(answer, MAX_MANIFEST_BYTES, what)).manifests
    answer.body.destroy()
    const list = await this.manifest(referrersTag(digest))
    return list === undefined ? [] : readIndex(what, list.bytes).manifests
  }

  async #listReferrer(subject: Descriptor, { mediaType, digest, size, artifactType }: Descriptor): Promise<void> {
    const tag = referrersTag(subject.digest)
    const list = await this.manifest(tag)
    const others = list === undefined ? [] : readIndex(tag, list.bytes).manifests.filter((m) => m.digest !== digest)
    const own = { mediaType, digest, size, ...defined({ artifactType }) }
    const index = stored({ schemaVersion: 2, mediaType: MEDIA.index, manifests: [...others, own] })
    await this.putManifest(index, tag)
  }

  async #sendPiece(url: URL, offset: number, body: Buffer, what: string): Promise<RegistryAnswer> {
    const headers = {
      'content-type': 'application/octet-stream',
      'content-range': `${offset}-${offset + body.length - 1}`,
      'content-length': body.length,
    }
    const answer = await this.#send({ method: 'PATCH', url, headers, body, what })
    await this.#require(answer, [202], what)
    answer.body.destroy()
    return answer
  }

  /** The offset where an upload continues. */
  async #uploaded(url: URL, what: string): Promise<{ readonly place: URL; readonly offset: number }> {
    const answer = await this.#send({ method: 'GET', url, what })
    await this.#require(answer, [204, 202], what)
    answer.body.destroy()
    const last = /^(?:bytes=)?0-(\d{1,15})$/.exec(answer.headers['range'] ?? '')?.[1]
    // A registry without data reports 0-0, the same as one with a single byte. That byte is sent again, and the digest verifies the result.
    const offset = last === undefined || last === '0' ? 0 : Number(last) + 1
    return { place: answer.headers.location === undefined ? url : this.#placeOf(answer, what), offset }
  }

  /** The registry chooses the URL; without TLS only if the connection already is. */
  #placeOf(answer: RegistryAnswer, what: string): URL {
    const text = answer.headers.location ?? ''
    const url = text === '' ? null : URL.parse(text, answer.url.href)
    const isWeaker = url?.protocol === 'http:' && answer.url.protocol === 'https:'
    if (url === null || !['http:', 'https:'].includes(url.protocol) || isWeaker) {
      const why = `it sends the upload to ${JSON.stringify(text.slice(0, 200))}`
      throw new KubeNodeError(ociErrors.KN13023({ what, host: this.#host, why }))
    }
    return url
  }

  /** Answers one challenge with the requested credentials. */
  async #send({
    path,
    url = new URL(`${this.#origin}${this.#base}/${path}`),
    headers,
    ...rest
  }: Send): Promise<RegistryAnswer> {
    const isOurs = url.origin === this.#origin
    const withAuth = () =>
      isOurs && this.#authorization !== undefined ? { ...headers, authorization: this.#authorization } : { ...headers }
    const answer = await this.#http.send({ ...rest, url, headers: withAuth() })
    if (answer.status !== 401 || !isOurs || answer.url.origin !== this.#origin) return answer
    answer.body.destroy()
    const { credentials } = this.#options
    const auth = { http: this.#http, scope: this.#scope, ...defined({ credentials }) }
    this.#authorization = await answerChallenge(answer, rest.what, auth)
    const host = this.#host
    if (this.#authorization === undefined) throw new KubeNodeError(ociErrors.KN13022({ what: rest.what, host }))
    return this.#http.send({ ...rest, url, headers: withAuth() })
  }

  async #require(answer: RegistryAnswer, wanted: readonly number[], what: string): Promise<void> {
    const { status } = answer
    if (wanted.includes(status)) return
    if (status === 401) throw new KubeNodeError(ociErrors.KN13022({ what, host: this.#host }))
    const text = await readAnswer(answer, MAX_ERROR_BYTES, what).catch(() => Buffer.alloc(0))
    const error = ociErrors.KN13021({ what, host: this.#host, status, detail: detailIn(text) })
    throw new KubeNodeError(error, { retry: MAY_PASS.includes(status) ? 'later' : 'never' })
  }
}

/** Busy, briefly broken, or at a different upload offset than expected. */
const MAY_PASS: readonly number[] = [408, 416, 429, 500, 502, 503, 504]

const referrersTag = (digest: string): string => `sha256-${hexOf(digest)}`

function discard(answer: RegistryAnswer): undefined {
  answer.body.destroy()
}

const MAX_DETAIL = 300

/** The registry's first message, as text that is safe to show. */
function detailIn(text: Buffer): string {
  try {
    const answer: unknown = JSON.parse(text.toString('utf8'))
    const [first] = isObject(answer) && Array.isArray(answer['errors']) ? (answer['errors'] as unknown[]) : []
    const message = isObject(first) ? first['message'] : undefined
    return typeof message === 'string' && message !== '' ? ` (${printable(message.slice(0, MAX_DETAIL))})` : ''
  } catch {
    return ''
  }
}

async function* skipping(content: AsyncIterable<Buffer>, offset: number): AsyncGenerator<Buffer> {
  let left = offset
  for await (const piece of content) {
    if (piece.length > left) yield piece.subarray(left)
    left = Math.max(0, left - piece.length)
  }
}
