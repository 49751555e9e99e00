// A cloud account in one region: lists hosts with the cluster's tag, creates, switches and deletes them, and reads their maintenance, in the vendor's terms.
// Unreadable data is an error, never an absence.
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { FaultCategory, MaintenanceAnswer, Offering, Ordered } from '../port.ts'
import { providersErrors } from '../providers-errors.ts'
import { bodyOf, type Call, type CallResult } from './call.ts'
import {
  type CloudHost,
  type CloudMaintenance,
  type HostOrder,
  type MakeResult,
  missing,
  type RemoveResult,
  type TaggedInstance,
} from './hosts.ts'
import type { Asked, CommonParams, Dialect, NewInstance, SeenInstance } from './dialect.ts'
import { pairsOf, paramsReader, placeIn } from './params.ts'
import { hostTags, TAGS, tagsFor } from './tags.ts'
import { type Codes, meaningOf } from './codes.ts'

export interface AccountOptions {
  readonly region: string
  readonly cluster: string
  readonly call: Call
}

/** Reads are complete or throw; orders return `Missing` only for the vendor's exact code. */
export type Account = ReturnType<typeof createAccount>

/** The limit of both vendors; a truncated token would be a different token. */
const LONGEST_TOKEN = 64

/** Stock comes back within minutes, or not today; asking more often does not help. */
const STOCK_AGAIN_MS = 5 * 60_000

/** Every result except a success. */
function notMade(
  result: Exclude<CallResult, { readonly kind: 'Answer' }>,
  { offering: { zone, type }, isPicky }: { readonly offering: Offering; readonly isPicky: boolean },
  codes: Codes,
): MakeResult {
  if (result.kind === 'Throttled') return result
  if (result.kind === 'NoAnswer') return { kind: 'Unknown', message: result.message }
  const text = `${result.code}: ${result.message}`
  if (result.code === codes.tokenUsed) return { kind: 'TokenUsed', message: text }
  const meaning = meaningOf(codes, result.code)
  if (meaning === undefined) return { kind: 'Unknown', message: text }
  if (meaning === 'Refused') return { kind: 'Refused', reason: text }
  const exhausted = { kind: 'Exhausted', reason: text, retryAfterMs: STOCK_AGAIN_MS } as const
  // A named zone or type closes it for other pools too.
  if (meaning === 'NoneForIt' || (meaning === 'NoneThere' && isPicky)) return exhausted
  return {
    ...exhausted,
    ...(meaning !== 'NoneOfType' && zone !== undefined && { zone }),
    ...(meaning !== 'NoneInZone' && type !== undefined && { type }),
  }
}

