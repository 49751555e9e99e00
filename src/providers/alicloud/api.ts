// Hosts at Alibaba Cloud: makes, finds, switches and removes ECS instances of one region that carry the tag of the cluster.
import type { Out } from '#api/build.ts'
import { allPages } from '../cloud/pages.ts'
import { bodyOf, type Call } from '../cloud/call.ts'
import {
  type CloudApi,
  type CloudHost,
  type HostOrder,
  type MakeResult,
  missing,
  type RemoveResult,
  type TaggedInstance,
} from '../cloud/cloud-provider.ts'
import { listIn, textIn } from '../cloud/json.ts'
import { notMade } from '../cloud/make-result.ts'
import { diskOf, listOf, pairsOf, placeIn, paramsReader } from '../cloud/params.ts'
import { hostTags, TAGS, tagsFor } from '../cloud/tags.ts'
import type { Capabilities, Host, Offering } from '../port.ts'
import type { EcsAction } from './actions.ts'
import { ECS_MISSING, ECS_TOKEN_USED, ecsMeaning } from './codes.ts'
import { ecsMaintenance } from './maintenance.ts'
import { alicloudParams } from './params.ts'
import { type Ask, type Order, unreadable } from './query.ts'
import { defined } from '#lib/defined.ts'

const readParams = paramsReader(alicloudParams)

const ALICLOUD_CAPABILITIES: Capabilities = {
  isHostKept: false,
  visibleWithinMs: 120_000,
  markets: ['OnDemand', 'Spot'],
  userDataBytes: 32 * 1024,
}

export interface EcsOptions {
  readonly region: string
  readonly cluster: string
  readonly call: Call
}

/** What the vendor allows; a longer one would be another one when it is cut. */
const LONGEST_TOKEN = 64
const PAGE = '100'

const isId = (text: string): boolean => /^i-[a-z0-9]{6,32}$/.test(text)

