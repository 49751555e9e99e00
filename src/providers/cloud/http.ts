// One HTTP exchange with a cloud: bounded by its signal and in size, and without redirects, because a signature is for one server.

import { defined } from '#lib/defined.ts'
export interface CloudRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface CloudAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Throws unless there is a complete answer. */
export type Transport = (request: CloudRequest, signal: AbortSignal) => Promise<CloudAnswer>

/** A page of a hundred hosts with all fields is a third of a megabyte. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

export const fetchTransport: Transport = async ({ method, url, headers, body }, signal) => {
  const response = await fetch(url, {
    method,
    headers,
    ...defined({ body }),
    redirect: 'error',
    signal,
  })
  const text = await boundedText(response)
  return { status: response.status, headers: Object.fromEntries(response.headers), text }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Canceling the body closes the connection: what is not read is not sent.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
