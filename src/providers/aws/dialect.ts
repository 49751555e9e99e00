// The EC2 names of calls and fields that the provider uses. Spot events only reach the host itself, through its agent.
import type { Out } from '#api/build.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { shortened } from '#lib/shortened.ts'
import type { Params } from '../cloud/call.ts'
import type { CloudHost, CloudMaintenance } from '../cloud/hosts.ts'
import {
  type Asked,
  DESCRIPTION_CHARS,
  type Dialect,
  type NewInstance,
  numbered,
  numberedTags,
} from '../cloud/dialect.ts'
import { diskOf, listOf } from '../cloud/params.ts'
import type { FaultCategory } from '../port.ts'
import type { Ec2Action } from './actions.ts'
import { EC2_ERROR_CODES } from './codes.ts'
import { EC2_CODES, ec2Event } from './event-codes.ts'
import { awsParams } from './params.ts'
import { type Xml, xmlAt, xmlItems, xmlText } from './xml.ts'

type HostParams = Out<typeof awsParams>

const PAGE = '1000'
const ROOT_DEVICE = '/dev/xvda'

const STATES: Readonly<Record<string, CloudHost['state']>> = {
  pending: 'Creating',
  running: 'Running',
  'shutting-down': 'Deleting',
  terminated: 'Ended',
  stopping: 'Running',
  stopped: 'Stopped',
}

const ask = (action: Ec2Action, params: Params): Asked => ({ action, params })
const once = (action: Ec2Action, id: string): Asked => ({ action, params: { 'InstanceId.1': id }, once: true })

const filter = (name: string, values: readonly string[]): Params => ({
  'Filter.1.Name': name,
  ...numbered('Filter.1.Value', values),
})

export const EC2: Dialect<Xml, HostParams> = {
  name: 'aws',
  vendor: 'AWS',
  capabilities: {
    isHostKept: false,
    visibleWithinMs: 120_000,
    markets: ['OnDemand', 'Spot'],
    userDataBytes: 16 * 1024,
  },
  codes: EC2_ERROR_CODES,
  paramsSchema: awsParams,
  networks: { param: 'subnets', of: ({ subnets }) => subnets },
  isPicky: ({ placementGroup }) => placementGroup !== undefined,
  isId: (text) => /^i-[0-9a-f]{8,32}$/.test(text),
  everyCall: () => ({}),
  answerIn: (action, body) => xmlAt(body as Xml, `${action}Response`),
  nextIn: (answer) => xmlText(answer, 'nextToken'),
  instances: {
    list: ask('DescribeInstances', { MaxResults: PAGE }),
    withTag: (name, value) => filter(`tag:${name}`, [value]),
    withIds: (ids) => filter('instance-id', ids),
    in: (answer) => allOf(xmlItems(answer, 'reservationSet')?.map((r) => xmlItems(r, 'instancesSet'))),
    seen: (instance) => ({
      id: xmlText(instance, 'instanceId'),
      status: xmlText(instance, 'instanceState', 'name'),
      tags: new Map(
        (xmlItems(instance, 'tagSet') ?? []).flatMap((t) => {
          const [key, value] = [xmlText(t, 'key'), xmlText(t, 'value')]
          return key === undefined || value === undefined ? [] : [[key, value] as const]
        }),
      ),
      zone: xmlText(instance, 'placement', 'availabilityZone'),
      type: xmlText(instance, 'instanceType'),
      isSpot: xmlText(instance, 'instanceLifecycle') === 'spot',
      address: xmlText(instance, 'privateIpAddress'),
      created: xmlText(instance, 'usageOperationUpdateTime') ?? xmlText(instance, 'launchTime'),
    }),
    states: STATES,
  },
  events: {
    list: () =>
      ask('DescribeInstanceStatus', {
        IncludeAllInstances: 'true',
        MaxResults: PAGE,
        ...filter('event.code', EC2_CODES),
      }),
    in: (answer) =>
      xmlItems(answer, 'instanceStatusSet')?.flatMap((s) =>
        (xmlItems(s, 'eventsSet') ?? []).flatMap((e) => eventOf(s, e) ?? []),
      ),
    answer: ({ id, eventId }, answer) =>
      answer.kind === 'Postpone'
        ? ask('ModifyInstanceEventStartTime', {
            InstanceId: id,
            InstanceEventId: eventId,
            NotBefore: timestamp(Date.parse(answer.until)),
          })
        : once('RebootInstances', id),
  },
  make: (instance) => ask('RunInstances', runParams(instance)),
  made: (answer) => xmlItems(answer, 'instancesSet')?.map((i) => EC2.instances.seen(i)),
  remove: (id) => ask('TerminateInstances', { 'InstanceId.1': id }),
  power: (id, to, hard) =>
    to === 'On'
      ? ask('StartInstances', { 'InstanceId.1': id })
      : ask('StopInstances', { 'InstanceId.1': id, ...(hard && { Force: 'true' }) }),
  // EC2 tries a soft reboot for four minutes and then forces it; there is no alternative.
  reboot: (id) => once('RebootInstances', id),
  report: (id, category, text) =>
    ask('ReportInstanceStatus', {
      'InstanceId.1': id,
      Status: 'impaired',
      'ReasonCode.1': REASONS[category],
      Description: text.slice(0, DESCRIPTION_CHARS),
    }),
}

