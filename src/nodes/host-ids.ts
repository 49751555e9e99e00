// Whether a Node, a Machine and a host mean the same host, although each writes its id in its own way. Pure. Every cut of a host's id is here.
import type { Node } from './objects.ts'

/**
 * The last part of an id, which is that of the instance for most who write one: `i-1` of `aws:///eu-central-1a/i-1` and of `aws://eu-central-1/i-1`, but
 * `cn-hangzhou.i-1` where Alibaba Cloud's own controller wrote it.
 */
export const instanceIn = (providerID: string): string => partsOf(providerID).at(-1) ?? ''

/** What others may write as the last part of the id that KubeNode gave a host: its instance, or its instance behind its region. */
export function spellingsOf(hostID: string): readonly string[] {
  const parts = partsOf(hostID)
  const last = parts.at(-1) ?? ''
  return [last, ...parts.slice(0, -1).map((place) => `${place}.${last}`)]
}

/**
 * Which instances an id from another program may mean: `a.b` is instance b in region a, or a host of that name. For those who must not harm a host that may be in use; who
 * takes one for another compares the last part alone.
 */
export function instancesIn(providerID: string): readonly string[] {
  const last = instanceIn(providerID)
  const dot = last.indexOf('.')
  return dot === -1 ? [last] : [last, last.slice(dot + 1)]
}

/** The provider that the id names, where it names one. */
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
