// kubenode-provider/v1: the messages between a program that serves a provider and its caller, as JSON over HTTP. Both sides check every body with these
// schemas, which also generate the reference page.
import { bool, choice, type Field, freeform, int, list, obj, optional, type Out, str, time } from '#api/build.ts'
import { type Checked, createStrictReader } from '#api/field-problems.ts'
import { MAINTENANCE_ANSWERS } from '#api/kinds/maintenance-event.ts'
import {
  capabilities,
  DELETED,
  faultCategory,
  host,
  hostEvent,
  machineName,
  machineUid,
  maintenanceEvent,
  ORDERED,
  providerID,
  text,
  VISIBLE,
  wantedHost,
  word,
} from '../model.ts'

export const PROTOCOL = 'kubenode-provider/v1'

/** The limit of any body. A list of more hosts is paged. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024
/** How long the caller waits, in milliseconds from the request's arrival: no clocks are compared. */
export const DEADLINE_HEADER = 'kubenode-deadline-ms'
export const LONGEST_DEADLINE_MS = 300_000
export const USUAL_DEADLINE_MS = 60_000
/** How long an event request stays open without events. */
export const EVENTS_WAIT_MS = 30_000
/** Per answer. A page of 5,000 hosts is about 2 MiB. */
export const MOST_HOSTS_A_PAGE = 5_000
export const MOST_EVENTS = 256

export const PROVIDER_NAME = '^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$'
const providerName = str('Name of the provider: `Machine.spec.provider.name`, and the beginning of all its ids.', {
  min: 1,
  max: 32,
  pattern: PROVIDER_NAME,
  expects: 'lower-case letters, digits and "-", starting with a letter',
})

/** Limit of a trust document, the largest part of a bundle; see MAX_TRUST_BYTES. */
const MAX_TRUST = 1024 * 1024
const MAX_PEM = 256 * 1024
const joinBundle = obj('What the host needs to join, all of it for its user data. The token in it is a secret.', {
  server: str('Address of the API server.', { min: 1, max: 2048 }),
  caData: str('PEM of its authority, in base64.', { max: MAX_PEM }),
  token: str('For this machine alone, valid for minutes.', { min: 1, max: 16_384 }),
  form: optional(choice('What the agent becomes.', ['certificate', 'serviceAccount'])),
  machine: machineName,
  uid: optional(machineUid),
  node: str('Name of the Node.', { min: 1, max: 253 }),
  cluster: str('Name of the cluster.', { max: 253 }),
  registerNode: optional(bool('False where a kubelet has registered the Node already.')),
  certificateSeconds: optional(int('Longest life of its certificate.', { min: 1, max: 2 ** 31 - 1 })),
  artifactBase: str('Where artifacts are.', { max: 2048 }),
  artifactCaData: optional(str('PEM of the authorities to trust there, in base64.', { max: MAX_PEM })),
  joinScript: optional(str('SHA-256 of the join.sh that is served there.', { min: 64, max: 64 })),
  trust: freeform('Whose components may be installed.', { maxBytes: MAX_TRUST }),
})

const RETRY = { min: 0, max: 86_400_000 } as const
const retryAfterMs = int('Milliseconds after which it may succeed.', RETRY)
const done = <const K extends string>(doc: string, kinds: readonly K[]) =>
  obj(doc, { kind: choice('What happened.', kinds) })

const createAnswer = obj(
  'The host, or why there is none: Refused takes another request, Exhausted another offering, Throttled another time, Unknown the same token again.',
  {
    kind: choice('What happened.', ['Host', 'Refused', 'Exhausted', 'Throttled', 'Unknown']),
    host: optional(host),
    zone: optional(word('With Exhausted: the zone that has none.', 63)),
    type: optional(word('With Exhausted: the type of which there is none.', 63)),
    reason: optional(text('With Refused and Exhausted: why.')),
    retryAfterMs: optional(retryAfterMs),
    message: optional(text('With Unknown: what was seen.')),
  },
)

export const CAN = ['power', 'maintenance', 'respond', 'reportFault', 'events'] as const
const reported = obj('What the provider is and can.', {
  protocol: choice('The protocol.', [PROTOCOL]),
  name: providerName,
  capabilities,
  can: list('Calls that it serves beside the required ones.', choice('A call.', CAN), { max: CAN.length }),
})

const noted = obj('Nothing.', {})
const oneHost = obj('A host.', { providerID: providerID('The host.') })
const isHard = optional(bool('Without waiting for the system on the host.'))
const cursor = str('Where the next question continues, from an earlier answer.', { min: 1, max: 128, pattern: VISIBLE })

interface Call<Request, Answer> {
  readonly doc: string
  readonly request: Field<Request>
  readonly answer: Field<Answer>
}
const call = <Request, Answer>(doc: string, request: Field<Request>, answer: Field<Answer>): Call<Request, Answer> => ({
  doc,
  request,
  answer,
})

