// A region of AWS, as far as our provider uses EC2: the query protocol with its XML. Shapes and codes are those of the vendor's description.
import { type FakeAnswer, faulty, type FakeRequest, type Handler } from './answers.ts'
import type { FakeEvent, FakeInstance, FakeRegion, InstanceState } from './region.ts'
import { verifyV4, type Verdict } from './verify.ts'

const VERSION = '2016-11-15'
const USER_DATA_BYTES = 16 * 1024

type Params = ReadonlyMap<string, string>

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const element = (name: string, ...content: readonly string[]) => `<${name}>${content.join('')}</${name}>`
const text = (name: string, value: string) => element(name, escaped(value))

const said = (action: string, ...content: readonly string[]): FakeAnswer => ({
  status: 200,
  headers: { 'content-type': 'text/xml;charset=UTF-8' },
  text: `<?xml version="1.0" encoding="UTF-8"?>\n<${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">\n    <requestId>59dbff89-35bd-4eac-99ed-be587EXAMPLE</requestId>${content.join('')}</${action}Response>`,
})
const refused = (status: number, code: string, message = 'The request was refused.'): FakeAnswer => ({
  status,
  headers: { 'content-type': 'text/xml;charset=UTF-8' },
  text: `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error>${text('Code', code)}${text('Message', message)}</Error></Errors><RequestID>ea966190-f9aa-478e-9ede-example</RequestID></Response>`,
})

const BAD: Readonly<Record<Exclude<Verdict, 'Good'>, readonly [number, string]>> = {
  BadSignature: [403, 'SignatureDoesNotMatch'],
  UnknownKey: [401, 'AuthFailure'],
  BadSession: [401, 'AuthFailure'],
  Expired: [400, 'RequestExpired'],
  TooOld: [400, 'RequestExpired'],
  Unsigned: [400, 'MissingAuthenticationToken'],
}

const formIn = ({ body }: FakeRequest): Params => new Map(new URLSearchParams(body))

export const fakeEc2 = (region: FakeRegion): Handler =>
  faulty(
    region,
    (request) => !(formIn(request).get('Action') ?? '').startsWith('Describe'),
    (request) => {
      const verdict = verifyV4(request, region.options.name, 'ec2', { keys: region.keys, now: region.now() })
      if (verdict !== 'Good') return refused(...BAD[verdict])
      const params = formIn(request)
      const action = params.get('Action') ?? ''
      if (params.get('Version') !== VERSION || request.method !== 'POST') return refused(400, 'NoSuchVersion')
      if (region.refusal(action, request.arrivedAt) !== undefined)
        return refused(503, 'RequestLimitExceeded', 'Request limit exceeded.')
      const does = DOES[action]
      return does === undefined ? refused(400, 'InvalidAction') : does(region, params)
    },
  )

const DOES: Readonly<Record<string, (region: FakeRegion, params: Params) => FakeAnswer>> = {
  RunInstances: runInstances,
  DescribeInstances: describeInstances,
  DescribeInstanceStatus: describeStatus,
  TerminateInstances: about('TerminateInstances', (region, instance) => {
    if (instance.state !== 'gone' && instance.state !== 'shutting-down') region.end(instance)
  }),
  StartInstances: about('StartInstances', (region, instance) => {
    if (instance.state === 'stopping') return 'IncorrectInstanceState'
    if (instance.state === 'stopped') region.start(instance)
    return undefined
  }),
  StopInstances: about('StopInstances', (region, instance) => {
    if (instance.state === 'pending') return 'IncorrectInstanceState'
    if (instance.state === 'running') region.stop(instance)
    return undefined
  }),
  RebootInstances: about('RebootInstances', (region, instance) => {
    for (const e of region.events)
      if (e.instance === instance.id && e.type === 'instance-reboot') e.status = '[Completed] '
  }),
  ReportInstanceStatus: about('ReportInstanceStatus', (region, instance, params) => {
    region.reports.push({ instance: instance.id, what: `${params.get('ReasonCode.1')}: ${params.get('Description')}` })
  }),
  ModifyInstanceEventStartTime: (region, params) => {
    const at = region.events.findIndex(
      (e) => e.eventId === params.get('InstanceEventId') && e.instance === params.get('InstanceId'),
    )
    const event = region.events[at]
    if (event === undefined) return refused(400, 'InvalidInstanceEventIDNotFound')
    region.events[at] = { ...event, notBefore: params.get('NotBefore') ?? '' }
    return said('ModifyInstanceEventStartTime', text('return', 'true'))
  },
}

/** Terminated instances are known for a while. */
function about(
  action: string,
  does: (region: FakeRegion, instance: FakeInstance, params: Params) => string | undefined | void,
) {
  return (region: FakeRegion, params: Params): FakeAnswer => {
    const id = params.get('InstanceId.1') ?? ''
    const instance = region.all().find((i) => i.id === id)
    if (instance === undefined)
      return refused(400, 'InvalidInstanceID.NotFound', `The instance ID '${id}' does not exist`)
    const wrong = does(region, instance, params)
    return typeof wrong === 'string' ? refused(400, wrong) : said(action, text('return', 'true'))
  }
}

