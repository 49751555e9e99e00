// Hosts at AWS: makes, finds, switches and removes EC2 instances of one region that carry the tag of the cluster.
import type { Out } from '#api/build.ts'
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
import { notMade } from '../cloud/make-result.ts'
import { allPages } from '../cloud/pages.ts'
import { diskOf, listOf, pairsOf, placeIn, paramsReader } from '../cloud/params.ts'
import { hostTags, TAGS, tagsFor } from '../cloud/tags.ts'
import type { Capabilities, Offering } from '../port.ts'
import { EC2_MISSING, EC2_TOKEN_USED, ec2Meaning } from './codes.ts'
import { ec2Maintenance } from './maintenance.ts'
import { awsParams } from './params.ts'
import { type Ask, filters, type Order, type Params, unreadable } from './query.ts'
import { type Xml, xmlAt, xmlItems, xmlText } from './xml.ts'
import { defined } from '#lib/defined.ts'

const readParams = paramsReader(awsParams)

const AWS_CAPABILITIES: Capabilities = {
  isHostKept: false,
  visibleWithinMs: 120_000,
  markets: ['OnDemand', 'Spot'],
  userDataBytes: 16 * 1024,
}

export interface Ec2Options {
  readonly region: string
  readonly cluster: string
  readonly call: Call
}

const LONGEST_TOKEN = 64
const PAGE = '1000'
const ROOT_DEVICE = '/dev/xvda'

const isId = (text: string): boolean => /^i-[0-9a-f]{8,32}$/.test(text)

export function createEc2Api({ region, cluster, call }: Ec2Options): CloudApi {
  const place = `${region} of AWS`
  const ask: Ask = async (action, params, how) => {
    const body = bodyOf(await call({ action, params }, how), { action, params }, place) as Xml
    const answer = xmlAt(body, `${action}Response`)
    if (answer === undefined) throw unreadable(action, 'it is the answer to something else')
    return answer
  }
  const ordered = async (...[action, params, how]: Parameters<Order>): Promise<RemoveResult> => {
    const result = await call({ action, params }, how)
    if (result.kind === 'Code' && result.code === EC2_MISSING) return missing(result)
    bodyOf(result, { action, params }, place)
    return 'Ordered'
  }
  const order: Order = async (...asked) => ((await ordered(...asked)) === 'Ordered' ? 'Ordered' : 'Missing')
  const instancesAs = <T>(read: (instance: Xml) => T | undefined, filter: Params, signal?: AbortSignal) =>
    allPages(`the instances in ${place}`, async (next) => {
      const asked = { MaxResults: PAGE, ...filter, ...defined({ NextToken: next }) }
      const body = await ask('DescribeInstances', asked, { signal })
      const reservations = xmlItems(body, 'reservationSet')
      if (reservations === undefined) throw unreadable('DescribeInstances', 'it has no list of reservations')
      const items = reservations.flatMap((r) => {
        const own = xmlItems(r, 'instancesSet')
        if (own === undefined) throw unreadable('DescribeInstances', 'a reservation has no list of instances')
        return own
      })
      return { items: items.flatMap((i) => read(i) ?? []), next: xmlText(body, 'nextToken') }
    })
  const instances = (filter: Params, signal?: AbortSignal) => instancesAs((i) => hostOf(i, cluster), filter, signal)
  return {
    name: 'aws',
    region,
    capabilities: AWS_CAPABILITIES,
    isId,
    async make(request, signal) {
      const made = orderOf(request, cluster)
      if (made.kind === 'Refused') return made
      const result = await call({ action: 'RunInstances', params: made.params }, { signal })
      if (result.kind !== 'Answer')
        return notMade(result, made.offering, (code) => (code === EC2_TOKEN_USED ? 'TokenUsed' : ec2Meaning(code)))
      const [instance, ...more] = xmlItems(result.body as Xml, 'RunInstancesResponse', 'instancesSet') ?? []
      const id = xmlText(instance, 'instanceId')
      if (id === undefined || !isId(id) || more.length > 0)
        return { kind: 'Unknown', message: 'the answer does not name one instance' }
      const host = hostOf(instance, cluster)
      return { kind: 'Made', id, ...defined({ host }) }
    },
    withToken: (token, signal) => instances(filters([[`tag:${TAGS.token}`, [token]]]), signal),
    // By filter: asked for by id, one missing instance would fail the answer about all others.
    read: (ids) => instancesAs((i) => hostOf(i, cluster) ?? taggedOf(i), filters([['instance-id', ids]])),
    all: (signal) => instances(filters([[`tag:${TAGS.cluster}`, [cluster]]]), signal),
    tagged: (name, value, signal) => instancesAs(taggedOf, filters([[`tag:${name}`, [value]]]), signal),
    remove: (id, signal) => ordered('TerminateInstances', { 'InstanceId.1': id }, { signal }),
    power: (id, to, hard, signal) =>
      to === 'On'
        ? order('StartInstances', { 'InstanceId.1': id }, { signal })
        : order('StopInstances', { 'InstanceId.1': id, ...(hard && { Force: 'true' }) }, { signal }),
    // It is tried softly for four minutes and then forced; there is no other way.
    reboot: (id, _hard, signal) => order('RebootInstances', { 'InstanceId.1': id }, { signal, once: true }),
    ...ec2Maintenance({ ask, order }),
  }
}

