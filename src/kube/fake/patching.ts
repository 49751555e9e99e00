// Where the fake meets the schema machinery: patches, server-side apply and the tracking of who wrote which field.
import { isObject, setOwn } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ApplyOptions, Patch } from '../client.ts'
import type { FakeKind } from './kinds.ts'
import { refuse } from './object-rules.ts'

export interface Tracking {
  readonly manager: string
  readonly subresource: string | undefined
  readonly time: string
}

export function checkSchema(_kind: FakeKind, next: KubeObject, _live: KubeObject | undefined): KubeObject {
  return next
}

export function patchedObject(_kind: FakeKind, live: KubeObject, change: Patch): KubeObject {
  if (change.type === 'json') throw refuse(415, 'JSON patch is not there yet')
  return merged(live, change.value) as KubeObject
}

function merged(target: unknown, change: unknown): unknown {
  if (!isObject(change)) return change
  const out = {}
  if (isObject(target))
    for (const [k, v] of Object.entries(target))
      if (!(Object.hasOwn(change, k) && change[k] === null)) setOwn(out, k, v)
  for (const [k, v] of Object.entries(change))
    if (v !== null) setOwn(out, k, merged(isObject(target) && Object.hasOwn(target, k) ? target[k] : undefined, v))
  return out
}

export function appliedObject(
  _kind: FakeKind,
  live: KubeObject | undefined,
  applied: KubeObject,
  _options: ApplyOptions,
  _time: string,
): KubeObject {
  return merged(live, applied) as KubeObject
}

export function trackedObject(
  _kind: FakeKind,
  _live: KubeObject | undefined,
  next: KubeObject,
  _tracking: Tracking,
): KubeObject {
  return next
}
