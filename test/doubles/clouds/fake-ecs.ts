// A region of Alibaba Cloud, as far as our provider uses ECS. Shapes and codes are those of the vendor's description.
import { type FakeAnswer, faulty, type FakeRequest, type Handler } from './answers.ts'
import type { FakeInstance, FakeRegion } from './region.ts'
import { verifyAcs3, type Verdict } from './verify.ts'

const READS = ['DescribeInstances', 'DescribeInstanceHistoryEvents']
const VERSION = '2014-05-26'
const USER_DATA_BYTES = 32 * 1024

type Params = ReadonlyMap<string, string>

const said = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): FakeAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  text: JSON.stringify({ RequestId: '473469C7-AA6F-4DC5-B3DB-A3DC0DE3C83E', ...body }),
})
const refused = (status: number, Code: string, Message = 'The request was refused.') => said(status, { Code, Message })

const BAD: Readonly<Record<Exclude<Verdict, 'Good'>, readonly [number, string]>> = {
  BadSignature: [400, 'SignatureDoesNotMatch'],
  UnknownKey: [404, 'InvalidAccessKeyId.NotFound'],
  BadSession: [400, 'InvalidSecurityToken.MismatchWithAccessKey'],
  Expired: [403, 'InvalidSecurityToken.Expired'],
  TooOld: [400, 'InvalidTimeStamp.Expired'],
  Unsigned: [400, 'MissingSignature'],
}

const actionOf = ({ headers }: FakeRequest) => headers['x-acs-action'] ?? ''

export function fakeEcs(region: FakeRegion): Handler {
  const nonces = new Set<string>()
  return faulty(
    region,
    (request) => !READS.includes(actionOf(request)),
    (request) => {
      const verdict = verifyAcs3(request, { keys: region.keys, now: region.now() })
      if (verdict !== 'Good') return refused(...BAD[verdict])
      const nonce = request.headers['x-acs-signature-nonce'] ?? ''
      if (nonces.has(nonce)) return refused(400, 'SignatureNonceUsed')
      nonces.add(nonce)
      const action = actionOf(request)
      if (request.headers['x-acs-version'] !== VERSION || request.method !== 'POST')
        return refused(400, 'InvalidVersion')
      const params: Params = new URLSearchParams(request.path.split('?')[1] ?? '') as unknown as Params
      const read = (name: string) => params.get(name) ?? undefined
      if (read('RegionId') !== region.options.name) return refused(404, 'InvalidRegionId.NotFound')
      const wait = region.refusal(action, request.arrivedAt)
      if (wait !== undefined)
        return {
          ...refused(400, 'Throttling.User', 'Request was denied due to user flow control.'),
          headers: { 'x-acs-retry-after': String(Math.ceil(wait)) },
        }
      const does = DOES[action]
      return does === undefined ? refused(404, 'InvalidAction.NotFound') : does(region, new Map(params))
    },
  )
}

const DOES: Readonly<Record<string, (region: FakeRegion, params: Params) => FakeAnswer>> = {
  RunInstances: runInstances,
  DescribeInstances: describeInstances,
  DescribeInstanceHistoryEvents: describeEvents,
  DeleteInstance: about((region, instance) => {
    if (instance.state !== 'running' && instance.state !== 'stopped')
      return refused(
        403,
        'IncorrectInstanceStatus.Initializing',
        'The specified instance status does not support this operation.',
      )
    region.end(instance)
    return said(200, {})
  }),
  StartInstance: about((region, instance) => {
    if (instance.state !== 'stopped') return refused(403, 'IncorrectInstanceStatus')
    region.start(instance)
    return said(200, {})
  }),
  StopInstance: about((region, instance) => {
    if (instance.state !== 'running') return refused(403, 'IncorrectInstanceStatus')
    region.stop(instance)
    return said(200, {})
  }),
  RebootInstance: about((region, instance) => {
    if (instance.state !== 'running') return refused(403, 'IncorrectInstanceStatus')
    region.go(instance, 'running', 'running', 0)
    avoid(region, instance, 'Reboot')
    return said(200, {})
  }),
  RedeployInstance: about((region, instance) => {
    avoid(region, instance, 'Redeploy')
    return said(200, {})
  }),
  ReportInstancesStatus: (region, params) => {
    const instance = params.get('InstanceId.1') ?? ''
    if (region.find(instance) === undefined) return refused(404, 'InvalidInstanceId.NotFound')
    region.reports.push({ instance, what: `${params.get('Reason')}: ${params.get('Description')}` })
    return said(200, {})
  },
  AcceptInquiredSystemEvent: (region, params) => {
    const event = region.events.find((e) => e.eventId === params.get('EventId'))
    if (event?.status !== 'Inquiring') return refused(400, 'InvalidEventId.NoInquiringEventFound')
    event.status = 'Executing'
    return said(200, {})
  },
  ModifySystemEventAttribute: (region, params) => {
    const at = region.events.findIndex(
      (e) => e.eventId === params.get('EventId') && e.instance === params.get('InstanceId'),
    )
    const event = region.events[at]
    if (event?.status !== 'Scheduled') return refused(400, 'InvalidEventId.NotFound')
    region.events[at] = { ...event, notBefore: params.get('NotBefore') ?? '' }
    return said(200, {})
  },
}

