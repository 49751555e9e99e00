// Deeds, for an audit: changes by people and programs, derived from an object before and after. Pure. A server records the field manager of a field, not the user;
// where KubeNode's own objects name a person (holds, approvals, maintenance, commits), the deed has that name.
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import { fieldsOf } from '#lib/fields.ts'

export interface Deed {
  /** A person, or the field manager of a program; `unknown` if the server recorded neither. */
  readonly who: string
  /** The field manager, if it differs from `who`. */
  readonly via?: string
  readonly did:
    | 'created'
    | 'changed'
    | 'deleted'
    | 'ended'
    | 'approved'
    | 'planned'
    | 'released'
    | 'granted'
    | 'denied'
    | 'repaired'
  /** `machinecomponentset/base`. */
  readonly object: string
  /** What was done, in a few words. */
  readonly what?: string
  readonly why?: string
  readonly commit?: string
  /** The source's time, in milliseconds since 1970. */
  readonly reported?: number
  /** No recorder ran from then until it was observed: it happened in between. In milliseconds since 1970. */
  readonly notBefore?: number
}

/** Changes of these fields are decisions by users. All others are made by controllers and recorded as facts. */
const DECLARED: ReadonlySet<string> = new Set([
  'Cluster',
  'ComponentCanary',
  'DefenderPolicy',
  'FleetSource',
  'MachineComponentSet',
  'MachineSet',
  'NodeRemedier',
  'ReleasePipeline',
])
export const UNKNOWN = 'unknown'
const MAX_TEXT = 300

type Read = (path: string) => string | undefined

/** Value at a path such as `spec/author`; undefined unless it is a string. */
const reader =
  (object: KubeObject): Read =>
  (path) => {
    let at: unknown = object
    for (const key of path.split('/')) at = fieldsOf(at)[key]
    return typeof at === 'string' ? at.slice(0, MAX_TEXT) : undefined
  }

export function deedsOf(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  const object = after ?? before
  if (object === undefined) return []
  const made = ofKind(object.kind, before, after)
  if (made !== undefined) return made
  if (DECLARED.has(object.kind)) return ofDeclared(before, after)
  if (object.kind === 'Machine') return ofMachine(before, after)
  if (object.kind === 'Node') return ofNode(before, after)
  return []
}

/** Objects that exist to record a decision. */
function ofKind(
  kind: string,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): readonly Deed[] | undefined {
  switch (kind) {
    case 'OperationalHold':
      return ofHold(before, after)
    case 'Approval':
      return before === undefined && after !== undefined ? [ofApproval(after)] : []
    case 'MaintenanceEvent':
      return ofMaintenance(before, after)
    case 'Release':
      return ofRelease(before, after)
    case 'OperationPermit':
      return ofPermit(before, after)
    case 'RemedyOperationJob':
      return ofJob(before, after)
    default:
      return undefined
  }
}

export const labelOf = (object: KubeObject): string => `${object.kind.toLowerCase()}/${namespacedName(object)}`

/** The last manager that wrote the spec. */
export function writerOf({ metadata }: KubeObject): ManagedFieldsEntry | undefined {
  const own = (metadata.managedFields ?? []).filter((m) => (m.subresource ?? '') === '')
  return own.toSorted((a, b) => (b.time ?? '').localeCompare(a.time ?? ''))[0]
}

function signed(
  object: KubeObject,
  person: string | undefined,
): Pick<Deed, 'who' | 'via' | 'object' | 'reported' | 'commit'> {
  const writer = writerOf(object)
  const reported = Date.parse(writer?.time ?? object.metadata.creationTimestamp ?? '')
  const commit = object.metadata.annotations?.[ANNOTATIONS.commit] ?? reader(object)('spec/commit')
  return {
    who: person ?? writer?.manager ?? UNKNOWN,
    ...(person !== undefined && writer?.manager !== undefined && { via: writer.manager }),
    object: labelOf(object),
    ...(Number.isNaN(reported) ? {} : { reported }),
    ...defined({ commit }),
  }
}

const given = (key: 'what' | 'why', text: string | undefined): { readonly [K in 'what' | 'why']?: string } =>
  text === undefined || text === '' ? {} : { [key]: text }

function ofHold(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  const object = after ?? before
  if (object === undefined) return []
  const read = reader(object)
  const target = [read('spec/target/kind')?.toLowerCase(), read('spec/target/name') ?? '(by selector)'].join('/')
  const what = `${read('spec/effect') ?? ''} ${target} until ${read('spec/until') ?? ''}`
  const by = { ...given('what', what), ...given('why', read('spec/reason')) }
  if (before === undefined) return [{ ...signed(object, read('spec/author')), did: 'created', ...by }]
  // The server does not record who deleted it.
  if (after === undefined) return [{ who: UNKNOWN, did: 'deleted', object: labelOf(object), ...by }]
  return hasNewSpec(before, after) ? [{ ...signed(object, undefined), did: 'changed', ...by }] : []
}

function ofApproval(object: KubeObject): Deed {
  const read = reader(object)
  const of = [read('spec/of/kind')?.toLowerCase(), read('spec/of/name')].filter((t) => t !== undefined).join('/')
  const what = `${of === '' ? 'digest' : of} ${(read('spec/digest') ?? '').slice(0, 12)}`
  return {
    ...signed(object, read('spec/by')),
    did: 'approved',
    ...given('what', what),
    ...given('why', read('spec/reason')),
  }
}

