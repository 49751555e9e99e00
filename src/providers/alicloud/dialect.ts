// The ECS names of calls and fields that the provider uses. A restart from inside a host answers no event, so it is ordered here.
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
import { listIn, textIn } from '../cloud/json.ts'
import { diskOf, listOf } from '../cloud/params.ts'
import type { FaultCategory, MaintenanceAnswer, MaintenanceKind, MaintenanceState } from '../port.ts'
import type { EcsAction } from './actions.ts'
import { ECS_ERROR_CODES } from './codes.ts'
import { ECS_STATES, ecsEvent } from './event-types.ts'
import { alicloudParams } from './params.ts'

type HostParams = Out<typeof alicloudParams>

const PAGE = '100'

const STATES: Readonly<Record<string, CloudHost['state']>> = {
  Pending: 'Creating',
  Starting: 'Creating',
  Running: 'Running',
  Stopping: 'Running',
  Stopped: 'Stopped',
}

/** Without these names, ECS only lists ended events. */
const EVERY_STATE = numbered('InstanceEventCycleStatus', Object.keys(ECS_STATES))

const ask = (action: EcsAction, params: Params): Asked => ({ action, params })
const once = (action: EcsAction, params: Params): Asked => ({ action, params, once: true })

export const ECS: Dialect<unknown, HostParams> = {
  name: 'alicloud',
  vendor: 'Alibaba Cloud',
  capabilities: {
    isHostKept: false,
    visibleWithinMs: 120_000,
    markets: ['OnDemand', 'Spot'],
    userDataBytes: 32 * 1024,
  },
  codes: ECS_ERROR_CODES,
  paramsSchema: alicloudParams,
  networks: { param: 'vSwitches', of: ({ vSwitches }) => vSwitches },
  isPicky: ({ deploymentSet }) => deploymentSet !== undefined,
  isId: (text) => /^i-[a-z0-9]{6,32}$/.test(text),
  everyCall: (region) => ({ RegionId: region }),
  answerIn: (_, body) => body,
  nextIn: (answer) => textIn(answer, 'NextToken'),
  instances: {
    list: ask('DescribeInstances', { MaxResults: PAGE }),
    withTag: (name, value) => numberedTags('Tag', [[name, value]]),
    withIds: (ids) => ({ InstanceIds: JSON.stringify(ids) }),
    in: (answer) => listIn(answer, 'Instances', 'Instance'),
    seen: (instance) => ({
      id: textIn(instance, 'InstanceId'),
      status: textIn(instance, 'Status'),
      tags: new Map(
        (listIn(instance, 'Tags', 'Tag') ?? []).flatMap((t) => {
          const [key, value] = [textIn(t, 'TagKey'), textIn(t, 'TagValue')]
          return key === undefined || value === undefined ? [] : [[key, value] as const]
        }),
      ),
      zone: textIn(instance, 'ZoneId'),
      type: textIn(instance, 'InstanceType'),
      isSpot: (textIn(instance, 'SpotStrategy') ?? 'NoSpot') !== 'NoSpot',
      address: firstText(listIn(instance, 'VpcAttributes', 'PrivateIpAddress', 'IpAddress')),
      created: textIn(instance, 'CreationTime'),
      isReclaimed: (listIn(instance, 'OperationLocks', 'LockReason') ?? []).some(
        (l) => textIn(l, 'LockReason') === 'Recycling',
      ),
    }),
    states: STATES,
  },
  events: {
    list: (eventId) =>
      ask('DescribeInstanceHistoryEvents', {
        ...EVERY_STATE,
        MaxResults: PAGE,
        ...defined({ 'EventId.1': eventId }),
      }),
    in: (answer) =>
      listIn(answer, 'InstanceSystemEventSet', 'InstanceSystemEventType')?.flatMap((e) => eventOf(e) ?? []),
    answer: answerTo,
  },
  make: (instance) => ask('RunInstances', runParams(instance)),
  made: (answer) =>
    listIn(answer, 'InstanceIdSets', 'InstanceIdSet')?.map((id) => ({ id: typeof id === 'string' ? id : undefined })),
  remove: (id) => ask('DeleteInstance', { InstanceId: id, Force: 'true' }),
  power: (id, to, hard) =>
    to === 'On'
      ? ask('StartInstance', { InstanceId: id })
      : ask('StopInstance', { InstanceId: id, ForceStop: String(hard), StoppedMode: 'KeepCharging' }),
  reboot: (id, hard) => once('RebootInstance', { InstanceId: id, ForceStop: String(hard) }),
  report: (id, category, text) =>
    ask('ReportInstancesStatus', {
      'InstanceId.1': id,
      Reason: REASONS[category],
      Description: text.slice(0, DESCRIPTION_CHARS),
    }),
}

