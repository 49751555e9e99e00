// JSON for people: curl, wget and browsers, and clients that ask for it, get it indented, as from a kube-apiserver.
import type { IncomingMessage } from 'node:http'
import { formatJson, parseJson } from '../codec/json.ts'
import type { Answer, Streamed } from '../handlers/context.ts'

/** Indenting more would block other requests: 4 MiB take some 50 ms, and no user reads so much. */
const MAX_PRETTY_BYTES = 4 * 1024 * 1024
const INDENT = 2
const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const PEOPLE = /^(?:curl|Wget|Mozilla\/5\.0)/

export function isForPeople({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): boolean {
  if (url.includes('pretty')) {
    const asked = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('pretty') ?? ''
    if (asked !== '') return TRUE.has(asked)
  }
  return PEOPLE.test(headers['user-agent'] ?? '')
}

/** The same answer, indented where it is JSON. */
export function pretty(answer: Answer): Answer {
  const { body, type } = answer
  if (body === undefined || type === undefined || !/^application\/json(?:;|$)/.test(type)) return answer
  const bytes = Buffer.isBuffer(body) ? body : gathered(body)
  if (bytes === undefined || bytes.length > MAX_PRETTY_BYTES) return answer
  return { ...answer, body: Buffer.from(formatJson(parseJson(bytes.toString('utf8')), INDENT), 'utf8') }
}

/** Undefined: too long. */
function gathered({ parts, length = 0 }: Streamed): Buffer | undefined {
  const all: Buffer[] = []
  if (length > MAX_PRETTY_BYTES) return undefined
  let bytes = 0
  for (const part of parts) {
    all.push(part)
    bytes += part.length
    if (bytes > MAX_PRETTY_BYTES) return undefined
  }
  return Buffer.concat(all)
}