function ofMaintenance(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  if (after === undefined) return []
  const read = reader(after)
  const what = `${read('spec/kind') ?? ''} of machine/${read('spec/machine') ?? ''}`
  const by = { ...given('what', what), ...given('why', read('spec/description')) }
  if (before === undefined)
    return [{ ...signed(after, read('spec/plannedBy') ?? read('spec/source')), did: 'planned', ...by }]
  const ended = read('spec/endedBy')
  return ended !== undefined && reader(before)('spec/endedBy') !== ended
    ? [{ ...signed(after, ended), did: 'ended', ...by }]
    : []
}

function ofRelease(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  if (after === undefined || before !== undefined) return []
  const read = reader(after)
  const what = `track ${read('spec/track') ?? ''}: ${read('spec/subject') ?? read('spec/commit') ?? ''}`
  return [
    {
      ...signed(after, read('spec/author')),
      did: 'released',
      ...given('what', what),
      ...given('why', read('spec/revertOf') && `reverts ${read('spec/revertOf')}`),
    },
  ]
}

function ofPermit(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  if (after === undefined) return []
  const phase = reader(after)('status/phase')
  if (phase === (before && reader(before)('status/phase')) || (phase !== 'Granted' && phase !== 'Denied')) return []
  const { operations, targets, requester } = fieldsOf(after['spec'])
  const names = (Array.isArray(targets) ? targets : []).map((t) => String(fieldsOf(t)['name']))
  const approved = fieldsOf(after['status'])['approvedBy']
  const what = `${String(operations)} on ${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`
  const reported = Date.parse(reader(after)('status/decidedAt') ?? '')
  return [
    {
      who: 'kubenode-defender',
      did: phase === 'Granted' ? 'granted' : 'denied',
      object: labelOf(after),
      what: `${what} for ${String(fieldsOf(requester)['kind'] ?? '').toLowerCase()}/${String(fieldsOf(requester)['name'] ?? '')}`.slice(
        0,
        MAX_TEXT,
      ),
      ...given(
        'why',
        Array.isArray(approved) && approved.length > 0
          ? `approved by ${approved.join(', ')}`
          : reader(after)('spec/reason'),
      ),
      ...(Number.isNaN(reported) ? {} : { reported }),
      ...commitOf(after),
    },
  ]
}

function ofJob(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  if (after === undefined) return []
  const read = reader(after)
  const isDone = read('status/phase') === 'Done' && (before === undefined || reader(before)('status/phase') !== 'Done')
  if (!isDone) return []
  const operations = fieldsOf(after['spec'])['operations']
  const names = (Array.isArray(operations) ? operations : []).flatMap((o) => Object.keys(fieldsOf(o)))
  const reported = Date.parse(read('status/finishedAt') ?? '')
  return [
    {
      who: `rule ${read('spec/remedierRef/name') ?? ''}`,
      did: 'repaired',
      object: `node/${read('spec/node/name') ?? ''}`,
      what: `${names.join(', ')}: ${read('status/outcome') ?? 'no outcome'}`,
      ...given('why', read('status/message')),
      ...(Number.isNaN(reported) ? {} : { reported }),
      ...commitOf(after),
    },
  ]
}

const commitOf = (object: KubeObject): { readonly commit?: string } => {
  const commit = reader(object)('spec/commit') ?? object.metadata.annotations?.[ANNOTATIONS.commit]
  return commit === undefined ? {} : { commit }
}

function ofDeclared(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  if (after === undefined)
    return before === undefined ? [] : [{ who: UNKNOWN, did: 'deleted', object: labelOf(before), ...commitOf(before) }]
  if (before === undefined) return [{ ...signed(after, undefined), did: 'created' }]
  return hasNewSpec(before, after) ? [{ ...signed(after, undefined), did: 'changed' }] : []
}

/** KubeNode's programs write Machines all day; only changes by others are deeds. */
function ofMachine(before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] {
  if (after === undefined)
    return before === undefined ? [] : [{ who: UNKNOWN, did: 'deleted', object: labelOf(before) }]
  const by = signed(after, undefined)
  if (before === undefined) return [{ ...by, did: 'created' }]
  const isOurs = by.who.startsWith('kubenode-') || by.who === UNKNOWN
  return hasNewSpec(before, after) && !isOurs ? [{ ...by, did: 'changed' }] : []
}

/** Its changed fields are in `changed-fields.ts`. */
const ofNode = (before: KubeObject | undefined, after: KubeObject | undefined): readonly Deed[] =>
  before !== undefined && after === undefined ? [{ who: UNKNOWN, did: 'deleted', object: labelOf(before) }] : []

/** What happened while no recorder ran. The last writer did it only if it wrote in that time. */
export const inGap = (deed: Deed, notBefore: number): Deed => {
  const { reported, via: _, ...rest } = deed
  return deed.did === 'changed' && (reported === undefined || reported < Math.floor(notBefore / 1_000) * 1_000)
    ? { ...rest, who: UNKNOWN, notBefore }
    : { ...deed, notBefore }
}

const hasNewSpec = (before: KubeObject, after: KubeObject): boolean =>
  before.metadata.generation !== after.metadata.generation