/** Every call is a POST to /v1/NAME. All may be repeated. */
export const CALLS = {
  create: call(
    'Makes a host, once for each token: repeated, it answers with the first host, whatever happened to the first answer.',
    obj('The wanted host.', {
      ...wantedHost,
      join: joinBundle,
      joinsAgain: optional(
        bool(
          'Only ever true: a person lets a host that had joined join again, with this token: hand it over although the agent used up the one before.',
        ),
      ),
    }),
    createAnswer,
  ),
  get: call(
    'One host. Absent only when the provider is sure; when it is not, an error.',
    oneHost,
    obj('The host, or Absent.', { kind: choice('What was found.', ['Host', 'Absent']), host: optional(host) }),
  ),
  list: call(
    'All hosts that the provider made for the cluster: complete, or an error. A host that is missing in it is missing.',
    obj('Nothing for the first page.', { after: optional(cursor) }),
    obj('A page of hosts.', {
      hosts: list('Hosts, each once in all pages together.', host, { max: MOST_HOSTS_A_PAGE }),
      asOf: time('When the reading began; a host made later may be missing.'),
      next: optional(cursor),
    }),
  ),
  delete: call(
    'Ends everything on the host and gives it back. Repeated until it answers Gone.',
    oneHost,
    done('Gone: no such host exists.', DELETED),
  ),
  power: call(
    'Switches a host. The state in get tells that it happened.',
    obj('What is wanted.', {
      providerID: providerID('The host.'),
      to: choice('The wanted state.', ['On', 'Off']),
      hard: isHard,
    }),
    done('Ordered, or Gone when there is no such host.', ORDERED),
  ),
  reboot: call(
    'Restarts a host. Another bootID in get tells that it happened.',
    obj('What is wanted.', { providerID: providerID('The host.'), hard: isHard }),
    done('Ordered, or Gone when there is no such host.', ORDERED),
  ),
  maintenance: call(
    'Everything announced or under way, and what ended in the last days: complete, or an error.',
    noted,
    obj('All of it.', {
      events: list('Events, each once.', maintenanceEvent, { max: MOST_HOSTS_A_PAGE }),
      asOf: time('When the reading began.'),
    }),
  ),
  respond: call(
    'Answers an event of maintenance.',
    obj('The answer.', {
      eventId: word('The event.', 253),
      answer: obj('What to do.', {
        kind: choice('Accept: as announced. Start: now. Postpone: not before `until`.', MAINTENANCE_ANSWERS),
        until: optional(time('With Postpone.')),
      }),
    }),
    done('Refused when the event takes this answer no longer, Gone when there is no such event.', [
      ...ORDERED,
      'Refused',
    ]),
  ),
  'report-fault': call(
    'Tells the vendor of the host what was found on it.',
    obj('The fault.', {
      providerID: providerID('The host.'),
      category: faultCategory,
      text: text('What was found.'),
    }),
    done('Ordered, or Gone when there is no such host.', ORDERED),
  ),
} as const
export type CallName = keyof typeof CALLS
export type RequestOf<K extends CallName> = Out<(typeof CALLS)[K]['request']>
export type AnswerOf<K extends CallName> = Out<(typeof CALLS)[K]['answer']>
export const CALL_NAMES = Object.keys(CALLS) as readonly CallName[]
/** Not every provider serves these; `can` lists which. */
export const OPTIONAL_CALLS: Readonly<Partial<Record<CallName, (typeof CAN)[number]>>> = {
  power: 'power',
  maintenance: 'maintenance',
  respond: 'respond',
  'report-fault': 'reportFault',
}

const events = obj('What happened since the cursor.', {
  events: list('Events, in their order.', hostEvent, { max: MOST_EVENTS }),
  next: cursor,
})

/** Every way a call can fail, with its HTTP status. */
export const ERRORS = {
  Invalid: { status: 400, doc: 'The request does not fit the protocol.' },
  Unauthorized: { status: 401, doc: 'The token is missing or wrong.' },
  NotServed: { status: 404, doc: 'There is no such call here.' },
  TooLarge: { status: 413, doc: 'A body is larger than 4 MiB.' },
  Busy: { status: 429, doc: 'Too many requests at once.' },
  Failed: { status: 500, doc: 'The provider could not find out or could not do it.' },
  TooSlow: { status: 504, doc: 'The deadline passed.' },
} as const
export type ErrorKind = keyof typeof ERRORS
const ERROR_KINDS = Object.keys(ERRORS) as readonly ErrorKind[]
const failure = obj('Why there is no answer.', {
  error: obj('The error.', { kind: choice('What went wrong.', ERROR_KINDS), message: text('In a sentence.') }),
})

/** GET /v1/capabilities and GET /v1/events. */
export const READS = { capabilities: reported, events } as const
export const FAILURE = failure
export type ReportedCapabilities = Out<typeof reported>
export type EventsPage = Out<typeof events>

type Readers = {
  readonly requests: { readonly [K in CallName]: (value: unknown) => Checked<RequestOf<K>> }
  readonly answers: { readonly [K in CallName]: (value: unknown) => Checked<AnswerOf<K>> }
  readonly capabilities: (value: unknown) => Checked<ReportedCapabilities>
  readonly events: (value: unknown) => Checked<EventsPage>
  readonly failure: (value: unknown) => Checked<Out<typeof failure>>
}

const readersOf = (side: 'request' | 'answer') =>
  Object.fromEntries(CALL_NAMES.map((name) => [name, createStrictReader(CALLS[name][side] as Field<unknown>)]))

/** One per side; compiles each schema at its first use. */
export const createReaders = (): Readers => ({
  requests: readersOf('request') as Readers['requests'],
  answers: readersOf('answer') as Readers['answers'],
  capabilities: createStrictReader(reported),
  events: createStrictReader(events),
  failure: createStrictReader(failure),
})
