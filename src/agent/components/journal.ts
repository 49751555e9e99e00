// Changes to a component's record. Each one is on disk before the agent continues; the protocol table defines which steps may follow which.
import { basename } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { Semaphore } from '#lib/semaphore.ts'
import { nextComponentState, type SwitchEvent, type SwitchFacts } from '#api/protocol/switch.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { currentLink, recordFile, type NodeDir } from '../node-dir.ts'
import { SLOT_ID, parseRecord, type ComponentRecord } from './record.ts'
import { slotByFolder } from './slot.ts'
import { agentErrors } from '../agent-errors.ts'

/** `undefined` removes the field. */
export type RecordChange = { readonly [K in keyof ComponentRecord]?: ComponentRecord[K] | undefined }

/** Messages end up in a status field of this length. */
const MAX_MESSAGE = 200
const MAX_OUTPUT = 640

export interface JournalDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Pick<Clock, 'now'>
}

export class Journal {
  readonly #deps: JournalDeps
  readonly #component: string
  #record: ComponentRecord | undefined
  /** Staging runs in parallel with the component's loop; their changes must not overtake each other. */
  readonly #oneAtATime = new Semaphore(1, { what: 'changes of the record of a component' })

  constructor(deps: JournalDeps, component: string) {
    this.#deps = deps
    this.#component = component
  }

  get record(): ComponentRecord | undefined {
    return this.#record
  }

  demand(): ComponentRecord {
    if (this.#record === undefined) throw new KubeNodeError(agentErrors.KN1000_noRecord({ component: this.#component }))
    return this.#record
  }

  async load(): Promise<void> {
    const { files, dir } = this.#deps
    const path = recordFile(dir, this.#component)
    const mine = (value: unknown): ComponentRecord | undefined => {
      const record = parseRecord(value)
      return record?.component === this.#component ? record : undefined
    }
    this.#record = (await readState(files, path, mine)) ?? (await this.#rebuilt())
  }

  /** Replaces a damaged record, or one from a newer agent. The link still shows the version in use, and probes show whether it works. */
  async #rebuilt(): Promise<ComponentRecord | undefined> {
    const { files, dir, clock } = this.#deps
    const id = basename((await files.readLink(currentLink(dir, this.#component))) ?? '')
    const current = SLOT_ID.test(id) ? await slotByFolder(this.#deps, this.#component, id) : undefined
    if (current === undefined) return undefined
    const { version, config } = current
    const target = { version, attempt: 1, ...defined({ config }) }
    const message = 'the record was lost and is rebuilt from the installed files'
    return {
      format: 1,
      component: this.#component,
      state: 'Degraded',
      since: clock.now(),
      message,
      target,
      current,
      pins: [],
    }
  }

  /** Moves to the next state in the table. Throws when the table has no such step, because that is a bug in the plan. */
  step(event: SwitchEvent, facts: SwitchFacts, change: RecordChange): Promise<ComponentRecord> {
    return this.#oneAtATime.run(() => this.#step(event, facts, change))
  }

  write(change: RecordChange): Promise<ComponentRecord> {
    return this.#oneAtATime.run(() => this.#write(change))
  }

  #step(event: SwitchEvent, facts: SwitchFacts, change: RecordChange): Promise<ComponentRecord> {
    const from = this.#record?.state ?? 'Fetching'
    const step = nextComponentState(from, event, facts)
    if (!step.ok)
      throw new KubeNodeError(
        agentErrors.KN1000_event({ event, component: this.#component, from, refusal: JSON.stringify(step.refusal) }),
      )
    return this.#write({ ...change, state: step.state })
  }

  async #write(change: RecordChange): Promise<ComponentRecord> {
    const { files, dir, clock } = this.#deps
    const before = this.#record
    const { message, reason, output, ...rest } = change
    const merged = { format: 1, component: this.#component, pins: [], ...before, ...rest }
    const next = withoutUndefined({
      ...merged,
      // The message belongs to the previous state unless it is passed again.
      message: message?.slice(0, MAX_MESSAGE),
      reason,
      output: output?.slice(-MAX_OUTPUT),
      since: before?.state === merged.state ? before?.since : clock.now(),
    })
    const parsed = parseRecord(next)
    if (parsed === undefined) throw new KubeNodeError(agentErrors.KN1000_record({ component: this.#component }))
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
