// Image references as people write them: HOST/NAME:TAG, HOST/NAME@sha256:DIGEST, or both.
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isDigest } from './descriptor.ts'
import { ociErrors } from './oci-errors.ts'

export interface ImageReference {
  /** Including the port. */
  readonly host: string
  readonly repository: string
  readonly tag?: string
  readonly digest?: string
}

const MAX_CHARS = 512
const HOST = /^(localhost|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i
const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const TAG = /^\w[\w.-]{0,127}$/

/** Refuses names without a host, because tools differ in their default registry. */
export function parseReference(text: string): ImageReference {
  const bad = (why: string) => new KubeNodeError(ociErrors.KN13011({ reference: JSON.stringify(text), why }))
  if (text.length > MAX_CHARS) throw bad(`it is longer than ${MAX_CHARS} characters`)
  const [named = '', digest, ...more] = text.split('@')
  if (more.length > 0 || (digest !== undefined && !isDigest(digest)))
    throw bad('the digest is not sha256 and 64 hexadecimal digits')
  const [host = '', ...path] = named.split('/')
  const isHost = HOST.test(host) && (/[.:]/.test(host) || host === 'localhost')
  if (!isHost || path.length === 0) throw bad('it names no registry host')
  const [last = '', tag, ...tags] = (path.pop() ?? '').split(':')
  const parts = [...path, last]
  if (!parts.every((part) => PART.test(part))) throw bad('the name has other than lower-case letters, digits, . _ -')
  if (tags.length > 0 || (tag !== undefined && !TAG.test(tag))) throw bad('the tag is not letters, digits, . _ -')
  return {
    host,
    repository: parts.join('/'),
    ...defined({ tag, digest }),
  }
}

const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host)
