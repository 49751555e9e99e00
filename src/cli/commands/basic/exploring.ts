// Shows events and trees of objects, and follows rollouts and releases.
import { branchesOf } from '#explain/branches.ts'
import { findObject, shownNamespace } from '#explain/objects/find-object.ts'
import { treeLines } from '#explain/tree.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLines } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withKinds } from '../../fleet/by-name.ts'
import { type NamespaceOptions, type ServerOptions, connectionTo } from '../../fleet/connect.ts'
import { exploreErrors } from '../../fleet/explore-errors.ts'
import { namedAll, namedOne } from '../../fleet/target.ts'
import { followRollouts } from '../../follow/follow.ts'
import { showEvents } from './follow-events.ts'

export interface Options extends ServerOptions, NamespaceOptions {}

export interface WatchOptions extends Options {
  readonly untilDone?: boolean
  readonly timeout?: string
}

export interface EventsOptions extends Options {
  readonly for?: string
  readonly types?: readonly string[]
  readonly watch?: boolean
  readonly allNamespaces?: boolean
}

async function placeOf(options: Options, io: Io) {
  const { client, namespace } = await connectionTo(options, io)
  return { client, namespace: shownNamespace(options.namespace, namespace) }
}

export async function events(words: readonly string[], options: EventsOptions, io: Io): Promise<void> {
  const all = [...words, ...(options.for === undefined ? [] : [options.for])]
  if (options.allNamespaces === true && all.length > 0)
    throw new KubeNodeError(exploreErrors.KN1002_allNamespaces({ what: all.join(' ') }))
  const asked = all.length === 0 ? undefined : namedAll(all)
  const { client, namespace } = await placeOf(options, io)
  const wanted = asked && (await withKinds(asked, { client, namespace, command: 'events', withNode: true }))
  const objects =
    wanted && (await Promise.all(wanted.map((w) => findObject(client, w.type, { name: w.name, namespace }, w.noun))))
  const { types, watch: isFollowed = false } = options
  await showEvents(client, { objects, types, isFollowed }, io)
}

export async function tree(words: readonly string[], options: Options, io: Io): Promise<void> {
  const asked = namedOne(words)
  if (asked.type !== undefined && !['Machine', 'Node', 'Release', 'MachineComponentSet'].includes(asked.type.kind))
    throw new KubeNodeError(exploreErrors.KN1325_belongings({ what: `${asked.noun}/${asked.name}` }))
  const { client, namespace } = await placeOf(options, io)
  const search = { client, namespace, command: 'tree', nouns: ['machine', 'node', 'set', 'release'] }
  const [wanted] = await withKinds([asked], search)
  if (wanted === undefined) return
  const { type, name, noun } = wanted
  const object = await findObject(client, type, { name, namespace }, noun)
  const branches = await branchesOf(client, { ...object, kind: type.kind }, systemClock.now())
  io.out(shownLines(treeLines(branches, io.width?.())))
}

export async function watch(words: readonly string[], options: WatchOptions, io: Io): Promise<void> {
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout)
  if (timeoutMs !== undefined && options.untilDone !== true) throw new KubeNodeError(exploreErrors.KN1002_timeout())
  const asked = words.length === 0 ? [] : namedAll(words)
  const other = asked.find(
    (one) => one.type !== undefined && one.type.kind !== 'MachineComponentSet' && one.type.kind !== 'Release',
  )
  if (other?.type !== undefined)
    throw new KubeNodeError(exploreErrors.KN1325_follow({ what: `${other.noun}/${other.name}` }))
  const { client, namespace } = await placeOf(options, io)
  const wanted = await withKinds(asked, { client, namespace, command: 'watch', nouns: ['set', 'release'] })
  const until = { isUntilDone: options.untilDone === true, ...defined({ timeoutMs }) }
  await followRollouts(client, { wanted, namespace, ...until }, io)
}
