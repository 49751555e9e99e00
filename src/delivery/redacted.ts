// Server messages without the values of a Secret. They are kept in statuses and events, which more people read than Secrets.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

const HIDDEN = '***'
/** Shorter values occur in too many words. In that case the whole message is dropped. */
const MIN_CHARS = 4
const NO_MESSAGE = 'the server refused it; its message may contain a value of the Secret and is not shown'

export function redacted(message: string, object: KubeObject): string {
  if (object.kind !== 'Secret' || object.apiVersion !== 'v1') return message
  const all = [...shownForms(object)].filter((text) => message.includes(text))
  if (all.some((text) => text.length < MIN_CHARS)) return NO_MESSAGE
  return all.toSorted((a, b) => b.length - a.length).reduce((text, value) => text.replaceAll(value, HIDDEN), message)
}

/** As declared, as decoded, and as servers quote them. */
function* shownForms(object: KubeObject): Generator<string> {
  for (const field of ['data', 'stringData']) {
    const values = object[field]
    if (!isObject(values)) continue
    for (const value of Object.values(values)) {
      if (typeof value !== 'string' || value === '') continue
      const decoded = Buffer.from(value, 'base64').toString('utf8')
      for (const text of [value, decoded])
        for (const form of [text, text.trim(), JSON.stringify(text).slice(1, -1)]) if (form !== '') yield form
    }
  }
}
