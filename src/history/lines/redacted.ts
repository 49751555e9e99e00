// Redacts an export: names of nodes, machines, clusters and people become short keyed hashes. A name has the same hash throughout one export, and another hash in
// each export, because the key is new.
import { createHmac } from 'node:crypto'
import { isObject, setOwn } from '#lib/json.ts'
import type { DeedLine } from '../deeds/chain.ts'
import type { Subject } from '../store/names.ts'
import type { HistoryLine } from './line.ts'

/** Names chosen in git, which describe the object's purpose. */
const KEPT_NAMES: ReadonlySet<string> = new Set([
  'NodeRemedier',
  'DefenderPolicy',
  'MachineComponentSet',
  'ReleasePipeline',
])
/** References to such objects: a replay has to know which rule asked for a repair. */
const KEPT_REFERENCES: ReadonlySet<string> = new Set(['remedierRef'])
/** Fields with the name of a person, host, network location or redacted object. */
const NAMING =
  /^(name|node|machine|machines|target|author|by|approvedBy|plannedBy|endedBy|requester|principal|signer|who|host|hostId|address|providerID|uid|bootID|machineID|systemUUID|url|endpoint|cluster|clusters|incident|permit|permitRef|nextJob|release|previous|token|rack|zone|stage|stages)$/
/** Free text, which may contain any name. */
const SENTENCE = /^(message|output|seen|text|description|evidence|reason|subject|why|what|value|place)$/
/** In messages only. Their names are common words, so that replacing them would spoil sentences. */
const COMMON_NAMES: ReadonlySet<string> = new Set(['FleetSource'])
/** Their names are replaced wherever they appear, such as in the path of a folder. */
const HOSTS: ReadonlySet<string> = new Set(['Node', 'Machine'])
const WORD = /[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?/g
/** The names of people are the only ones with these. */
const OF_PEOPLE = /[ @]/
/** Stages have common names: in a sentence they are replaced behind this word only. */
const AFTER_STAGE = /(?<=\bstage )[\w.-]*\w/g
const STAGE_TOPIC = /^status\/stages\/(.+)$/
/** Addresses, with four parts or in brackets, and hosts of URLs. */
const LOCATION =
  /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w)|(?<=\[)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?=\])|(?<=[a-z]:\/\/)[^\s/:?#"'[\]]+/gi
const MIN_NAME = 2
const NUMBER = /^\d+$/
/** Of a longer name, with the separators between them. */
const MAX_PARTS = 15
/** `Ada <ada@example.org>`. */
const WITH_ADDRESS = /^([^<]+) <([^<>]+)>$/
const LENGTH = 8

export interface Redaction {
  /** Random and never stored. */
  readonly key: Uint8Array
  /** Objects of all clusters that messages may name, also those that are not exported. */
  readonly known?: Iterable<Pick<Subject, 'kind' | 'name'>>
}

/** Reads the lines twice: a message may contain a name of which the object comes later, or in another cluster. */
export function* redactedLines(
  lines: () => Iterable<HistoryLine>,
  { key, known = [] }: Redaction,
): Generator<HistoryLine> {
  const hashed = (text: string): string =>
    text === '' ? '' : `x${createHmac('sha256', key).update(text).digest('hex').slice(0, LENGTH)}`
  const names = new Names(hashed)
  for (const subject of known) names.addSubject(subject)
  for (const line of lines()) names.addLine(line)
  yield* redactedWith(lines(), names, hashed)
}

/** The names that may appear in the middle of a text. */
class Names {
  readonly #hashed: (text: string) => string
  readonly #all = new Set<string>()
  readonly #hosts = new Set<string>()
  readonly #people = new Set<string>()
  readonly #stages = new Set<string>()
  #ofPeople: RegExp | undefined

  constructor(hashed: (text: string) => string) {
    this.#hashed = hashed
  }

  addSubject({ kind, name }: Pick<Subject, 'kind' | 'name'>): void {
    if (KEPT_NAMES.has(kind) || COMMON_NAMES.has(kind)) return
    this.#add(name)
    if (HOSTS.has(kind)) this.#hosts.add(name)
  }

  addLine(line: HistoryLine): void {
    switch (line.line) {
      case 'head':
        this.#add(line.cluster)
        break
      case 'subject':
        this.addSubject(line)
        break
      case 'row':
        if (line.value !== undefined) this.#addIn(JSON.parse(line.value), fieldOf(line.topic), '')
        this.#addStage(STAGE_TOPIC.exec(line.topic)?.[1])
        break
      case 'deed':
        this.#addIn(line.deed, '', '')
        break
      case 'gap':
        break
    }
  }

  /** A field `name` is the name of a redacted object only inside of a field such as `node`. */
  #addIn(value: unknown, field: string, outer: string): void {
    if (typeof value === 'string') {
      if (isStage(field, outer)) this.#addStage(value)
      else if (NAMING.test(field) && (field !== 'name' || NAMING.test(outer) || OF_PEOPLE.test(value))) this.#add(value)
    } else if (Array.isArray(value)) for (const item of value) this.#addIn(item, field, outer)
    else if (isObject(value)) for (const [k, v] of Object.entries(value)) this.#addIn(v, k, field)
  }

  /** Not among the other names: it is often a common word, or that of a cluster. */
  #addStage(name: string | undefined): void {
    if (name !== undefined && name !== '') this.#stages.add(name)
  }

  #add(name: string): void {
    if (name.length < MIN_NAME || NUMBER.test(name)) return
    if (!OF_PEOPLE.test(name)) this.#all.add(name)
    else for (const part of WITH_ADDRESS.exec(name)?.slice(1) ?? [name]) this.#people.add(part)
  }

  /** For a sentence. */
  inSentence(text: string): string {
    return this.#withoutPlaces(text)
      .replaceAll(AFTER_STAGE, (word) => (this.#stages.has(word) ? this.#hashed(word) : word))
      .replaceAll(WORD, (word) => this.#word(word, this.#all))
  }

  /** For any other text: an enumerated value such as a stage may be equal to the name of a cluster. */
  inText(text: string): string {
    return this.#withoutPlaces(text).replaceAll(WORD, (word) => this.#word(word, this.#hosts))
  }

  /** A name may be a part of a longer one, such as that of a Pod or a file. */
  #word(word: string, names: ReadonlySet<string>): string {
    if (names.has(word)) return this.#hashed(word)
    // Every second one is a separator.
    const parts = word.split(/([.-])/)
    let out = ''
    for (let from = 0; from < parts.length; from++) {
      let to = Math.min(parts.length, from + MAX_PARTS)
      while (to > from + 1 && !names.has(parts.slice(from, to).join(''))) to--
      const text = parts.slice(from, to).join('')
      out += names.has(text) ? this.#hashed(text) : text
      from = to - 1
    }
    return out
  }

  #withoutPlaces(text: string): string {
    return this.#withoutPeople(text).replaceAll(LOCATION, (place) => this.#hashed(place))
  }

  #withoutPeople(text: string): string {
    this.#ofPeople ??= new RegExp(
      [...this.#people]
        .toSorted((a, b) => b.length - a.length)
        .map((name) => RegExp.escape(name))
        .join('|'),
      'g',
    )
    return this.#people.size === 0 ? text : text.replaceAll(this.#ofPeople, (name) => this.#hashed(name))
  }
}