export function createEcsApi({ region, cluster, call }: EcsOptions): CloudApi {
  const place = `${region} of Alibaba Cloud`
  const whole = (action: EcsAction, params: Readonly<Record<string, string>>) => ({
    action,
    params: { RegionId: region, ...params },
  })
  const ask: Ask = async (action, params, how) => {
    const asked = whole(action, params)
    return bodyOf(await call(asked, how), asked, place)
  }
  const ordered = async (...[action, params, how]: Parameters<Order>): Promise<RemoveResult> => {
    const asked = whole(action, params)
    const result = await call(asked, how)
    if (result.kind === 'Code' && result.code === ECS_MISSING) return missing(result)
    bodyOf(result, asked, place)
    return 'Ordered'
  }
  const order: Order = async (...asked) => ((await ordered(...asked)) === 'Ordered' ? 'Ordered' : 'Missing')
  const instancesAs = <T>(
    read: (instance: unknown) => T | undefined,
    params: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ) =>
    allPages(`the instances in ${place}`, async (next) => {
      const body = await ask(
        'DescribeInstances',
        { MaxResults: PAGE, ...params, ...defined({ NextToken: next }) },
        { signal },
      )
      const items = listIn(body, 'Instances', 'Instance')
      if (items === undefined) throw unreadable('DescribeInstances', place, 'it has no list of instances')
      return { items: items.flatMap((i) => read(i) ?? []), next: textIn(body, 'NextToken') }
    })
  const instances = (params: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    instancesAs((i) => hostOf(i, cluster), params, signal)
  const tagged = (name: string, value: string) => ({ 'Tag.1.Key': name, 'Tag.1.Value': value })
  return {
    name: 'alicloud',
    region,
    capabilities: ALICLOUD_CAPABILITIES,
    isId,
    async make(request, signal) {
      const made = orderOf(request, cluster)
      if (made.kind === 'Refused') return made
      const result = await call(whole('RunInstances', made.params), { signal })
      if (result.kind !== 'Answer')
        return notMade(result, made.offering, (code) => (code === ECS_TOKEN_USED ? 'TokenUsed' : ecsMeaning(code)))
      const [id, ...more] = listIn(result.body, 'InstanceIdSets', 'InstanceIdSet') ?? []
      if (typeof id !== 'string' || !isId(id) || more.length > 0)
        return { kind: 'Unknown', message: 'the answer does not name one instance' }
      return { kind: 'Made', id }
    },
    withToken: async (token, signal) =>
      (await instances(tagged(TAGS.token, token), signal)).filter((h) => h.token === token),
    read: (ids) => instancesAs((i) => hostOf(i, cluster) ?? taggedOf(i), { InstanceIds: JSON.stringify(ids) }),
    all: (signal) => instances(tagged(TAGS.cluster, cluster), signal),
    tagged: (name, value, signal) => instancesAs(taggedOf, tagged(name, value), signal),
    remove: (id, signal) => ordered('DeleteInstance', { InstanceId: id, Force: 'true' }, { signal }),
    power: (id, to, hard, signal) =>
      to === 'On'
        ? order('StartInstance', { InstanceId: id }, { signal })
        : order('StopInstance', { InstanceId: id, ForceStop: String(hard), StoppedMode: 'KeepCharging' }, { signal }),
    reboot: (id, hard, signal) =>
      order('RebootInstance', { InstanceId: id, ForceStop: String(hard) }, { signal, once: true }),
    ...ecsMaintenance({ ask, order, place }),
  }
}

type OrderParams =
  | { readonly kind: 'Order'; readonly params: Readonly<Record<string, string>>; readonly offering: Offering }
  | Extract<MakeResult, { readonly kind: 'Refused' }>

/** Pure: the parameters of RunInstances. Equal requests give equal ones, or the token would be refused. */
function orderOf(request: HostOrder, cluster: string): OrderParams {
  const { clientToken, machine, machineUid, offering = {}, userData } = request
  const refused = (reason: string): OrderParams => ({ kind: 'Refused', reason })
  const read = readParams(request.params)
  if (read.kind === 'Refused') return read
  if (clientToken.length > LONGEST_TOKEN) return refused(`a token has at most ${LONGEST_TOKEN} characters`)
  const { params } = read
  const type = offering.type ?? params.type
  if (type === undefined) return refused('parameter type is required where no offering names a type')
  const at = placeIn(params.vSwitches, offering.zone ?? params.zone)
  if (at === undefined) return refused(`parameter vSwitches has none for zone ${offering.zone ?? params.zone}`)
  const tags = [...tagsFor(cluster, { machine, machineUid, token: clientToken }), ...pairsOf(params.tags)]
  return {
    kind: 'Order',
    offering: { ...defined({ zone: at.zone }), type },
    params: {
      ClientToken: clientToken,
      Amount: '1',
      InstanceName: machine,
      InstanceType: type,
      ImageId: params.image,
      VSwitchId: at.network,
      ...defined({ ZoneId: at.zone }),
      ...numbered('SecurityGroupIds', listOf(params.securityGroups)),
      ...Object.fromEntries(
        tags.flatMap(([name, value], i) => [
          [`Tag.${i + 1}.Key`, name],
          [`Tag.${i + 1}.Value`, value],
        ]),
      ),
      ...disksOf(params),
      ...extrasOf(params),
      ...(offering.market === 'Spot' && spotOf(params)),
      HttpEndpoint: 'enabled',
      HttpTokens: params.metadata === 'Optional' ? 'optional' : 'required',
      UserData: Buffer.from(userData).toString('base64'),
    },
  }
}

type Params = Out<typeof alicloudParams>

const numbered = (name: string, values: readonly string[]) =>
  Object.fromEntries(values.map((value, i) => [`${name}.${i + 1}`, value]))

function disksOf({ systemDisk, dataDisks }: Params): Readonly<Record<string, string>> {
  const of = (name: string, text: string) => ({
    [`${name}.Category`]: diskOf(text).category,
    [`${name}.Size`]: diskOf(text).gib,
  })
  return Object.assign(
    {},
    systemDisk === undefined ? {} : of('SystemDisk', systemDisk),
    ...listOf(dataDisks).map((disk, i) => ({
      ...of(`DataDisk.${i + 1}`, disk),
      [`DataDisk.${i + 1}.DeleteWithInstance`]: 'true',
    })),
  )
}

const extrasOf = ({ role, keyPair, deploymentSet, publicMbps }: Params) =>
  defined({
    RamRoleName: role,
    KeyPairName: keyPair,
    DeploymentSetId: deploymentSet,
    InternetMaxBandwidthOut: publicMbps,
  })

const spotOf = ({ spotPrice }: Params) =>
  spotPrice === undefined
    ? { SpotStrategy: 'SpotAsPriceGo' }
    : { SpotStrategy: 'SpotWithPriceLimit', SpotPriceLimit: spotPrice }

const STATES: Readonly<Record<string, Host['state']>> = {
  Pending: 'Creating',
  Starting: 'Creating',
  Running: 'Running',
  Stopping: 'Running',
  Stopped: 'Stopped',
}

function taggedOf(instance: unknown): TaggedInstance {
  const id = textIn(instance, 'InstanceId')
  if (id === undefined) throw unreadable('DescribeInstances', 'Alibaba Cloud', 'an instance has no id')
  return { id, ...addressOf(instance) }
}

function addressOf(instance: unknown): { readonly address?: string } {
  const [address] = listIn(instance, 'VpcAttributes', 'PrivateIpAddress', 'IpAddress') ?? []
  return typeof address === 'string' && address !== '' ? { address } : {}
}

/** Undefined for instances that are not of this cluster. */
function hostOf(instance: unknown, cluster: string): CloudHost | undefined {
  const tags = new Map(
    (listIn(instance, 'Tags', 'Tag') ?? []).flatMap((t) => {
      const [key, value] = [textIn(t, 'TagKey'), textIn(t, 'TagValue')]
      return key === undefined || value === undefined ? [] : [[key, value] as const]
    }),
  )
  const ours = hostTags(cluster, tags)
  const [id, status] = [textIn(instance, 'InstanceId'), textIn(instance, 'Status')]
  const state = STATES[status ?? '']
  if (ours === undefined) return undefined
  // Asked for by such an id, no host would be found, and it would count as gone.
  if (id !== undefined && !isId(id))
    throw unreadable('DescribeInstances', 'Alibaba Cloud', 'an instance has an id that is none')
  // An unknown state is no state: the whole answer is refused, rather than one host left out.
  if (id === undefined || state === undefined)
    throw unreadable('DescribeInstances', 'Alibaba Cloud', `an instance has the status ${JSON.stringify(status)}`)
  const [zone, type] = [textIn(instance, 'ZoneId'), textIn(instance, 'InstanceType')]
  const isSpot = (textIn(instance, 'SpotStrategy') ?? 'NoSpot') !== 'NoSpot'
  const isReclaimed = (listIn(instance, 'OperationLocks', 'LockReason') ?? []).some(
    (l) => textIn(l, 'LockReason') === 'Recycling',
  )
  return {
    ...ours,
    id,
    state,
    createdAt: wholeTime(textIn(instance, 'CreationTime')),
    offering: {
      ...defined({ zone, type }),
      market: isSpot ? 'Spot' : 'OnDemand',
    },
    ...addressOf(instance),
    ...(isReclaimed && { isReclaimed }),
  }
}

/** The vendor writes minutes: 2026-01-05T00:00Z */
function wholeTime(text = ''): string {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? '' : `${new Date(ms).toISOString().slice(0, 19)}Z`
}