function firstText([first]: readonly unknown[] = []): string | undefined {
  return typeof first === 'string' && first !== '' ? first : undefined
}

function runParams({
  params,
  token,
  machine,
  type,
  network,
  zone,
  market,
  tags,
  userData,
}: NewInstance<HostParams>): Params {
  const { spotPrice } = params
  return {
    ClientToken: token,
    Amount: '1',
    InstanceName: machine,
    InstanceType: type,
    ImageId: params.image,
    VSwitchId: network,
    ...defined({ ZoneId: zone }),
    ...numbered('SecurityGroupIds', listOf(params.securityGroups)),
    ...numberedTags('Tag', tags),
    ...disksOf(params),
    ...defined({
      RamRoleName: params.role,
      KeyPairName: params.keyPair,
      DeploymentSetId: params.deploymentSet,
      InternetMaxBandwidthOut: params.publicMbps,
    }),
    ...(market === 'Spot' && {
      SpotStrategy: spotPrice === undefined ? 'SpotAsPriceGo' : 'SpotWithPriceLimit',
      ...defined({ SpotPriceLimit: spotPrice }),
    }),
    HttpEndpoint: 'enabled',
    HttpTokens: params.metadata === 'Optional' ? 'optional' : 'required',
    UserData: userData,
  }
}

function disksOf({ systemDisk, dataDisks }: HostParams): Params {
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

/** Undefined for events that are not about an instance. */
function eventOf(event: unknown): CloudMaintenance | undefined {
  const [eventId, id] = [textIn(event, 'EventId'), textIn(event, 'InstanceId')]
  const type = textIn(event, 'EventType', 'Name') ?? ''
  if (eventId === undefined || id === undefined) return undefined
  const { kind, state, isUnplanned, losesData, isBill } = ecsEvent(type, textIn(event, 'EventCycleStatus', 'Name'))
  return {
    id,
    eventId,
    kind,
    state,
    isUnplanned,
    losesData,
    ...(isBill === true && { isBill }),
    ...defined({ notBefore: textIn(event, 'NotBefore') }),
    answers: isBill === true ? [] : answersTaken(kind, state),
    description: shortened(`${type}: ${textIn(event, 'Reason') ?? 'no reason given'}`, DESCRIPTION_CHARS),
  }
}

function answersTaken(kind: MaintenanceKind, state: MaintenanceState): CloudMaintenance['answers'] {
  if (state === 'Inquiring') return ['Accept']
  if (state !== 'Scheduled') return []
  return kind === 'Reboot' || kind === 'Redeploy' ? ['Start', 'Postpone'] : []
}

function answerTo({ eventId, id, kind }: CloudMaintenance, answer: MaintenanceAnswer): Asked {
  if (answer.kind === 'Accept') return ask('AcceptInquiredSystemEvent', { EventId: eventId })
  if (answer.kind === 'Postpone') {
    const until = timestamp(Date.parse(answer.until))
    return ask('ModifySystemEventAttribute', { EventId: eventId, InstanceId: id, NotBefore: until })
  }
  return once(kind === 'Redeploy' ? 'RedeployInstance' : 'RebootInstance', { InstanceId: id, ForceStop: 'false' })
}

const REASONS: Readonly<Record<FaultCategory, string>> = {
  Hang: 'instance-hang',
  Network: 'abnormal-network',
  // ECS has a reason for disks, but it requires the vendor's disk id.
  Disk: 'others',
  Cpu: 'others',
  Memory: 'others',
  Power: 'others',
  Accelerator: 'others',
  Other: 'others',
}
