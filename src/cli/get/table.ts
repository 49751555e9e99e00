// The server's table of objects: the kind's columns, with namespace and labels on request.
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { withIdentityHint } from '#kube/errors.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'

export interface TableShape {
  readonly isWide: boolean
  readonly showsNamespace: boolean
  readonly showsLabels: boolean
  /** Labels that get their own column. */
  readonly labelColumns: readonly string[]
  /** Prefix of each name if several kinds are printed: `machine.kubenode.io/`. */
  readonly prefix: string
}

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** A watch starts from here. */
  readonly resourceVersion: string
}

interface Answer {
  readonly metadata?: { readonly resourceVersion?: string }
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[]
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object?: unknown }[]
}

const isTable = (v: unknown): v is Answer => isObject(v) && v['kind'] === 'Table' && Array.isArray(v['rows'])

const ACCEPT = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

/** A server that just started, or just got a kind, answers 429 for some seconds. */
const TOO_EARLY = 429
const BAD_REQUEST = 400
const TRIES = 10
const AGAIN_MS = 1_000

async function answerOf(client: Pick<KubeClient, 'raw'>, path: string, clock: Pick<Clock, 'sleep'> = systemClock) {
  for (let n = 1; ; n++) {
    const answer = await client.raw({ method: 'GET', path, headers: { accept: ACCEPT } })
    if (answer.status !== TOO_EARLY || n >= TRIES) return answer
    await clock.sleep(AGAIN_MS)
  }
}

/** Undefined if the server has no such object or kind. */
export async function tableAt(
  client: Pick<KubeClient, 'raw'>,
  path: string,
  shape: TableShape,
  clock?: Pick<Clock, 'sleep'>,
): Promise<Table | undefined> {
  const { status, text } = await answerOf(client, path, clock)
  if (status === 404) return undefined
  // A server, or a proxy in front of it, may refuse a path in plain text.
  const answer = parsed(text)
  if (status !== 200 || !isTable(answer)) {
    const message =
      isObject(answer) && typeof answer['message'] === 'string' ? answer['message'] : `${status} to ${path}`
    throw new KubeNodeError(
      (status === BAD_REQUEST ? inspectErrors.KN1348 : inspectErrors.KN1314)({ answer: withIdentityHint(message) }),
    )
  }
  return tableOf(answer, shape)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function tableOf({ columnDefinitions, rows, metadata }: Answer, shape: TableShape): Table {
  const { isWide, showsNamespace, showsLabels, labelColumns, prefix } = shape
  const shown = columnDefinitions.map((c, i) => ({ ...c, i })).filter((c) => isWide || (c.priority ?? 0) === 0)
  const head = [
    ...(showsNamespace ? ['NAMESPACE'] : []),
    ...shown.map((c) => c.name.toUpperCase()),
    ...labelColumns.map(headOf),
    ...(showsLabels ? ['LABELS'] : []),
  ]
  return {
    head,
    rows: rows.map(({ cells, object }) => {
      const { namespace, labels, all } = metadataOf(object)
      const own = shown.map(({ i }, at) => `${at === 0 ? prefix : ''}${String(cells[i] ?? '')}`)
      const columns = labelColumns.map((name) => (Object.hasOwn(all, name) ? String(all[name]) : ''))
      const row = [...(showsNamespace ? [namespace] : []), ...own, ...columns, ...(showsLabels ? [labels] : [])]
      return row.map(printableLine)
    }),
    resourceVersion: metadata?.resourceVersion ?? '',
  }
}

/** Like kubectl: a label's name without its prefix. */
const headOf = (label: string): string => label.slice(label.lastIndexOf('/') + 1).toUpperCase()

function metadataOf(object: unknown) {
  const metadata = isObject(object) && isObject(object['metadata']) ? object['metadata'] : {}
  const { namespace, labels } = metadata
  const all = isObject(labels) ? labels : {}
  const pairs = Object.entries(all).map(([k, v]) => `${k}=${String(v)}`)
  return { namespace: typeof namespace === 'string' ? namespace : '', labels: pairs.join(',') || '<none>', all }
}
