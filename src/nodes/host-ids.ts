// Whether a Node, a Machine and a host mean the same host, although each writes its id differently. Pure. All parsing of host ids is here.
import type { Node } from './objects.ts'

/**
 * The last part of an id, which is usually the instance: `i-1` of `aws:///eu-central-1a/i-1` and of `aws://eu-central-1/i-1`, but `cn-hangzhou.i-1`
 * if Alibaba Cloud's own controller wrote it.
 */
export const instanceIn = (providerID: string): string => partsOf(providerID).at(-1) ?? ''

/** Possible last parts of other programs' ids for a host of KubeNode: its instance, or its region and instance. */
export function spellingsOf(hostID: string): readonly string[] {
  const parts = partsOf(hostID)
  const last = parts.at(-1) ?? ''
  return [last, ...parts.slice(0, -1).map((place) => `${place}.${last}`)]
}

/**
 * Instances that another program's id may mean: `a.b` is instance b in region a, or a host with that name. For callers that must not harm a host in
 * use. Callers that must not confuse two hosts compare only the last part.
 */
export function instancesIn(providerID: string): readonly string[] {
  const last = instanceIn(providerID)
  const dot = last.indexOf('.')
  return dot === -1 ? [last] : [last, last.slice(dot + 1)]
}

/** The provider in the id, if any. */
export function schemeIn(providerID: string): string | undefined {
  const at = providerID.indexOf('://')
  return at === -1 ? undefined : providerID.slice(0, at).trim().toLowerCase()
}

function partsOf(providerID: string): readonly string[] {
  const at = providerID.indexOf('://')
  return (at === -1 ? providerID : providerID.slice(at + 3))
    .split('/')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '')
}

export const internalAddresses = ({ status }: Pick<Node, 'status'>): readonly string[] =>
  (status?.addresses ?? []).flatMap((a) => (a.type === 'InternalIP' ? [a.address] : []))