function* redactedWith(
  lines: Iterable<HistoryLine>,
  names: Names,
  named: (text: string) => string,
): Generator<HistoryLine> {
  const walk = (value: unknown, field: string, outer = ''): unknown => {
    if (typeof value === 'string' && field === 'name' && KEPT_REFERENCES.has(outer)) return value
    if (typeof value === 'string')
      return isStage(field, outer) || NAMING.test(field)
        ? named(value)
        : SENTENCE.test(field)
          ? names.inSentence(value)
          : names.inText(value)
    if (Array.isArray(value)) return value.map((item) => walk(item, field, outer))
    if (!isObject(value)) return value
    const out = {}
    for (const [k, v] of Object.entries(value)) setOwn(out, names.inText(k), walk(v, k, field))
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
          topic: names.inText(topicOf(line.topic, named)),
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

/** The pipeline names its stages in a list, releases by topic. */
const isStage = (field: string, outer: string): boolean =>
  field === 'stage' || field === 'stages' || (field === 'name' && outer === 'stages')

const fieldOf = (topic: string): string => topic.slice(topic.lastIndexOf('/') + 1)

/** A label or annotation may contain any name in its value, and a hardware class in its key. */
function valueOf(json: string, topic: string, walk: (value: unknown, field: string) => unknown): string {
  const field = fieldOf(topic)
  const isHost = topic.endsWith('kubernetes.io~1hostname') || topic.endsWith('kubenode.io~1stage')
  return JSON.stringify(
    walk(JSON.parse(json), isHost ? 'name' : NAMING.test(field) || SENTENCE.test(field) ? field : 'none'),
  )
}

/** Topics of list items contain names: `status/matching/NODE`, `status/clusters/NAME`. */
const ITEMS_BY_NAME = /^(status\/(?:matching|clusters|stages))\/(.+)$/
const topicOf = (topic: string, named: (text: string) => string): string =>
  topic.replace(ITEMS_BY_NAME, (_, path: string, name: string) => `${path}/${named(name)}`)

const objectOf = (object: string, named: (text: string) => string): string => {
  const at = object.indexOf('/')
  return `${object.slice(0, at)}/${named(object.slice(at + 1))}`
}
