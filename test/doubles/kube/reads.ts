// Get and list of the fake, at the newest state or at an older one that a horizon, a continue token or an exact revision asks for.
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import type { ListOptions, ListPage, WatchOptions } from '#kube/client.ts'
import { matchesFields, matchesSelector, parseFieldSelector, parseSelector } from '#kube/selector.ts'
import { messageOf } from '#lib/errors.ts'
import type { Core } from './core.ts'
import { type FakeKind, kindKey, objectKeyText, selectableFieldsOf } from './kinds.ts'
import { refuse } from './object-rules.ts'

export function get(
  core: Core,
  type: ResourceType,
  key: ObjectKey,
  horizon: number | undefined,
): KubeObject | undefined {
  const kind = core.kind(type)
  const text = objectKeyText(type.namespaced ? (key.namespace ?? 'default') : undefined, key.name)
  return stateFor(core, kind, horizon).get(text)
}

function stateFor(core: Core, kind: FakeKind, revision: number | undefined): ReadonlyMap<string, KubeObject> {
  const shelf = kindKey(kind.type)
  return revision === undefined ? core.revisions.objects(shelf) : core.revisions.stateAt(shelf, revision)
}

export type Matcher = (object: KubeObject) => boolean

/** What the selectors and the namespace of a list or watch ask for. */
export function matcherOf(kind: FakeKind, options: ListOptions | WatchOptions): Matcher {
  const labels = readable(() => parseSelector(options.labelSelector ?? ''))
  const fields = readable(() => parseFieldSelector(options.fieldSelector ?? ''))
  const known = ['metadata.name', ...(kind.type.namespaced ? ['metadata.namespace'] : []), ...selectableFieldsOf(kind)]
  const unknown = fields.find((f) => !known.includes(f.path))
  if (unknown !== undefined) throw refuse(400, `field label not supported: ${unknown.path}`)
  const { namespace } = options
  const anyNamespace = !kind.type.namespaced || namespace === undefined || namespace === ''
  return (o) =>
    (anyNamespace || o.metadata.namespace === namespace) &&
    matchesSelector(labels, o.metadata.labels) &&
    matchesFields(fields, o)
}

function readable<T>(parse: () => T): T {
  try {
    return parse()
  } catch (e) {
    throw refuse(400, messageOf(e))
  }
}

interface Token {
  readonly rv: number
  /** The last key given out. */
  readonly after: string
}

const EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.'

export function list(core: Core, type: ResourceType, options: ListOptions, horizon: number | undefined): ListPage {
  const kind = core.kind(type)
  const shelf = kindKey(type)
  const matches = matcherOf(kind, options)
  const token = options.continue === undefined || options.continue === '' ? undefined : readToken(options.continue)
  const newest = horizon === undefined ? core.revisions.current : Math.min(horizon, core.revisions.current)
  const revision = token?.rv ?? listRevision(options, newest)
  if (revision < core.revisions.floor(shelf))
    throw refuse(
      410,
      token === undefined ? `too old resource version: ${revision} (${core.revisions.floor(shelf)})` : EXPIRED,
    )
  const state = stateFor(core, kind, revision === core.revisions.current ? undefined : revision)
  const keys = state === core.revisions.objects(shelf) ? core.revisions.sortedKeys(shelf) : [...state.keys()].sort()
  return page(keys, state, matches, revision, options.limit ?? 0, token?.after)
}

function page(
  keys: readonly string[],
  state: ReadonlyMap<string, KubeObject>,
  matches: Matcher,
  revision: number,
  limit: number,
  after: string | undefined,
): ListPage {
  const items: KubeObject[] = []
  let last = after
  for (let i = after === undefined ? 0 : firstAfter(keys, after); i < keys.length; i++) {
    const key = keys[i]
    const object = key === undefined ? undefined : state.get(key)
    if (key === undefined || object === undefined || !matches(object)) continue
    if (limit > 0 && items.length === limit)
      return {
        items,
        resourceVersion: String(revision),
        continue: writeToken({ rv: revision, after: last ?? '' }),
        remainingItemCount: keys.length - i,
      }
    items.push(object)
    last = key
  }
  return { items, resourceVersion: String(revision) }
}

function firstAfter(keys: readonly string[], after: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const mid = (low + high) >>> 1
    if ((keys[mid] ?? '') <= after) low = mid + 1
    else high = mid
  }
  return low
}

const writeToken = (token: Token): string => Buffer.from(JSON.stringify(token)).toString('base64url')

function readToken(text: string): Token {
  const token: unknown = readable(() => JSON.parse(Buffer.from(text, 'base64url').toString()))
  const { rv, after } = (token ?? {}) as Partial<Token>
  if (typeof rv !== 'number' || typeof after !== 'string') throw refuse(400, 'continue key is not valid')
  return { rv, after }
}

function listRevision({ resourceVersion, resourceVersionMatch }: ListOptions, newest: number): number {
  if (resourceVersion === undefined || resourceVersion === '' || resourceVersion === '0') return newest
  const asked = revisionOf(resourceVersion)
  if (asked > newest) throw tooLarge(asked, newest)
  return resourceVersionMatch === 'Exact' ? asked : newest
}

export function revisionOf(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text))
    throw refuse(400, `Invalid value: ${JSON.stringify(text)}: must be a resource version`)
  return Number(text)
}

const tooLarge = (asked: number, newest: number) =>
  refuse(
    504,
    `Too large resource version: ${asked}, current: ${newest}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
    'Timeout',
  )
