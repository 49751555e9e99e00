// `kubenode get -w`: after the list, one row or object per change. If the server ends the watch, it continues from a new list: no change is lost, and after the
// first list nothing is printed twice.
import { isGone } from '#kube/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { objectPath, qualifiedKind } from '#api/schema/resource.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import { type Asked, forReader, listOptions } from './asked.ts'
import { dataText } from './data-text.ts'
import { laterRows } from '#lib/terminal/rows.ts'
import { shortCommits } from './short-commits.ts'
import { listPath, painterOf, shapeOf } from './show.ts'
import { tableAt } from './table.ts'
import type { Wanted } from './wanted.ts'
import { withoutManagers } from './without-managers.ts'

type Page = Awaited<ReturnType<Asked['client']['list']>>

function selectorsOf({ type, name }: Wanted, asked: Asked) {
  const { namespace, labelSelector } = listOptions(asked, type.namespaced)
  const fieldSelector = name === undefined ? asked.options.fieldSelector : `metadata.name=${name}`
  return defined({ namespace, labelSelector, fieldSelector })
}

/** Where the watch starts. Read before the list is shown, so that an object created in between counts as a change. Undefined: the list reports the error. */
export const watchStart = (wanted: Wanted, asked: Asked): Promise<Page | undefined> =>
  asked.client.list(wanted.type, selectorsOf(wanted, asked)).catch(() => undefined)

export async function watchObjects(wanted: Wanted, asked: Asked, start: Page | undefined): Promise<void> {
  const { client, io } = asked
  const { type } = wanted
  const selectors = selectorsOf(wanted, asked)
  const print = await printerOf(wanted, asked)
  /** The last printed version of each object. */
  const known = new Map<string, KubeObject>()
  let isFirst = true
  let first = start
  while (!isOver(io)) {
    const page: Page = first ?? (await client.list(type, selectors))
    first = undefined
    const listed = new Set(page.items.map(namespacedName))
    for (const [key, deleted] of known) {
      if (listed.has(key)) continue
      known.delete(key)
      await print(deleted, 'DELETED')
    }
    for (const object of page.items) {
      const isNew = known.get(namespacedName(object))?.metadata.resourceVersion !== object.metadata.resourceVersion
      known.set(namespacedName(object), object)
      // Do not repeat what the previous list showed.
      if (isNew && !isFirst) await print(object, 'MODIFIED')
    }
    isFirst = false
    try {
      const watch = { ...selectors, resourceVersion: page.resourceVersion, ...defined({ signal: io.signal }) }
      for await (const event of client.watch(type, watch)) {
        if (event.type === 'BOOKMARK') continue
        if (event.type === 'DELETED') known.delete(namespacedName(event.object))
        else known.set(namespacedName(event.object), event.object)
        await print(event.object, event.type)
      }
    } catch (e) {
      if (isOver(io)) return
      if (!isGone(e)) throw e
    }
  }
}

const isOver = ({ signal }: Asked['io']): boolean => signal?.aborted === true

type Print = (object: KubeObject, change: 'ADDED' | 'MODIFIED' | 'DELETED') => void | Promise<void>

async function printerOf(wanted: Wanted, asked: Asked): Promise<Print> {
  const { form, io, options } = asked
  const { type } = wanted
  if (form.kind === 'table') return rowPrinter(wanted, asked)
  if (form.kind === 'name') return (o) => io.out(`${qualifiedKind(type)}/${printableLine(o.metadata.name ?? '')}\n`)
  return (o) => {
    const text = dataText(form, [options.showManagedFields === true ? o : withoutManagers(o)], true)
    io.out(`${form.kind === 'yaml' ? '---\n' : ''}${forReader(io, text)}`)
  }
}

const styleOf = (head: readonly string[], { io, options }: Asked) => ({
  paint: painterOf(head, io),
  hasHead: options.headers,
  width: () => io.width?.(),
})

/** Only the server knows how to print a row of a kind, so request the row of each changed object. */
async function rowPrinter(wanted: Wanted, asked: Asked): Promise<Print> {
  const { client, io } = asked
  const { type } = wanted
  const shape = shapeOf(wanted, asked)
  const list = await tableAt(client, listPath(type, asked), shape)
  const { head = [] } = list ?? {}
  const short = shortCommits(head, { form: asked.form, width: io.width?.() })
  const textOf = laterRows([head, ...(list?.rows ?? []).map(short)], styleOf(head, asked))
  const nameAt = shape.showsNamespace ? 1 : 0
  const rows = new Map((list?.rows ?? []).map((row) => [row.slice(0, nameAt + 1).join('/'), row]))
  return async (object, change) => {
    const { name = '', namespace } = object.metadata
    const key = shape.showsNamespace ? `${namespace ?? ''}/${name}` : name
    const path = objectPath(type, { name, namespace: type.namespaced ? namespace : undefined })
    const [fresh] = change === 'DELETED' ? [] : ((await tableAt(client, path, shape))?.rows ?? [])
    const row = fresh ?? rows.get(key)
    if (row === undefined) return
    if (change === 'DELETED') rows.delete(key)
    else rows.set(key, row)
    io.out(`${textOf(short(row), change === 'DELETED' ? '   (deleted)' : '')}\n`)
  }
}
