// The query strings of the Kubernetes API. Pure.
import type { ListOptions, WatchOptions, WriteOptions } from '../client.ts'

type Value = string | number | boolean | undefined

function query(values: Readonly<Record<string, Value>>): string {
  const params = new URLSearchParams()
  for (const [k, v] of Object.entries(values)) if (v !== undefined && v !== '') params.set(k, String(v))
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

export const listQuery = (o: ListOptions): string =>
  query({
    labelSelector: o.labelSelector,
    fieldSelector: o.fieldSelector,
    limit: o.limit,
    continue: o.continue,
    // A continue token contains its revision; servers refuse both together.
    resourceVersion: o.continue ? undefined : o.resourceVersion,
    resourceVersionMatch: o.continue ? undefined : o.resourceVersionMatch,
  })

export const watchQuery = (o: WatchOptions): string =>
  query({
    watch: true,
    allowWatchBookmarks: true,
    labelSelector: o.labelSelector,
    fieldSelector: o.fieldSelector,
    resourceVersion: o.resourceVersion,
    timeoutSeconds: o.timeoutSeconds,
    ...(o.sendInitialEvents === undefined
      ? {}
      : { sendInitialEvents: o.sendInitialEvents, resourceVersionMatch: 'NotOlderThan' }),
  })

export const writeQuery = (o: WriteOptions & { readonly force?: boolean }): string =>
  query({
    fieldManager: o.fieldManager,
    dryRun: o.dryRun ? 'All' : undefined,
    fieldValidation: o.fieldValidation,
    force: o.force ? true : undefined,
  })
