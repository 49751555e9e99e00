// Changes of a component's record. Each is written down before the agent goes on; what may follow what is the protocol's table.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { nextComponentState, type SwitchEvent, type SwitchFacts } from '#api/protocol/switch.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { recordFile, type NodeDir } from '../node-dir.ts'
import { parseRecord, type ComponentRecord } from './record.ts'

/** `undefined` takes a field away. */
export type RecordChange = { readonly [K in keyof ComponentRecord]?: ComponentRecord[K] | undefined }

/** Messages go into a status field of this length. */
const MAX_MESSAGE = 200

export interface JournalDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Pick<Clock, 'now'>
}

export class Journal {
  readonly #deps: JournalDeps
  readonly #component: string
  #record: ComponentRecord | undefined
  /** Staging runs beside the loop of its component; their changes must not overtake each other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(deps: JournalDeps, component: string) {
    this.#deps = deps
    this.#component = component
  }

  get record(): ComponentRecord | undefined {
    return this.#record
  }

  async load(): Promise<void> {
    const { files, dir } = this.#deps
    const path = recordFile(dir, this.#component)
    const found = await readState(files, path, parseRecord)
    this.#record = found?.component === this.#component ? found : undefined
  }

  /** Goes to the state that the table names; throws when the table has no such step, which is a bug of the plan. */
  step(event: SwitchEvent, facts: SwitchFacts, change: RecordChange): Promise<ComponentRecord> {
    return this.#inTurn(() => this.#step(event, facts, change))
  }

  write(change: RecordChange): Promise<ComponentRecord> {
    return this.#inTurn(() => this.#write(change))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work, work)
    this.#last = mine.catch(() => undefined)
    return mine
  }

  #step(event: SwitchEvent, facts: SwitchFacts, change: RecordChange): Promise<ComponentRecord> {
    const from = this.#record?.state ?? 'Fetching'
    const step = nextComponentState(from, event, facts)
    if (!step.ok)
      throw new KubeNodeError(
        'KN8040',
        `cannot ${event} ${this.#component} in state ${from}: ${JSON.stringify(step.refusal)}; this is a bug`,
      )
    return this.#write({ ...change, state: step.state })
  }

  async #write(change: RecordChange): Promise<ComponentRecord> {
    const { files, dir, clock } = this.#deps
    const before = this.#record
    const { message, ...rest } = change
    const merged = { format: 1, component: this.#component, pins: [], ...before, message: undefined, ...rest }
    const next = withoutUndefined({
      ...merged,
      message: message?.slice(0, MAX_MESSAGE),
      since: before?.state === merged.state ? before?.since : clock.now(),
    })
    const parsed = parseRecord(next)
    if (parsed === undefined)
      throw new KubeNodeError(
        'KN8041',
        `cannot write the record of ${this.#component}: it makes no sense; this is a bug`,
      )
    await writeDurably(files, recordFile(dir, this.#component), JSON.stringify(parsed))
    this.#record = parsed
    return parsed
  }

  forget(): void {
    this.#record = undefined
  }
}

const withoutUndefined = (o: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined))