type OrderParams =
  | { readonly kind: 'Order'; readonly params: Params; readonly offering: Offering }
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
  const at = placeIn(params.subnets, offering.zone ?? params.zone)
  if (at === undefined) return refused(`parameter subnets has none for zone ${offering.zone ?? params.zone}`)
  const ours = tagsFor(cluster, { machine, machineUid, token: clientToken })
  const tags = [['Name', machine] as const, ...ours, ...pairsOf(params.tags)]
  const tagged = (n: number, what: string) => ({
    [`TagSpecification.${n}.ResourceType`]: what,
    ...Object.fromEntries(
      tags.flatMap(([name, value], i) => [
        [`TagSpecification.${n}.Tag.${i + 1}.Key`, name],
        [`TagSpecification.${n}.Tag.${i + 1}.Value`, value],
      ]),
    ),
  })
  return {
    kind: 'Order',
    offering: { ...defined({ zone: at.zone }), type },
    params: {
      ClientToken: clientToken,
      MinCount: '1',
      MaxCount: '1',
      ImageId: params.image,
      InstanceType: type,
      SubnetId: at.network,
      ...defined({ 'Placement.AvailabilityZone': at.zone }),
      ...Object.fromEntries(listOf(params.securityGroups).map((id, i) => [`SecurityGroupId.${i + 1}`, id])),
      ...tagged(1, 'instance'),
      ...tagged(2, 'volume'),
      ...disksOf(params),
      ...extrasOf(params),
      ...(offering.market === 'Spot' && spotOf(params)),
      'MetadataOptions.HttpEndpoint': 'enabled',
      'MetadataOptions.HttpTokens': params.metadata === 'Optional' ? 'optional' : 'required',
      UserData: Buffer.from(userData).toString('base64'),
    },
  }
}

type HostParams = Out<typeof awsParams>

function disksOf({ systemDisk, rootDevice = ROOT_DEVICE, dataDisks }: HostParams): Params {
  const system = systemDisk === undefined ? [] : [[rootDevice, systemDisk] as const]
  // The vendor names f and what follows for disks of the user.
  const data = listOf(dataDisks).map((disk, i) => [`/dev/sd${String.fromCodePoint(0x66 + i)}`, disk] as const)
  return Object.fromEntries(
    [...system, ...data].flatMap(([device, disk], i) => {
      const at = `BlockDeviceMapping.${i + 1}`
      return [
        [`${at}.DeviceName`, device],
        [`${at}.Ebs.VolumeType`, diskOf(disk).category],
        [`${at}.Ebs.VolumeSize`, diskOf(disk).gib],
        [`${at}.Ebs.DeleteOnTermination`, 'true'],
      ]
    }),
  ) as Params
}

const extrasOf = ({ role, keyPair, placementGroup }: HostParams): Params =>
  defined({ 'IamInstanceProfile.Name': role, KeyName: keyPair, 'Placement.GroupName': placementGroup })

const spotOf = ({ spotPrice }: HostParams): Params => ({
  'InstanceMarketOptions.MarketType': 'spot',
  'InstanceMarketOptions.SpotOptions.SpotInstanceType': 'one-time',
  'InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior': 'terminate',
  ...defined({ 'InstanceMarketOptions.SpotOptions.MaxPrice': spotPrice }),
})

const STATES: Readonly<Record<string, CloudHost['state']>> = {
  pending: 'Creating',
  running: 'Running',
  'shutting-down': 'Deleting',
  terminated: 'Ended',
  stopping: 'Running',
  stopped: 'Stopped',
}

/** Undefined for what was terminated and is only shown for a while. */
function taggedOf(instance: Xml): TaggedInstance | undefined {
  const [id, address] = [xmlText(instance, 'instanceId'), xmlText(instance, 'privateIpAddress')]
  if (id === undefined) throw unreadable('DescribeInstances', 'an instance has no id')
  if (STATES[xmlText(instance, 'instanceState', 'name') ?? ''] === 'Ended') return undefined
  return { id, ...defined({ address }) }
}

/** Undefined for instances that are not of this cluster. */
function hostOf(instance: Xml | undefined, cluster: string): CloudHost | undefined {
  const tags = new Map(
    (xmlItems(instance, 'tagSet') ?? []).flatMap((t) => {
      const [key, value] = [xmlText(t, 'key'), xmlText(t, 'value')]
      return key === undefined || value === undefined ? [] : [[key, value] as const]
    }),
  )
  const ours = hostTags(cluster, tags)
  if (ours === undefined) return undefined
  const [id, status] = [xmlText(instance, 'instanceId'), xmlText(instance, 'instanceState', 'name')]
  const state = STATES[status ?? '']
  // Asked for by such an id, no host would be found, and it would count as gone.
  if (id !== undefined && !isId(id)) throw unreadable('DescribeInstances', 'an instance has an id that is none')
  // An unknown state is no state: the whole answer is refused, rather than one host left out.
  if (id === undefined || state === undefined)
    throw unreadable('DescribeInstances', `an instance has the state ${JSON.stringify(status)}`)
  const [zone, type] = [xmlText(instance, 'placement', 'availabilityZone'), xmlText(instance, 'instanceType')]
  const address = xmlText(instance, 'privateIpAddress')
  return {
    ...ours,
    id,
    state,
    createdAt: wholeTime(xmlText(instance, 'usageOperationUpdateTime') ?? xmlText(instance, 'launchTime')),
    offering: {
      ...defined({ zone, type }),
      market: xmlText(instance, 'instanceLifecycle') === 'spot' ? 'Spot' : 'OnDemand',
    },
    ...defined({ address }),
  }
}

function wholeTime(text = ''): string {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? '' : `${new Date(ms).toISOString().slice(0, 19)}Z`
}