function tagsIn(params: Params, prefix: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>()
  for (let i = 1; params.has(`${prefix}.Tag.${i}.Key`); i++)
    tags.set(params.get(`${prefix}.Tag.${i}.Key`) ?? '', params.get(`${prefix}.Tag.${i}.Value`) ?? '')
  return tags
}

function runInstances(region: FakeRegion, params: Params): FakeAnswer {
  const read = (name: string) => params.get(name) ?? ''
  if (!region.images.has(read('ImageId'))) return refused(400, 'InvalidAMIID.NotFound')
  if (read('ClientToken').length > 64) return refused(400, 'InvalidParameterValue')
  const userData = Buffer.from(read('UserData'), 'base64').toString('utf8')
  if (Buffer.byteLength(userData) > USER_DATA_BYTES) return refused(400, 'InvalidUserData.Malformed')
  if (read('SubnetId') === '' || read('MinCount') !== '1' || read('MaxCount') !== '1')
    return refused(400, 'MissingParameter')
  if (!/^[a-z0-9-]+\.[a-z0-9-]+$/.test(read('InstanceType'))) return refused(400, 'InvalidParameterValue')
  const made = region.run({
    token: read('ClientToken'),
    asked: JSON.stringify([...params].sort(([a], [b]) => (a < b ? -1 : 1))),
    zone: read('Placement.AvailabilityZone'),
    type: read('InstanceType'),
    isSpot: read('InstanceMarketOptions.MarketType') === 'spot',
    tags: tagsIn(params, 'TagSpecification.1'),
    userData,
    needsMetadataSession: read('MetadataOptions.HttpTokens') === 'required',
  })
  if (made === 'TokenUsed') return refused(400, 'IdempotentParameterMismatch')
  if (made === 'NoStock')
    return refused(500, 'InsufficientInstanceCapacity', 'We currently do not have sufficient capacity in this zone.')
  return said('RunInstances', element('instancesSet', itemOf(made)))
}

const CODES: Readonly<Record<InstanceState, readonly [string, string]>> = {
  pending: ['0', 'pending'],
  running: ['16', 'running'],
  'shutting-down': ['32', 'shutting-down'],
  gone: ['48', 'terminated'],
  stopping: ['64', 'stopping'],
  stopped: ['80', 'stopped'],
}

function itemOf(i: FakeInstance): string {
  const [code, name] = CODES[i.state]
  return element(
    'item',
    text('instanceId', i.id),
    element('instanceState', text('code', code), text('name', name)),
    text('instanceType', i.type),
    text('launchTime', new Date(i.createdAt).toISOString()),
    element('placement', text('availabilityZone', i.zone), '<groupName/>', text('tenancy', 'default')),
    i.state === 'gone' ? '' : text('privateIpAddress', i.address),
    i.isSpot ? text('instanceLifecycle', 'spot') : '',
    element('tagSet', ...[...i.tags].map(([k, v]) => element('item', text('key', k), text('value', v)))),
  )
}

function filtersIn(params: Params): readonly (readonly [string, readonly string[]])[] {
  const found: [string, string[]][] = []
  for (let i = 1; params.has(`Filter.${i}.Name`); i++) {
    const values: string[] = []
    for (let k = 1; params.has(`Filter.${i}.Value.${k}`); k++) values.push(params.get(`Filter.${i}.Value.${k}`) ?? '')
    found.push([params.get(`Filter.${i}.Name`) ?? '', values])
  }
  return found
}

function describeInstances(region: FakeRegion, params: Params): FakeAnswer {
  const filters = filtersIn(params)
  if (filters.some(([, values]) => values.length > 200)) return refused(400, 'FilterLimitExceeded')
  const fits = (i: FakeInstance) =>
    filters.every(([name, values]) =>
      values.includes(name === 'instance-id' ? i.id : (i.tags.get(name.replace(/^tag:/, '')) ?? '')),
    )
  const page = region.page(region.all().filter(fits), params.get('NextToken'), Number(params.get('MaxResults')))
  if (page === 'Broken') return { status: 504, text: 'gateway timeout' }
  return said(
    'DescribeInstances',
    element(
      'reservationSet',
      ...page.items.map((i) =>
        element('item', text('reservationId', 'r-1234567890abcdef0'), element('instancesSet', itemOf(i))),
      ),
    ),
    page.next === undefined ? '' : text('nextToken', page.next),
  )
}

function describeStatus(region: FakeRegion, params: Params): FakeAnswer {
  const [[, codes] = ['', []]] = filtersIn(params)
  const events = region.events.filter((e) => codes.includes(e.type))
  const ids = [...new Set(events.map((e) => e.instance))]
  const page = region.page(ids, params.get('NextToken'), Number(params.get('MaxResults')))
  if (page === 'Broken') return { status: 504, text: 'gateway timeout' }
  return said(
    'DescribeInstanceStatus',
    element(
      'instanceStatusSet',
      ...page.items.map((id) =>
        element(
          'item',
          text('instanceId', id),
          element('eventsSet', ...events.filter((e) => e.instance === id).map(eventItem)),
        ),
      ),
    ),
    page.next === undefined ? '' : text('nextToken', page.next),
  )
}

const eventItem = (e: FakeEvent): string =>
  element(
    'item',
    text('instanceEventId', e.eventId),
    text('code', e.type),
    text('description', `${e.status === 'Scheduled' ? '' : e.status}${e.reason}`),
    text('notBefore', e.notBefore),
  )
