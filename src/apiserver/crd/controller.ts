// Implements definitions: serves their versions as soon as they are stored, writes their names and conditions, and on
// deletion deletes their objects first and waits until all of them are deleted.
import { timestamp } from '#lib/clock.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { messageOf } from '#lib/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { deleteQuietly } from '../loops/delete-quietly.ts'
import { storeObject } from '../storage/internal-write.ts'
import type { Collection } from '../storage/collection.ts'
import type { StoreEvent } from '../storage/stored.ts'
import type { Convert } from './webhook-converter.ts'
import { customServed } from './custom-served.ts'
import {
  CLEANUP_FINALIZER,
  DEFINITIONS,
  listOfFields,
  namesOf,
  specOf,
  statusOf,
  texts,
  word,
  type Fields,
} from './definition.ts'

export class DefinitionController {
  readonly #parts: ServerParts
  readonly #log: Logger
  readonly #convert: Convert
  #stop: (() => void) | undefined
  /** Definitions whose objects are still being deleted, by name. */
  readonly #waiting = new Map<string, () => void>()
  #work: Promise<void> = Promise.resolve()

  constructor(parts: ServerParts, log: Logger, convert: Convert) {
    this.#parts = parts
    this.#convert = convert
    this.#log = log
  }

  start(): void {
    const collection = this.#parts.store.collection(DEFINITIONS)
    for (const s of collection.list(undefined)) this.#serve(s.value)
    this.#stop = collection.watch({ namespace: undefined, name: undefined }, (e) => this.#change(e))
    for (const s of collection.list(undefined)) this.#later(() => this.#settle(s.name))
  }

  /** Resolves when pending changes have been written. */
  async stop(): Promise<void> {
    this.#stop?.()
    for (const name of this.#waiting.keys()) this.#stopWaiting(name)
    await this.#work
  }

  #change({ type, object }: StoreEvent): void {
    const definition = object.value
    if (type === 'DELETED') {
      this.#stopWaiting(object.name)
      this.#parts.registry.replace(word(specOf(definition)['group']), word(namesOf(definition)['plural']), [])
      return
    }
    this.#serve(definition)
    this.#later(() => this.#settle(object.name))
  }