/** Undefined if any of them is not a list. */
const allOf = <T>(lists: readonly (readonly T[] | undefined)[] | undefined): readonly T[] | undefined =>
  lists?.some((list) => list === undefined) === false ? lists.flatMap((list) => list ?? []) : undefined

function runParams({
  params,
  token,
  machine,
  type,
  network,
  zone,
  market,
  userData,
  ...instance
}: NewInstance<HostParams>): Params {
  const tags = [['Name', machine] as const, ...instance.tags]
  const tagged = (n: number, what: string) => ({
    [`TagSpecification.${n}.ResourceType`]: what,
    ...numberedTags(`TagSpecification.${n}.Tag`, tags),
  })
  return {
    ClientToken: token,
    MinCount: '1',
    MaxCount: '1',
    ImageId: params.image,
    InstanceType: type,
    SubnetId: network,
    ...defined({ 'Placement.AvailabilityZone': zone }),
    ...numbered('SecurityGroupId', listOf(params.securityGroups)),
    ...tagged(1, 'instance'),
    ...tagged(2, 'volume'),
    ...disksOf(params),
    ...defined({
      'IamInstanceProfile.Name': params.role,
      KeyName: params.keyPair,
      'Placement.GroupName': params.placementGroup,
    }),
    ...(market === 'Spot' && {
      'InstanceMarketOptions.MarketType': 'spot',
      'InstanceMarketOptions.SpotOptions.SpotInstanceType': 'one-time',
      'InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior': 'terminate',
      ...defined({ 'InstanceMarketOptions.SpotOptions.MaxPrice': params.spotPrice }),
    }),
    'MetadataOptions.HttpEndpoint': 'enabled',
    'MetadataOptions.HttpTokens': params.metadata === 'Optional' ? 'optional' : 'required',
    UserData: userData,
  }
}

function disksOf({ systemDisk, rootDevice = ROOT_DEVICE, dataDisks }: HostParams): Params {
  const system = systemDisk === undefined ? [] : [[rootDevice, systemDisk] as const]
  // The vendor reserves f and later letters for user disks.
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

/** Undefined for events in an unknown format. */
function eventOf(status: Xml, event: Xml): CloudMaintenance | undefined {
  const [id, eventId] = [xmlText(status, 'instanceId'), xmlText(event, 'instanceEventId')]
  if (id === undefined || eventId === undefined) return undefined
  const [code, description] = [xmlText(event, 'code') ?? '', xmlText(event, 'description') ?? '']
  const { kind, state, losesData } = ec2Event(code, description)
  return {
    id,
    eventId,
    kind,
    state,
    isUnplanned: false,
    losesData,
    ...defined({ notBefore: xmlText(event, 'notBefore'), notAfter: xmlText(event, 'notAfter') }),
    answers: state === 'Scheduled' ? (ANSWERS[code] ?? []) : [],
    description: shortened(`${code}: ${description}`, DESCRIPTION_CHARS),
  }
}

/** Restarting the instance answers an instance event; hardware reboots are up to the vendor. */
const ANSWERS: Readonly<Record<string, CloudMaintenance['answers']>> = {
  'instance-reboot': ['Start', 'Postpone'],
  'system-reboot': ['Postpone'],
}

const REASONS: Readonly<Record<FaultCategory, string>> = {
  Hang: 'unresponsive',
  Network: 'performance-network',
  Disk: 'performance-instance-store',
  Cpu: 'other',
  Memory: 'other',
  Power: 'other',
  Accelerator: 'other',
  Other: 'other',
}
