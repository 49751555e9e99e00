// How isomorphic-git calls the server of one task: over TLS, only at the checked addresses, with the Secret's credentials.
import { lookup as systemLookup } from 'node:dns'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { getCACertificates } from 'node:tls'
import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { TooLarge } from '../objects/object-store.ts'
import type { Task } from './task.ts'

/** A server that sends nothing for this long is abandoned, as in git. */
const SILENT_MS = 30_000

export function httpClient(task: Task): HttpClient {
  const { authorities, proxy } = task
  const system = getCACertificates('system')
  const agent = new Agent({
    ca: authorities ?? (system.length > 0 ? system : getCACertificates('default')),
    lookup: lookupOf(task),
    ...(proxy !== undefined && { proxyEnv: { https_proxy: proxy } }),
  })
  return { request: (asked) => answerTo(asked, { task, agent }) }
}

interface Way {
  readonly task: Task
  readonly agent: Agent
}

async function answerTo(
  { url, method = 'GET', headers = {}, body }: GitHttpRequest,
  { task, agent }: Way,
): Promise<GitHttpResponse> {
  const sent = body === undefined ? undefined : Buffer.concat(await Array.fromAsync(body))
  const request = httpsRequest(url, {
    method,
    agent,
    headers: {
      ...headers,
      ...defined({ authorization: task.authorization }),
      ...(sent !== undefined && { 'content-length': sent.length }),
    },
  })
  request.setTimeout(SILENT_MS, () => request.destroy(new Error('the server was silent for half a minute')))
  request.end(sent)
  const failed = (why: string) => new Error(`unable to access '${task.url}': ${why}`)
  const [response] = await once(request, 'response').then(
    (got) => got as [IncomingMessage],
    (error: unknown) => {
      throw failed(causeOf(error))
    },
  )
  const { statusCode = 0, statusMessage = '' } = response
  // Redirects are not followed: the new address was not checked, and would receive the header.
  if (statusCode !== 200) throw failed(`The requested URL returned error: ${statusCode}`)
  const shown = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
  return {
    url,
    method,
    statusCode,
    statusMessage,
    headers: Object.fromEntries(shown),
    body: method === 'GET' ? withHead(bounded(response, task.maxBytes)) : bounded(response, task.maxBytes),
  }
}

/** With several addresses, each has its own error; a proxy error is recognized by its text. */
function causeOf(error: unknown): string {
  const code = isObject(error) && typeof error['code'] === 'string' ? error['code'] : ''
  const why = messageOf(error) || code
  return code.startsWith('ERR_PROXY') ? `CONNECT tunnel failed: ${why}` : why
}

async function* bounded(response: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new TooLarge(bytes, maxBytes)
    yield chunk
  }
}

const LENGTH_DIGITS = 4

/** A server whose HEAD branch was deleted reports no HEAD, and then isomorphic-git fetches nothing. HEAD is not used here, so any branch works. */
async function* withHead(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const all = Buffer.concat(await Array.fromAsync(body))
  // Capabilities follow the first ref.
  const nul = all.indexOf(0)
  let at = 0
  const lengthAt = () => Number.parseInt(all.toString('latin1', at, at + LENGTH_DIGITS), 16)
  while (at < nul && at + lengthAt() <= nul) at += Math.max(LENGTH_DIGITS, lengthAt())
  const length = lengthAt()
  if (nul < 0 || at >= nul || !Number.isSafeInteger(length) || all.includes(' symref=HEAD:')) {
    yield all
    return
  }
  const head = Buffer.from(' symref=HEAD:refs/heads/none')
  yield all.subarray(0, at)
  yield Buffer.from((length + head.length).toString(16).padStart(LENGTH_DIGITS, '0'))
  const end = all[at + length - 1] === NEWLINE ? at + length - 1 : at + length
  yield Buffer.concat([all.subarray(at + LENGTH_DIGITS, end), head, all.subarray(end)])
}

const NEWLINE = 0x0a

/** Names without checked addresses are those that the operator trusts. */
function lookupOf({ pins }: Task): LookupFunction {
  const system: LookupFunction = systemLookup
  const byHost = new Map(pins.map(({ host, addresses }) => [host, addresses]))
  return (host, options, done) => {
    const addresses = byHost.get(host)
    if (addresses === undefined) return system(host, options, done)
    const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    const [first] = all
    if (options.all === true) return done(null, all)
    return done(null, first?.address ?? '', first?.family)
  }
}