  #serve(definition: KubeObject): void {
    if (conflictingName(this.#parts, definition) !== undefined) return
    this.#parts.registry.replace(
      word(specOf(definition)['group']),
      word(namesOf(definition)['plural']),
      customServed(definition, this.#convert),
    )
  }

  /** One after the other, outside of the commit that notified us. */
  #later(work: () => Promise<void>): void {
    this.#work = this.#work
      .then(work)
      .catch((e: unknown) => this.#log.error('definition not settled', { reason: messageOf(e) }))
  }

  async #settle(name: string): Promise<void> {
    const { store, clock } = this.#parts
    const at = { resource: DEFINITIONS, namespace: '', name }
    const found = store.latest(at)?.value
    if (found === undefined) return
    if (found.metadata.deletionTimestamp !== undefined) return this.#cleanUp(found)
    await storeObject(store, at, (definition) =>
      settled(definition, conflictingName(this.#parts, definition), clock.now()),
    )
  }

  /** Objects are deleted first; after the last one the finalizer is removed. */
  async #cleanUp(definition: KubeObject): Promise<void> {
    const { store, clock, registry } = this.#parts
    const { finalizers = [], name = '' } = definition.metadata
    if (!finalizers.includes(CLEANUP_FINALIZER)) return
    const at = { resource: DEFINITIONS, namespace: '', name }
    const [group, plural] = [word(specOf(definition)['group']), word(namesOf(definition)['plural'])]
    // It never had objects: those of that name belong to a built-in kind.
    if (registry.isBuiltin(group, plural)) {
      await storeObject(store, at, (d) => withoutCleanup(withConditions(d, [COMPLETED], clock.now())))
      return
    }
    const objects = store.collection(`${group}/${plural}`)
    await storeObject(store, at, (d) => withConditions(d, [IN_PROGRESS], clock.now()))
    this.#wait(name, objects)
    const found = objects.snapshot()
    for (let i = 0; i < found.length; i += DELETE_WORKERS)
      await Promise.all(found.slice(i, i + DELETE_WORKERS).map((s) => deleteQuietly(this.#parts, s, 'Background')))
    if (objects.size > 0) return
    await storeObject(store, at, (d) => withoutCleanup(withConditions(d, [COMPLETED], clock.now())))
  }

  /** Checks again when the last object is deleted, and when one arrives whose creation began before the deletion. */
  #wait(name: string, objects: Collection): void {
    if (this.#waiting.has(name)) return
    const stop = objects.watch({ namespace: undefined, name: undefined }, ({ type }) => {
      if (type === 'ADDED' || objects.size === 0) this.#later(() => this.#settle(name))
    })
    this.#waiting.set(name, stop)
  }

  #stopWaiting(name: string): void {
    this.#waiting.get(name)?.()
    this.#waiting.delete(name)
  }
}

/** Deletions in parallel. */
const DELETE_WORKERS = 50

const IN_PROGRESS = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
}
const COMPLETED = {
  type: 'Terminating',
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
}

const withoutCleanup = (d: KubeObject): KubeObject => ({
  ...d,
  metadata: { ...d.metadata, finalizers: (d.metadata.finalizers ?? []).filter((f) => f !== CLEANUP_FINALIZER) },
})

/** The name that another kind of the group, or a built-in one, already has. */
function conflictingName({ registry }: ServerParts, definition: KubeObject): string | undefined {
  const group = word(specOf(definition)['group'])
  const names = namesOf(definition)
  const plural = word(names['plural'])
  if (registry.isBuiltin(group, plural)) return plural
  const others = registry.all().filter((s) => s.type.group === group && s.type.plural !== plural)
  const taken = new Set(others.flatMap((s) => [s.type.plural, s.singular, ...s.shortNames]))
  const kinds = new Set(others.flatMap((s) => [s.type.kind, s.listKind]))
  const wanted = [plural, word(names['singular']), ...texts(names['shortNames'])]
  return wanted.find((n) => taken.has(n)) ?? [word(names['kind']), word(names['listKind'])].find((k) => kinds.has(k))
}

const HELD = (conflict: string): Fields => ({
  status: 'False',
  reason: 'NameConflict',
  message: `${JSON.stringify(conflict)} is already in use`,
})

/** The definition with accepted names, conditions and its finalizer; the same object when nothing changes. */
function settled(definition: KubeObject, conflict: string | undefined, now: number): KubeObject {
  const status = statusOf(definition)
  const conditions =
    conflict === undefined
      ? [
          { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
          {
            type: 'Established',
            status: 'True',
            reason: 'InitialNamesAccepted',
            message: 'the initial names have been accepted',
          },
        ]
      : [
          { type: 'NamesAccepted', ...HELD(conflict) },
          { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
        ]
  const accepted = conflict === undefined ? namesOf(definition) : status['acceptedNames']
  const finalizers = definition.metadata.finalizers ?? []
  const next: KubeObject = {
    ...definition,
    metadata: {
      ...definition.metadata,
      finalizers: finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER],
    },
    status: { ...status, acceptedNames: accepted },
  }
  const whole = withConditions(next, conditions, now)
  return jsonEqual(whole, definition) ? definition : whole
}

/** The same definition when it has these conditions already; otherwise with the time of the change. */
function withConditions(definition: KubeObject, conditions: readonly Fields[], now: number): KubeObject {
  const status = statusOf(definition)
  const before = listOfFields(status['conditions'])
  const merged = conditions.map((c) => {
    const old = before.find((b) => b['type'] === c['type'])
    const kept = old !== undefined && old['status'] === c['status'] ? old['lastTransitionTime'] : timestamp(now)
    return { ...c, lastTransitionTime: kept }
  })
  const others = before.filter((b) => !conditions.some((c) => c['type'] === b['type']))
  const next = { ...definition, status: { ...status, conditions: [...others, ...merged] } }
  return jsonEqual(next, definition) ? definition : next
}
