// Whether a Node, a Machine and a host mean the same host, although each writes its id in its own way. Pure.
import type { Node } from './objects.ts'

/**
 * What the id of a host ends with, in every way that a cloud's own controller may write it: `aws:///eu-central-1a/i-1` and `aws://eu-central-1/i-1` are one host,
 * and so are `cn-hangzhou.i-1` and `alicloud://cn-hangzhou/i-1`.
 */
export function instancesIn(providerID: string): readonly string[] {
  const last = instanceIn(providerID)
  const dot = last.indexOf('.')
  return dot === -1 ? [last] : [last, last.slice(dot + 1)]
}

/** As our own providers write it. */
export const instanceIn = (providerID: string): string =>
  providerID
    .split('/')
    .findLast((part) => part !== '')
    ?.toLowerCase() ?? ''

export function internalAddresses({ status }: Pick<Node, 'status'>): readonly string[] {
  const addresses: unknown = status?.['addresses']
  if (!Array.isArray(addresses)) return []
  return (addresses as readonly { readonly type?: unknown; readonly address?: unknown }[]).flatMap((a) =>
    a.type === 'InternalIP' && typeof a.address === 'string' ? [a.address] : [],
  )
}
