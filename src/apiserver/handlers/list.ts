// GET of one object and of lists: selection, pages, versions.
import { apiVersionOf } from '#api/schema/resource.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { encodeJson, formatJson } from '../codec/json.ts'
import { convertAll } from '../crd/webhook-conversion.ts'
import type { ListOptions } from '../http/query.ts'
import { listOptions, versionProblem } from '../http/query.ts'
import { parseFieldSelector } from '../selectors/field-selector.ts'
import { parseLabelSelector } from '../selectors/label-selector.ts'
import type { Served } from '../registry/served.ts'
import { badRequest, expired, futureVersion, internal, notAcceptable, notFound } from '../status/refusal.ts'
import type { Stored } from '../storage/stored.ts'
import { partialMetadata, tableHead, tableRow, type TableMeta } from '../table/table.ts'
import { readContinue, writeContinue } from './continue.ts'
import type { Answer, Call, Streamed } from './context.ts'
import { encoded, encodedParts, goType, includeOf, JSON_TYPE, listItemParts, objectAnswer, viewOf } from './encode.ts'
import { groupResource, placeOf } from './stored-place.ts'

/** How long a read waits for a version that does not exist yet. */
const FUTURE_WAIT_MS = 3_000

export async function handleGet(call: Call): Promise<Answer> {
  const { served, path, parts, query } = call
  const asked = query.get('resourceVersion') ?? ''
  const problem = asked === '' ? undefined : versionProblem(asked)
  if (problem !== undefined) throw internal(`resourceVersion: Invalid value: ${JSON.stringify(asked)}: ${problem}`)
  if (asked !== '') await reached(call, Number(asked))
  const stored = parts.store.get(placeOf(served, path.namespace, path.name))
  if (stored === undefined) throw notFound(groupResource(served), path.name)
  return objectAnswer(call, 200, stored)
}

/** Resolves once the store is at a version; refuses when it does not arrive in time. */
async function reached({ parts }: Pick<Call, 'parts'>, revision: number): Promise<void> {
  const { store, clock } = parts
  if (store.revision >= revision) return
  await new Promise<void>((resolve, reject) => {
    const stop = store.onCommit(() => {
      if (store.revision < revision) return
      timer.cancel()
      stop()
      resolve()
    })
    const timer = clock.after(FUTURE_WAIT_MS, () => {
      stop()
      reject(futureVersion(revision, store.revision))
    })
  })
}

export async function handleList(call: Call): Promise<Answer> {
  const options = listOptions(call.query, false)
  checkForm(call)
  const at = options.resourceVersion
  if (at !== '') {
    const problem = versionProblem(at)
    if (problem !== undefined)
      throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(at)}: ${problem}`)
    await reached(call, Number(at))
  }
  await convertSelectable(call, options)
  const page = selected(call, options)
  await convertAll(call.served.behaviour.conversion, () => page.items)
  return listAnswer(call, page)
}

function checkForm({ accept, served }: Call): void {
  if (accept.as === 'PartialObjectMetadata')
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (${goType(served, 'List')})`,
    )
}

/** Before objects are selected by fields of a version that a webhook makes. */
export async function convertSelectable({ served, parts, path }: Call, options: ListOptions): Promise<void> {
  const { conversion } = served.behaviour
  if (conversion === undefined || options.fieldSelector === '') return
  const collection = parts.store.collection(served.resource)
  const namespace = served.type.namespaced && path.namespace !== '' ? path.namespace : undefined
  const at = options.continueToken === '' ? undefined : readContinue(options.continueToken).revision
  const exact = options.resourceVersionMatch === 'Exact' ? Number(options.resourceVersion) : undefined
  const older = at ?? exact
  await convertAll(conversion, () =>
    older === undefined ? collection.list(namespace) : (collection.listAt(older, namespace) ?? []),
  )
}

export interface Page {
  readonly items: readonly Stored[]
  readonly metadata: TableMeta
}