export function createAccount<Part, P extends CommonParams>(
  dialect: Dialect<Part, P>,
  { region, cluster, call }: AccountOptions,
) {
  const { name, capabilities, instances, events } = dialect
  const place = `${region} of ${dialect.vendor}`
  const newInstance = instanceReader(dialect, cluster)
  const whole = ({ action, params }: Asked) => ({ action, params: { ...dialect.everyCall(region), ...params } })
  const unreadable = (action: string, what: string) =>
    new KubeNodeError(providersErrors.KN11045_form({ action, place, what }), { retry: 'later' })

  const pages = <T>(
    what: string,
    list: Asked,
    read: (answer: Part) => readonly T[] | undefined,
    signal?: AbortSignal,
  ) =>
    allPages(`the ${what} in ${place}`, async (next) => {
      const asked = whole({ ...list, params: { ...list.params, ...defined({ NextToken: next }) } })
      const answer = dialect.answerIn(asked.action, bodyOf(await call(asked, { signal }), asked, place))
      if (answer === undefined) throw unreadable(asked.action, 'it is the answer to something else')
      const items = read(answer)
      if (items === undefined) throw unreadable(asked.action, `it has no list of ${what}`)
      return { items, next: dialect.nextIn(answer) }
    })

  const instancesAs = <T>(
    read: (instance: SeenInstance) => T | undefined,
    filter: Asked['params'],
    signal?: AbortSignal,
  ) => {
    const list = { ...instances.list, params: { ...instances.list.params, ...filter } }
    const readAll = (answer: Part) => instances.in(answer)?.flatMap((i) => read(instances.seen(i)) ?? [])
    return pages('instances', list, readAll, signal)
  }

  const ordered = async (asked: Asked, signal: AbortSignal | undefined): Promise<RemoveResult> => {
    const { once = false } = asked
    const result = await call(whole(asked), { signal, once })
    if (result.kind === 'Code' && result.code === dialect.codes.missing) return missing(result)
    bodyOf(result, asked, place)
    return 'Ordered'
  }
  const order = async (asked: Asked, signal: AbortSignal | undefined): Promise<'Ordered' | 'Missing'> =>
    (await ordered(asked, signal)) === 'Ordered' ? 'Ordered' : 'Missing'

  /** Undefined for an ended instance that is only shown for a while. */
  const taggedOf = ({ id, status, address }: SeenInstance): TaggedInstance | undefined => {
    if (id === undefined) throw unreadable(instances.list.action, 'an instance has no id')
    return instances.states[status ?? ''] === 'Ended' ? undefined : { id, ...defined({ address }) }
  }

  /** Undefined for instances of other clusters. */
  const hostOf = (seen: SeenInstance): CloudHost | undefined => {
    const { id, status, tags = new Map(), zone, type, isSpot, isReclaimed, address } = seen
    const ours = hostTags(cluster, tags)
    if (ours === undefined) return undefined
    const state = instances.states[status ?? '']
    // A request with such an id would find no host, and the host would count as gone.
    if (id !== undefined && !dialect.isId(id))
      throw unreadable(instances.list.action, 'an instance has an id that is none')
    // Refuse the whole answer for an unknown state, instead of leaving one host out.
    if (id === undefined || state === undefined)
      throw unreadable(instances.list.action, `an instance has the state ${JSON.stringify(status)}`)
    return {
      ...ours,
      id,
      state,
      createdAt: wholeTime(seen.created),
      offering: { ...defined({ zone, type }), market: isSpot === true ? 'Spot' : 'OnDemand' },
      ...defined({ address }),
      ...(isReclaimed === true && { isReclaimed }),
    }
  }

  const eventsIn = (list: Asked, signal?: AbortSignal) => pages('events', list, (a) => events.in(a), signal)

  return {
    name,
    region,
    capabilities,
    isId: (text: string) => dialect.isId(text),
    async make(request: HostOrder, signal?: AbortSignal): Promise<MakeResult> {
      const read = newInstance(request)
      if (read.kind === 'Refused') return read
      const asked = dialect.make(read.instance)
      const result = await call(whole(asked), { signal })
      if (result.kind !== 'Answer')
        return notMade(
          result,
          { offering: read.offering, isPicky: dialect.isPicky(read.instance.params) },
          dialect.codes,
        )
      const answer = dialect.answerIn(asked.action, result.body)
      const [made, ...more] = (answer === undefined ? undefined : dialect.made(answer)) ?? []
      if (made?.id === undefined || !dialect.isId(made.id) || more.length > 0)
        return { kind: 'Unknown', message: 'the answer does not name one instance' }
      return { kind: 'Made', id: made.id, ...defined({ host: hostOf(made) }) }
    },
    withToken: async (token: string, signal?: AbortSignal): Promise<readonly CloudHost[]> =>
      (await instancesAs(hostOf, instances.withTag(TAGS.token, token), signal)).filter((h) => h.token === token),
    /** Existing instances without KubeNode's tags are included, as tagged instances. */
    read: (ids: readonly string[]): Promise<readonly (CloudHost | TaggedInstance)[]> =>
      instancesAs((i) => hostOf(i) ?? taggedOf(i), instances.withIds(ids)),
    all: (signal?: AbortSignal) => instancesAs(hostOf, instances.withTag(TAGS.cluster, cluster), signal),
    /** Includes hosts of other clusters. */
    tagged: (tag: string, value: string, signal?: AbortSignal) =>
      instancesAs(taggedOf, instances.withTag(tag, value), signal),
    remove: (id: string, signal?: AbortSignal) => ordered(dialect.remove(id), signal),
    power: (id: string, to: 'On' | 'Off', hard: boolean, signal?: AbortSignal) =>
      order(dialect.power(id, to, hard), signal),
    reboot: (id: string, hard: boolean, signal?: AbortSignal) => order(dialect.reboot(id, hard), signal),
    /** Only for these hosts. */
    async maintenance(hosts: readonly CloudHost[], signal?: AbortSignal): Promise<readonly CloudMaintenance[]> {
      const ours = new Set(hosts.map((h) => h.id))
      const announced = (await eventsIn(events.list(), signal)).filter((e) => ours.has(e.id))
      return [...announced, ...hosts.filter((h) => h.isReclaimed === true).map(reclaimOf)]
    },
    async respond(eventId: string, answer: MaintenanceAnswer, signal?: AbortSignal): Promise<Ordered | 'Refused'> {
      const event = (await eventsIn(events.list(eventId), signal)).find((e) => e.eventId === eventId)
      if (event === undefined) return 'Gone'
      if (!event.answers.includes(answer.kind)) return 'Refused'
      return (await order(events.answer(event, answer), signal)) === 'Missing' ? 'Gone' : 'Ordered'
    },
    reportFault: (id: string, category: FaultCategory, text: string, signal?: AbortSignal) =>
      order(dialect.report(id, category, text), signal),
  }
}

