// Who changed labels, taints, cordons and specs of Nodes and Machines: from the changed facts and the managed fields. While a recorder runs, the last writer set a
// field. After a time without one, only a manager that owns the field and wrote it in that time did; of all else, and of removed fields, the author is unknown. Pure.
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { fieldsOf } from '#lib/fields.ts'
import { unescaped } from '../facts/facts.ts'
import { type Deed, UNKNOWN, labelOf, writerOf } from './deeds.ts'

export interface ChangedField {
  /** A topic, such as `metadata/labels/kubenode.io~1pool`. */
  readonly path: string
  /** Canonical JSON; undefined if the field was not there, or is not there. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Fields of Nodes and Machines that people change. */
const DECLARED = /^(?:spec\/(?:unschedulable|taints)$|metadata\/labels\/)/
export const isDeclaredField = (path: string): boolean => DECLARED.test(path)

/** They write nodes all day; what they write is recorded as facts. */
const PROGRAM =
  /^(?:kubenode-.*|kubelet|k3s.*|kube-controller-manager|cloud-controller-manager|.*node-feature-discovery.*)$/
/** Taints that controllers of Kubernetes and KubeNode set for conditions and repairs. */
const TAINT_OF_PROGRAM = /^(?:node\.(?:kubernetes|cloudprovider\.kubernetes)\.io|(?:.*\.)?kubenode\.io)\//
const MOST_NAMED = 3

export interface ChangedOptions {
  readonly object: KubeObject
  readonly fields: readonly ChangedField[]
  /** When the recorder before last wrote, if none ran since. */
  readonly notBefore: number | undefined
}

export function changedFieldsDeeds({ object, fields, notBefore }: ChangedOptions): readonly Deed[] {
  const by = new Map<string, { readonly writer: ManagedFieldsEntry | undefined; readonly what: string[] }>()
  for (const field of fields) {
    const what = whatOf(field)
    if (what.length === 0) continue
    const last = notBefore === undefined ? writerOf(object) : ownerOf(object, field, notBefore)
    if (PROGRAM.test(last?.manager ?? UNKNOWN) && !isUncordon(field)) continue
    // The entry of the owner disappears with its last field, and the newest one that is left is of another change.
    const writer = field.after === undefined ? undefined : last
    const who = writer?.manager ?? UNKNOWN
    const own = by.get(who) ?? { writer, what: [] }
    own.what.push(...what)
    by.set(who, own)
  }
  return [...by].map(([who, { writer, what }]) => {
    const reported = Date.parse(writer?.time ?? '')
    const more = what.length - MOST_NAMED
    return {
      who,
      did: 'changed',
      object: labelOf(object),
      what: `${what.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
      ...(Number.isNaN(reported) ? {} : { reported }),
      ...defined({ notBefore }),
    }
  })
}

/** Only people do this: programs use taints. */
const isUncordon = ({ path, after }: ChangedField): boolean => path === 'spec/unschedulable' && after !== 'true'

/** The manager that owns the field and wrote it in the time without a recorder. A removed field has none. */
function ownerOf(
  { metadata }: KubeObject,
  { path, after }: ChangedField,
  notBefore: number,
): ManagedFieldsEntry | undefined {
  if (after === undefined) return undefined
  const owners = (metadata.managedFields ?? []).filter(
    (entry) => (entry.subresource ?? '') === '' && wroteSince(entry, notBefore) && owns(entry, path),
  )
  return owners.length === 1 ? owners[0] : undefined
}

/** Times of servers are whole seconds. */
export const wroteSince = ({ time = '' }: ManagedFieldsEntry, since: number): boolean =>
  Date.parse(time) >= Math.floor(since / 1_000) * 1_000

function owns({ fieldsV1 }: ManagedFieldsEntry, path: string): boolean {
  let at: unknown = fieldsV1
  for (const token of path.split('/')) at = fieldsOf(at)[`f:${unescaped(token)}`]
  return at !== undefined
}

function whatOf({ path, before, after }: ChangedField): readonly string[] {
  if (path === 'spec/unschedulable') {
    const [was, is] = [before === 'true', after === 'true']
    return was === is ? [] : [is ? 'cordoned' : 'uncordoned']
  }
  if (path === 'spec/taints') {
    const [old, now] = [taintsOf(before), taintsOf(after)]
    return [
      ...now.filter((t) => !old.includes(t)).map((t) => `taint ${t} added`),
      ...old.filter((t) => !now.includes(t)).map((t) => `taint ${t} removed`),
    ]
  }
  const label = unescaped(path.slice(path.lastIndexOf('/') + 1))
  return [after === undefined ? `label ${label} removed` : `label ${label}=${String(JSON.parse(after))}`]
}

const taintsOf = (json: string | undefined): readonly string[] => {
  const all: unknown = json === undefined ? [] : JSON.parse(json)
  return (Array.isArray(all) ? all : [])
    .map(fieldsOf)
    .filter(({ key }) => !TAINT_OF_PROGRAM.test(String(key)))
    .map(({ key, effect }) => `${String(key)}:${String(effect)}`)
}