function about(does: (region: FakeRegion, instance: FakeInstance) => FakeAnswer) {
  return (region: FakeRegion, params: Params): FakeAnswer => {
    const instance = region.find(params.get('InstanceId') ?? '')
    return instance === undefined || instance.state === 'shutting-down'
      ? refused(404, 'InvalidInstanceId.NotFound', 'The specified InstanceId does not exist.')
      : does(region, instance)
  }
}

/** Only an order from outside ends an event; a restart inside of the host does not. */
function avoid(region: FakeRegion, { id }: FakeInstance, what: string): void {
  for (const e of region.events) if (e.instance === id && e.type.endsWith(`.${what}`)) e.status = 'Avoided'
}

function tagsIn(params: Params): ReadonlyMap<string, string> {
  const tags = new Map<string, string>()
  for (let i = 1; params.has(`Tag.${i}.Key`); i++)
    tags.set(params.get(`Tag.${i}.Key`) ?? '', params.get(`Tag.${i}.Value`) ?? '')
  return tags
}

function runInstances(region: FakeRegion, params: Params): FakeAnswer {
  const read = (name: string) => params.get(name) ?? ''
  if (!region.images.has(read('ImageId'))) return refused(404, 'InvalidImageId.NotFound')
  if (read('ClientToken').length > 64) return refused(400, 'InvalidClientToken.ValueNotSupported')
  const userData = Buffer.from(read('UserData'), 'base64').toString('utf8')
  if (Buffer.byteLength(userData) > USER_DATA_BYTES) return refused(400, 'InvalidUserData.SizeExceeded')
  if (read('VSwitchId') === '' || read('SecurityGroupIds.1') === '') return refused(400, 'MissingParameter')
  if (!read('InstanceType').startsWith('ecs.')) return refused(400, 'InvalidInstanceType.ValueNotSupported')
  const made = region.run({
    token: read('ClientToken'),
    asked: JSON.stringify([...params].sort(([a], [b]) => (a < b ? -1 : 1))),
    zone: read('ZoneId'),
    type: read('InstanceType'),
    isSpot: read('SpotStrategy') !== '',
    tags: tagsIn(params),
    userData,
    needsMetadataSession: read('HttpTokens') === 'required',
  })
  if (made === 'TokenUsed')
    return refused(400, 'IdempotentParameterMismatch', 'The request uses a client token of another one.')
  if (made === 'NoStock') return refused(403, 'OperationDenied.NoStock', 'The resource is out of stock in this zone.')
  return said(200, { InstanceIdSets: { InstanceIdSet: [made.id] } })
}

const STATUS: Readonly<Record<FakeInstance['state'], string>> = {
  pending: 'Pending',
  running: 'Running',
  stopping: 'Stopping',
  stopped: 'Stopped',
  'shutting-down': 'Stopping',
  gone: 'Stopped',
}

function describeInstances(region: FakeRegion, params: Params): FakeAnswer {
  const ids = params.has('InstanceIds') ? (JSON.parse(params.get('InstanceIds') ?? '') as string[]) : undefined
  if (ids !== undefined && ids.length > 100) return refused(400, 'InvalidInstanceIds.ValueNotSupported')
  const tags = [...tagsIn(params)]
  const all = region
    .all()
    .filter((i) => i.state !== 'gone')
    .filter((i) => ids?.includes(i.id) ?? true)
    .filter((i) => tags.every(([name, value]) => i.tags.get(name) === value))
  const page = region.page(all, params.get('NextToken'), Number(params.get('MaxResults')))
  if (page === 'Broken') return { status: 504, text: 'gateway timeout' }
  return said(200, {
    TotalCount: all.length,
    NextToken: page.next ?? '',
    Instances: { Instance: page.items.map((i) => instanceOf(i)) },
  })
}

const instanceOf = (i: FakeInstance): object => ({
  InstanceId: i.id,
  Status: STATUS[i.state],
  ZoneId: i.zone,
  InstanceType: i.type,
  SpotStrategy: i.isSpot ? 'SpotAsPriceGo' : 'NoSpot',
  CreationTime: `${new Date(i.createdAt).toISOString().slice(0, 16)}Z`,
  VpcAttributes: { PrivateIpAddress: { IpAddress: [i.address] } },
  Tags: { Tag: [...i.tags].map(([TagKey, TagValue]) => ({ TagKey, TagValue })) },
  OperationLocks: { LockReason: i.isReclaimed ? [{ LockReason: 'Recycling' }] : [] },
})

function describeEvents(region: FakeRegion, params: Params): FakeAnswer {
  const states = [...params].filter(([name]) => name.startsWith('InstanceEventCycleStatus.')).map(([, value]) => value)
  // As the vendor does: without a state, only those that are over.
  const shown = states.length === 0 ? ['Executed', 'Avoided', 'Canceled', 'Failed'] : states
  const all = region.events
    .filter((e) => shown.includes(e.status))
    .filter((e) => e.eventId === (params.get('EventId.1') ?? e.eventId))
  const page = region.page(all, params.get('NextToken'), Number(params.get('MaxResults')))
  if (page === 'Broken') return { status: 504, text: 'gateway timeout' }
  const items = page.items.map((e) => ({
    EventId: e.eventId,
    InstanceId: e.instance,
    EventType: { Code: 1, Name: e.type },
    EventCycleStatus: { Code: 24, Name: e.status },
    NotBefore: e.notBefore,
    Reason: e.reason,
  }))
  return said(200, { NextToken: page.next ?? '', InstanceSystemEventSet: { InstanceSystemEventType: items } })
}
