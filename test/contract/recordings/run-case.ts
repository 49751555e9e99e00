// Plays one recorded case against a server and writes down what came back, in the form of the recordings.
import type { IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { caseId, type RecordedCase, type Recording, type Step } from './case.ts'
import { CaseNames, valueAt, withoutAges } from './normalise.ts'
import { type Connection, textOf } from './target.ts'

const POLL_MS = 40
const UNTIL_MS = 15_000
const WATCH_MS = 6_000
/** After the last event wanted: one more would be wrong. */
const SETTLE_MS = 150
const LABEL_LENGTH = 240
/** Answers to questions are no objects that stay. */
const NOT_STORED = /Review$|^Eviction$|^Binding$|^TokenRequest$|^Status$/

type Fields = Readonly<Record<string, unknown>>
const isMap = (v: unknown): v is Fields => typeof v === 'object' && v !== null && !Array.isArray(v)

export async function playCase(
  connection: Connection,
  recorded: RecordedCase,
  run: string,
): Promise<readonly Recording[]> {
  const player = new Player(connection, new CaseNames(caseId(recorded), run, connection.host))
  try {
    return await player.play(recorded)
  } finally {
    await player.cleanUp()
  }
}

class Player {
  readonly #connection: Connection
  readonly #names: CaseNames
  readonly #made: string[] = []

  constructor(connection: Connection, names: CaseNames) {
    this.#connection = connection
    this.#names = names
  }

  async play({ steps }: RecordedCase): Promise<readonly Recording[]> {
    const log: Recording[] = []
    if (JSON.stringify(steps).includes('{{ns}}')) {
      const b = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: '{{ns}}' } }
      await this.#step({ m: 'POST', p: '/api/v1/namespaces', b, hide: true }, log)
    }
    this.#names.forgetSent()
    for (const step of steps) await this.#step(step, log)
    return this.#names.ranked(log)
  }

  async #step(step: Step, log: Recording[]): Promise<void> {
    if (step.sleep !== undefined) await pause(step.sleep)
    else if (step.watch !== undefined) await this.#watch(step, step.watch, log)
    else await this.#request(step, log)
  }

  #send(step: Step, method: string, path: string): Promise<IncomingMessage> {
    const headers: Record<string, string | readonly string[]> = {
      'user-agent': 'apidiff/1.0',
      accept: 'application/json',
    }
    const body = this.#body(step)
    if (body !== undefined) {
      headers['content-type'] = 'application/json'
      headers['content-length'] = String(body.length)
      this.#names.noteSent(body.toString())
    }
    if (step.as !== undefined) headers['impersonate-user'] = this.#names.fill(step.as)
    if (step.groups !== undefined) headers['impersonate-group'] = this.#names.fill(step.groups)
    if (step.token !== undefined) headers['authorization'] = `Bearer ${this.#names.fill(step.token)}`
    for (const [name, value] of Object.entries(step.h ?? {}))
      if (value === null) delete headers[name]
      else headers[name] = this.#names.fill(value)
    const bare = step.anon === true || step.token !== undefined
    return this.#connection.open({ method, path: this.#names.fill(path), headers, body, bare })
  }

  #body({ raw, b }: Step): Buffer | undefined {
    if (raw !== undefined) return Buffer.from(this.#names.fill(raw))
    return b === undefined ? undefined : Buffer.from(JSON.stringify(this.#names.fill(b)))
  }

  async #request(step: Step, log: Recording[]): Promise<void> {
    const { m: method = 'GET', p: path = '' } = step
    const deadline = performance.now() + UNTIL_MS
    for (;;) {
      const response = await this.#send(step, method, path)
      const text = await textOf(response)
      const body = parsed(text)
      this.#remember(step, response, body)
      if (step.until !== undefined && response.statusCode !== step.until && performance.now() < deadline) {
        await pause(POLL_MS)
        continue
      }
      for (const [name, at] of Object.entries(step.save ?? {})) this.#save(name, valueAt(body, at), body)
      this.#names.noteMadeNames(body)
      if (step.hide !== true) log.push(this.#record(step, { label: `${method} ${path}`, response, text, body }))
      return
    }
  }

  #save(name: string, value: unknown, body: unknown): void {
    if (typeof value !== 'string') return
    this.#names.set(name, value)
    if (name.startsWith('rv') && /^\d+$/.test(value) && valueAt(body, 'metadata.uid') !== undefined)
      this.#names.noteVersion(value)
  }

  /** Objects that are there now go at the end. */
  #remember({ m, p = '' }: Step, response: IncomingMessage, body: unknown): void {
    const name = valueAt(body, 'metadata.name')
    const kind = isMap(body) ? String(body['kind']) : ''
    if (response.statusCode !== 201 || typeof name !== 'string' || p.includes('dryRun=All') || NOT_STORED.test(kind))
      return
    const path = this.#names.fill(p).split('?')[0] ?? ''
    this.#made.push(m === 'POST' ? `${path.replace(/\/$/, '')}/${encodeURIComponent(name)}` : path)
  }

  #record(step: Step, { label, response, text, body }: Answer): Recording {
    const record: Record<string, unknown> = { ...head(label, response) }
    const warnings = warningsOf(response).map((w) => this.#names.text(w))
    if (warnings.length > 0) record['warnings'] = warnings.toSorted()
    const managedFields = step.mf === true
    const failed = isMap(body) && body['kind'] === 'Status' && body['status'] !== 'Success'
    if (step.only !== undefined && !failed)
      record['only'] = Object.fromEntries(step.only.map((p) => [p, this.#part(body, p, managedFields)]))
    else if (typeof body === 'object') record['body'] = this.#names.value(withoutAges(body), { managedFields })
    else record['text'] = this.#names.text(text)
    return record
  }

  #part(body: unknown, path: string, managedFields: boolean): unknown {
    const value = valueAt(body, path)
    const key = path.split('.').at(-1) ?? ''
    return value === undefined ? '<absent>' : this.#names.value(value, { key, managedFields })
  }

  async #watch(step: Step, path: string, log: Recording[]): Promise<void> {
    const response = await this.#send(step, 'GET', path)
    const stream = new EventStream(response)
    const during: Recording[] = []
    for (const s of step.during ?? []) await this.#step(s, during)
    const isSeen = (e: Fields) => e['type'] !== 'BOOKMARK' || (step.bookmarks === true && isInitialEnd(e))
    const seen = () => stream.events.filter(isSeen)
    const wanted = step.n ?? Infinity
    const deadline = performance.now() + (step.ms ?? WATCH_MS)
    while (!stream.ended && performance.now() < deadline && (seen().length < wanted || step.end === true))
      await stream.next(POLL_MS)
    if (!stream.ended) await stream.next(SETTLE_MS)
    const { ended } = stream
    response.destroy()
    const record: Record<string, unknown> = { ...head(`WATCH ${path}`, response) }
    const warnings = warningsOf(response)
    if (warnings.length > 0) record['warnings'] = warnings.map((w) => this.#names.text(w))
    for (const e of seen()) this.#names.noteMadeNames(e)
    if (response.statusCode === 200) record['events'] = seen().map((e) => this.#event(step, e))
    else record['body'] = this.#names.value(parsed(stream.text))
    if (step.end === true) record['endedByServer'] = ended
    log.push(record, ...during)
  }

  #event(step: Step, e: Fields): unknown {
    const managedFields = step.mf === true
    if (step.short !== undefined && e['type'] !== 'ERROR')
      return {
        type: e['type'],
        ...Object.fromEntries(step.short.map((p) => [p, this.#part(e['object'], p, managedFields)])),
      }
    if (e['type'] !== 'BOOKMARK')
      return this.#names.value({ ...e, object: withoutAges(e['object']) }, { managedFields })
    return this.#names.value({
      type: e['type'],
      kind: valueAt(e, 'object.kind'),
      apiVersion: valueAt(e, 'object.apiVersion'),
      annotations: valueAt(e, 'object.metadata.annotations') ?? null,
      hasRv: /^\d+$/.test(String(valueAt(e, 'object.metadata.resourceVersion'))),
    })
  }

  /** Newest first; finalizers are taken off what holds on to them. */
  async cleanUp(): Promise<void> {
    const quietly = async (m: string, p: string, b?: unknown, type = 'application/json') => {
      const response = await this.#send(b === undefined ? {} : { b, h: { 'content-type': type } }, m, p)
      return parsed(await textOf(response))
    }
    for (const path of this.#made.toReversed()) {
      const now = path.includes('/pods/') || path.includes('/namespaces/') ? '?gracePeriodSeconds=0' : ''
      const left = await quietly('DELETE', `${path}${now}`)
      const isHeld =
        valueAt(left, 'metadata.finalizers.0') !== undefined &&
        isMap(left) &&
        left['kind'] !== 'CustomResourceDefinition'
      if (isHeld) await quietly('PATCH', path, { metadata: { finalizers: null } }, 'application/merge-patch+json')
      const namespace = /^\/api\/v1\/namespaces\/([^/]+)$/.exec(path)?.[1]
      if (namespace !== undefined)
        await quietly('PUT', `${path}/finalize`, {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: namespace },
          spec: { finalizers: [] },
        })
    }
  }
}

interface Answer {
  readonly label: string
  readonly response: IncomingMessage
  readonly text: string
  readonly body: unknown
}

const head = (label: string, response: IncomingMessage) => ({
  req: label.slice(0, LABEL_LENGTH),
  status: response.statusCode,
  type: (response.headers['content-type'] ?? '').replace(/\s/g, ''),
})

const isInitialEnd = (e: Fields): boolean =>
  isMap(valueAt(e, 'object.metadata.annotations')) &&
  (valueAt(e, 'object.metadata.annotations') as Fields)['k8s.io/initial-events-end'] !== undefined

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  } catch (e) {
    // not every answer is JSON: that is on record too
    if (e instanceof SyntaxError) return undefined
    throw e
  }
}

function warningsOf({ rawHeaders }: IncomingMessage): readonly string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'warning')
}

/** The lines of a watch as they come. */
class EventStream {
  readonly events: Fields[] = []
  text = ''
  ended = false
  #rest = ''
  #wake: () => void = () => undefined

  constructor(response: IncomingMessage) {
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => this.#take(chunk))
    const end = () => {
      this.ended = true
      this.#wake()
    }
    response.on('end', end)
    response.on('error', end)
  }

  #take(chunk: string): void {
    this.text += chunk
    const lines = (this.#rest + chunk).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') this.events.push(JSON.parse(line) as Fields)
    this.#wake()
  }

  /** Resolves with the next piece, or after a while. */
  async next(ms: number): Promise<void> {
    await Promise.race([new Promise<void>((resolve) => (this.#wake = resolve)), pause(ms)])
  }
}
