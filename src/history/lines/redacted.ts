// Redacts an export: names of nodes, machines, clusters and people become short keyed hashes. A name has the same hash throughout one export, and another hash in
// each export, because the key is new.
import { createHmac } from 'node:crypto'
import { isObject, setOwn } from '#lib/json.ts'
import type { DeedLine } from '../deeds/chain.ts'
import type { HistoryLine } from './line.ts'

/** Names chosen in git, which describe the object's purpose. */
const KEPT_NAMES: ReadonlySet<string> = new Set([
  'NodeRemedier',
  'DefenderPolicy',
  'MachineComponentSet',
  'ReleasePipeline',
])
/** Fields with the name of a person, host, network location or redacted object. */
const NAMING =
  /^(name|node|machine|machines|target|author|by|approvedBy|plannedBy|endedBy|requester|principal|signer|who|host|hostId|address|providerID|uid|bootID|machineID|systemUUID|url|endpoint|cluster|clusters|incident|permit|permitRef|nextJob|release|previous|token|rack|zone)$/
/** Free text, which may contain any name. */
const SENTENCE = /^(message|output|seen|text|description|evidence|reason|subject|why|what|value|place)$/
const WORD = /[A-Za-z0-9][\w.@:/-]{2,}/g
const LENGTH = 8

export interface Redaction {
  /** Random and never stored. */
  readonly key: Uint8Array
}

export function* redactedLines(lines: Iterable<HistoryLine>, { key }: Redaction): Generator<HistoryLine> {
  const names = new Set<string>()
  const hashed = (text: string): string =>
    text === '' ? '' : `x${createHmac('sha256', key).update(text).digest('hex').slice(0, LENGTH)}`
  const named = (text: string): string => {
    names.add(text)
    return hashed(text)
  }
  /** Replaces the known names in a sentence. */
  const sentence = (text: string): string => text.replaceAll(WORD, (word) => (names.has(word) ? hashed(word) : word))
  const walk = (value: unknown, field: string): unknown => {
    if (typeof value === 'string')
      return NAMING.test(field) ? named(value) : SENTENCE.test(field) ? sentence(value) : value
    if (Array.isArray(value)) return value.map((item) => walk(item, field))
    if (!isObject(value)) return value
    const out = {}
    for (const [k, v] of Object.entries(value)) setOwn(out, k, walk(v, k))
    return out
  }
  for (const line of lines) {
    switch (line.line) {
      case 'head':
        yield { ...line, cluster: named(line.cluster), isRedacted: true }
        break
      case 'subject':
        yield {
          ...line,
          name: KEPT_NAMES.has(line.kind) ? line.name : named(line.name),
          uid: named(line.uid),
          namespace: line.namespace,
        }
        break
      case 'row':
        yield {
          ...line,
          topic: topicOf(line.topic, named),
          ...(line.value !== undefined && { value: valueOf(line.value, line.topic, walk) }),
        }
        break
      case 'deed':
        // The digests of the original no longer match.
        yield {
          line: 'deed',
          deed: {
            ...(walk(line.deed, '') as DeedLine),
            object: objectOf(line.deed.object, named),
            prev: '',
            digest: '',
          },
        }
        break
      case 'gap':
        yield line
        break
    }
  }
}

/** A label or annotation may contain any name in its value, and a hardware class in its key. */
function valueOf(json: string, topic: string, walk: (value: unknown, field: string) => unknown): string {
  const field = topic.slice(topic.lastIndexOf('/') + 1)
  const isHost = topic.endsWith('kubernetes.io~1hostname')
  return JSON.stringify(
    walk(JSON.parse(json), isHost ? 'name' : NAMING.test(field) || SENTENCE.test(field) ? field : 'none'),
  )
}

/** Topics of list items contain names: `status/matching/NODE`, `status/clusters/NAME`. */
const ITEMS_BY_NAME = /^(status\/(?:matching|clusters))\/(.+)$/
const topicOf = (topic: string, named: (text: string) => string): string =>
  topic.replace(ITEMS_BY_NAME, (_, path: string, name: string) => `${path}/${named(name)}`)

const objectOf = (object: string, named: (text: string) => string): string => {
  const at = object.indexOf('/')
  return `${object.slice(0, at)}/${named(object.slice(at + 1))}`
}
