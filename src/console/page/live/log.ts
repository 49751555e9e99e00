// Follows the log of a component: an answer that comes line by line until the log, the page or a person ends it.
import type { LogAsked, LogPart } from '../../logs.ts'
import type { Refusal } from '../../protocol.ts'
import { BASE } from './base.ts'
import { ownHeaders } from './page-secret.ts'

/** Resolves with why it ended. */
export async function followLog(asked: LogAsked, take: (part: LogPart) => void, signal: AbortSignal): Promise<string> {
  const response = await fetch(`${BASE}/api/logs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...ownHeaders() },
    body: JSON.stringify(asked),
    signal,
  })
  if (!response.ok || response.body === null) {
    const { message } = (await response.json().catch(() => ({}))) as Partial<Refusal>
    return message ?? `the server answers ${response.status}`
  }
  let rest = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return 'the connection ended'
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const part = JSON.parse(line) as LogPart
      if ('end' in part) return part.end
      take(part)
    }
  }
}