type ReadOrder<P> =
  | { readonly kind: 'Instance'; readonly instance: NewInstance<P>; readonly offering: Offering }
  | Extract<MakeResult, { readonly kind: 'Refused' }>

/** Builds the instance to create from a request. Pure. */
function instanceReader<P extends CommonParams>(
  { paramsSchema, networks }: Pick<Dialect<never, P>, 'paramsSchema' | 'networks'>,
  cluster: string,
): (order: HostOrder) => ReadOrder<P> {
  const readParams = paramsReader(paramsSchema)
  const refused = (reason: string) => ({ kind: 'Refused', reason }) as const
  return ({ clientToken: token, machine, machineUid, offering = {}, userData, ...request }) => {
    const read = readParams(request.params)
    if (read.kind === 'Refused') return read
    if (token.length > LONGEST_TOKEN) return refused(`a token has at most ${LONGEST_TOKEN} characters`)
    const { params } = read
    const type = offering.type ?? params.type
    if (type === undefined) return refused('parameter type is required where no offering names a type')
    const wanted = offering.zone ?? params.zone
    const at = placeIn(networks.of(params), wanted)
    if (at === undefined) return refused(`parameter ${networks.param} has none for zone ${wanted}`)
    const tags = [...tagsFor(cluster, { machine, machineUid, token }), ...pairsOf(params.tags)]
    const { market } = offering
    const instance = {
      params,
      token,
      machine,
      type,
      ...at,
      market,
      tags,
      userData: Buffer.from(userData).toString('base64'),
    }
    return { kind: 'Instance', instance, offering: { ...defined({ zone: at.zone }), type } }
  }
}

/** Minutes before the vendor reclaims a spot host. */
const reclaimOf = ({ id }: CloudHost): CloudMaintenance => ({
  id,
  eventId: `reclaim-${id}`,
  kind: 'Reclaim',
  // Announced but not started: workloads can still be moved.
  state: 'Scheduled',
  isUnplanned: true,
  losesData: true,
  answers: [],
  description: 'the vendor reclaims the spot host',
})

/** In whole seconds: one vendor writes minutes, the other milliseconds. Empty if it is not a time. */
function wholeTime(text = ''): string {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? '' : `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** A hundred hosts each. */
const MOST_PAGES = 1_000

interface Page<T> {
  readonly items: readonly T[]
  /** Empty or missing on the last page. */
  readonly next?: string | undefined
}

/** Reads all pages of a list or fails: an incomplete list is useless. */
async function allPages<T>(what: string, page: (next: string | undefined) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = []
  const asked = new Set<string | undefined>()
  let next: string | undefined
  do {
    const isEndless = asked.has(next) || asked.size >= MOST_PAGES
    if (isEndless) throw new KubeNodeError(providersErrors.KN11045({ what, pages: asked.size }), { retry: 'later' })
    asked.add(next)
    const found = await page(next)
    for (const item of found.items) items.push(item)
    next = found.next === '' ? undefined : found.next
  } while (next !== undefined)
  return items
}
