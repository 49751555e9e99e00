// Parses one line of a watch stream. An ERROR event becomes an ApiError.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { apiVersionOf, type ResourceType } from '#api/schema/resource.ts'
import type { WatchEvent } from '../client.ts'
import { ApiError, ConnectionError, statusFrom, type CallContext } from '../errors.ts'
import { kubeErrors } from '../kube-errors.ts'
import { isLongVersion } from '../resource-version.ts'

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

export function eventOf<T extends KubeObject>(
  type: ResourceType<T>,
  line: string,
  context: CallContext,
): WatchEvent<T> {
  const { kind, object } = read(line, context)
  if (kind === 'ERROR')
    throw new ApiError(statusFrom(500, object), { ...context, sensitive: type.plural === 'secrets' })
  const metadata = object['metadata']
  if (!isObject(metadata)) throw unknown(context, 'an object without metadata')
  if (isLongVersion(metadata['resourceVersion'])) throw unknown(context, 'an object with a very long resourceVersion')
  if (kind === 'BOOKMARK') {
    const { resourceVersion, annotations } = metadata
    if (typeof resourceVersion !== 'string') throw unknown(context, 'a bookmark without resourceVersion')
    return {
      type: 'BOOKMARK',
      resourceVersion,
      initialEventsEnd: isObject(annotations) && annotations[INITIAL_EVENTS_END] === 'true',
    }
  }
  if (kind !== 'ADDED' && kind !== 'MODIFIED' && kind !== 'DELETED')
    throw unknown(context, `an event of type ${JSON.stringify(kind).slice(0, 40)}`)
  object['kind'] ??= type.kind
  object['apiVersion'] ??= apiVersionOf(type)
  return { type: kind, object: object as unknown as T }
}

function read(
  line: string,
  context: CallContext,
): { readonly kind: unknown; readonly object: Record<string, unknown> } {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (e) {
    throw unknown(context, 'a line that is not JSON', e)
  }
  if (!isObject(value) || !isObject(value['object'])) throw unknown(context, 'a line that is not a watch event')
  return { kind: value['type'], object: value['object'] }
}

const unknown = (context: CallContext, seen: string, cause?: unknown) =>
  new ConnectionError(kubeErrors.KN2410_content({ action: context.action, target: context.target, seen }), 'no', cause)
