// Which objects a recorded fact names: what a repair, a permit, a hold or a maintenance is for. Kept when it is written, so that the life of a node is found
// without a scan. Pure.
import { fieldsOf } from '#lib/fields.ts'
import type { Deed } from '../deeds/deeds.ts'

type Read = (value: unknown) => readonly unknown[]

const name = (value: unknown): unknown => fieldsOf(value)['name']

/** By topic. Kinds whose spec is one fact have it under `spec`, the others part by part. */
const NAMED: Readonly<Record<string, Read>> = {
  spec: (spec) => {
    const { node, machine, remedierRef, target } = fieldsOf(spec)
    return [name(node), machine, name(remedierRef), name(target)]
  },
  'spec/machine': (machine) => [machine],
  'status/nodeRef': (node) => [name(node)],
  'spec/targets': (targets) => (Array.isArray(targets) ? targets.map(name) : []),
}

export const LINKING_TOPICS = Object.keys(NAMED)

export function namesIn(topic: string, json: string): readonly string[] {
  const found = NAMED[topic]?.(JSON.parse(json) as unknown) ?? []
  return [...new Set(found.filter((n): n is string => typeof n === 'string' && n !== ''))]
}

/** `machine/n-1`, as texts of who did what name an object. */
const NAMED_IN_TEXT = /[a-z]\/([a-z0-9][a-z0-9.-]*[a-z0-9]|[a-z0-9])/g

export function namesInDeed({ object, what = '' }: Pick<Deed, 'object' | 'what'>): readonly string[] {
  const own = object.slice(object.lastIndexOf('/') + 1)
  return [...new Set([own, ...[...what.matchAll(NAMED_IN_TEXT)].map(([, name = '']) => name)])].filter((n) => n !== '')
}