/** The objects that a list shows, in key order, with the version they were read at. */
export function selected(call: Call, options: ListOptions): Page {
  const { served, parts, path } = call
  const labels = parseLabelSelector(options.labelSelector)
  const fields = parseFieldSelector(options.fieldSelector, served)
  const collection = parts.store.collection(served.resource)
  const isPaged = options.limit > 0 && !isFromCache(options)
  // pages follow the path alone: whether there is a next one does not depend on the selector
  const inPath = served.type.namespaced ? path.namespace || undefined : ''
  const namespace = isPaged ? inPath : (inPath ?? fields.namespace)
  const from = options.continueToken === '' ? undefined : readContinue(options.continueToken)
  if (from !== undefined && options.resourceVersion !== '' && options.resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue')
  const exact = options.resourceVersionMatch === 'Exact' ? Number(options.resourceVersion) : undefined
  const revision = from?.revision ?? exact ?? parts.store.revision
  const limit = isPaged ? options.limit : Infinity
  // the name index is only valid for the present state
  const one = fields.name !== undefined && from === undefined && exact === undefined && namespace !== undefined
  const all = one
    ? [collection.get(namespace, fields.name ?? '')].filter((s) => s !== undefined)
    : from === undefined && exact === undefined
      ? collection.list(namespace || undefined)
      : collection.listAt(revision, namespace || undefined, from?.after)
  if (all === undefined) throw expired(from === undefined ? tooOld(revision, collection.floor) : CONTINUE_EXPIRED)
  const matches = (s: Stored): boolean => {
    if (fields.name !== undefined && s.name !== fields.name) return false
    if (fields.namespace !== undefined && s.namespace !== fields.namespace) return false
    if (labels !== undefined && !labels(s.value.metadata.labels)) return false
    return fields.matches === undefined || fields.matches(viewOf(served, s))
  }
  const isSelection = options.labelSelector !== '' || options.fieldSelector !== ''
  const items: Stored[] = []
  let left = 0
  for (const s of all) {
    if (items.length < limit) {
      if (matches(s)) items.push(s)
    } else {
      // with a selector the number of remaining objects is unknown, and whether any of them matches
      left++
      if (isSelection) break
    }
  }
  const last = items.at(-1)
  const next = left > 0 && last !== undefined ? writeContinue({ revision, after: keyOf(last) }) : undefined
  return {
    items,
    metadata: {
      resourceVersion: String(revision),
      ...(next === undefined ? {} : { continue: next }),
      ...(left > 0 && !isSelection ? { remainingItemCount: left } : {}),
    },
  }
}

/** Any version will do, and the whole list is in memory: like a real server, ignore the page limit. */
const isFromCache = (o: ListOptions): boolean => o.resourceVersion === '0' && o.continueToken === ''

const keyOf = (s: Stored): string => (s.namespace === '' ? s.name : `${s.namespace}/${s.name}`)

const tooOld = (asked: number, floor: number): string =>
  `The resourceVersion for the provided list is too old: ${asked} (${floor})`
const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.'

async function listAnswer(call: Call, { items, metadata }: Page): Promise<Answer> {
  const { served, accept, parts } = call
  switch (accept.as) {
    case 'Table': {
      const [include, now] = [includeOf(call), parts.clock.now()]
      const row = (s: Stored): readonly Buffer[] => tableRow(served, s, { include, now, view: viewOf })
      return encodedParts(call, 200, streamOf(tableHead(served, metadata), 'rows', items, row))
    }
    case 'PartialObjectMetadataList': {
      const head = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata }
      const item = (s: Stored): readonly Buffer[] => [encodeJson(partialMetadata(viewOf(served, s)))]
      return encodedParts(call, 200, streamOf(head, 'items', items, item))
    }
    case 'PartialObjectMetadata':
    case 'object':
      break
    default:
      break
  }
  if (accept.encoding === 'yaml') {
    const values = items.map((s): KubeObject => viewOf(served, s))
    return encoded(call, 200, { ...headOf(served), metadata: metaOf(served, metadata), items: values })
  }
  return { code: 200, body: listAnswerOf(served, items, metadata), type: JSON_TYPE }
}

const headOf = (served: Served) => ({ kind: served.listKind, apiVersion: apiVersionOf(served.type) })
/** Lists of custom resources always state whether there is more. */
const metaOf = (served: Served, metadata: TableMeta) => (served.custom ? { continue: '', ...metadata } : metadata)

const END = Buffer.from(']}\n')

/** An object whose last field is a list, one element after the other, each made when its turn comes. */
function streamOf(
  head: object,
  field: 'items' | 'rows',
  items: readonly Stored[],
  partsOf: (s: Stored, index: number) => readonly Buffer[],
): Streamed {
  const opening = Buffer.from(`${formatJson(head).slice(0, -1)},"${field}":[`)
  function* parts(): Generator<Buffer> {
    yield opening
    for (const [i, s] of items.entries()) {
      if (i > 0) yield COMMA
      yield* partsOf(s, i)
    }
    yield END
  }
  return { parts: { [Symbol.iterator]: parts }, keeps: items.reduce((n, s) => n + s.bytes.length, 0) }
}
const COMMA = Buffer.from(',')

/** Stored bytes one after the other; where nothing is converted, nothing is parsed, and the length is known. */
export function listAnswerOf(served: Served, items: readonly Stored[], metadata: TableMeta): Streamed {
  const head = { ...headOf(served), metadata: metaOf(served, metadata) }
  const stream = streamOf(head, 'items', items, (s) => listItemParts(served, s))
  if (!served.behaviour.storedAsIs) return stream
  const parts = [...stream.parts]
  return { ...stream, parts, length: parts.reduce((n, p) => n + p.length, 0) }
}
