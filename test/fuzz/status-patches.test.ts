// Anything an agent writes to the status of its Machine and its jobs: forbidden fields stay unchanged, stored objects are valid, the rest is refused.
import { Agent, request as httpsRequest } from 'node:https'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { defined } from '#lib/defined.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { DEFAULT_LEVELS } from '#apiserver/flow/levels.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { AGENTS_GROUP, ANNOTATIONS, agentNodeGroup, agentUser, machineUidGroup } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import { systemClock } from '#lib/system-clock.ts'
import { canonicalJson, isObject } from '#lib/json.ts'
import { loggerTo } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import {
  FUZZ_TIMEOUT_MS,
  mutatedBytes,
  mutatedJson,
  runCampaign,
  strangeText,
  strangeValue,
} from '#test/support/fuzzing/fuzzing.ts'

const PATH = `/apis/${API_GROUP_VERSION}`
const OWN = 'm-a'
const NODE = 'n-a'
/** A reply of the server, whatever it holds, is not read beyond this. */
const MAX_ANSWER = 1024 * 1024
/** What the server stores of an agent's writing. */
const MAX_STORED = 256 * 1024
const AGENT_BODY = 64 * 1024

/** Written again here, so that a name that falls out of the policy is noticed. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  Machine: ['observedGeneration', 'phase', 'nodeRef', 'commit', 'waitingFor'],
  RemedyOperationJob:
    'observedGeneration phase outcome permitRef startedAt verifyUntil finishedAt evidence message nextJob waitingFor conditions'.split(
      ' ',
    ),
}

const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'
const TIME = '2026-01-01T00:00:00Z'
const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: 'ready', lastTransitionTime: TIME }
const MACHINE_STATUS = {
  observedGeneration: 1,
  phase: 'Ready',
  nodeRef: { name: NODE, uid: 'u-1' },
  commit: COMMIT,
  bootID: 'boot-1',
  agent: { version: '1.0.0', folder: '/var/lib/kubenode' },
  platform: { os: 'Debian 13', arch: 'x64', kernel: '6.12' },
  components: [{ name: 'containerd', version: '2.1.4', state: 'Healthy', since: TIME }],
  foreignFiles: ['/etc/x'],
  conditions: [ready],
}
const JOB_STATUS = { observedGeneration: 1, phase: 'Running', startedAt: TIME, steps: [], message: 'it runs' }

interface Target {
  readonly path: string
  /** False: of another Machine, or not its status. */
  readonly isOwn: boolean
  before: KubeObject
}

let server: ApiServer
let admin: HttpKubeClient
let connection: Agent
let targets: readonly Target[]
const harms: string[] = []

beforeAll(async () => {
  const log = loggerTo((level, message, fields) => {
    if (level === 'error') harms.push(`${message}: ${JSON.stringify(fields).slice(0, 1_000)}`)
  })
  // All bounds on bodies and objects as they are; only how much of a processor an agent gets would make this slow.
  const levels = DEFAULT_LEVELS.map((l) => ({ ...l, share: 1, burstMs: Number.POSITIVE_INFINITY, waiting: 1_000 }))
  server = await createApiServer({ loops: 'none', log, limits: { levels } })
  await server.listen()
  const { admin: own, authority } = server.credentials
  const clientCertificate = { cert: { data: own.certificate }, key: { data: own.key } }
  admin = new HttpKubeClient({ server: server.url, ca: { data: server.ca }, clientCertificate })
  await installAll(admin, false)
  const uids = new Map<string, string>()
  for (const name of [OWN, 'm-b']) {
    const made = await send('POST', `${PATH}/machines`, { ...machineNamed(name) })
    uids.set(name, made.metadata.uid ?? '')
    await writeStatus(`${PATH}/machines/${name}`, made, MACHINE_STATUS)
  }
  for (const name of [OWN, 'm-b']) {
    const annotations = { [ANNOTATIONS.machineUid]: uids.get(name) ?? '' }
    const spec = { ...remedyOperationJob.example.spec, machine: name }
    const metadata = { name: `job-${name}`, annotations }
    const job = { apiVersion: API_GROUP_VERSION, kind: remedyOperationJob.kind, metadata, spec }
    await writeStatus(
      `${PATH}/remedyoperationjobs/job-${name}`,
      await send('POST', `${PATH}/remedyoperationjobs`, job),
      JOB_STATUS,
    )
  }
  const at = async (path: string, isOwn: boolean): Promise<Target> => ({ path, isOwn, before: await read(path) })
  targets = [
    await at(`${PATH}/machines/${OWN}/status`, true),
    await at(`${PATH}/remedyoperationjobs/job-${OWN}/status`, true),
    await at(`${PATH}/machines/m-b/status`, false),
    await at(`${PATH}/remedyoperationjobs/job-m-b/status`, false),
    await at(`${PATH}/machines/${OWN}`, false),
  ]
  const organizations = [AGENTS_GROUP, agentNodeGroup(NODE), machineUidGroup(uids.get(OWN) ?? '')]
  const subject = { commonName: agentUser(OWN), organizations }
  const validity = { now: systemClock.now(), days: 1 }
  const { certificate, key } = issueCertificate(authority, { subject, validity, usage: 'client' })
  connection = new Agent({ keepAlive: true, maxSockets: 1, ca: server.ca, cert: certificate, key })
})

afterAll(async () => {
  connection?.destroy()
  admin?.close()
  await server?.close()
})

const machineNamed = (name: string) => ({
  apiVersion: API_GROUP_VERSION,
  kind: machine.kind,
  metadata: { name },
  spec: { ...machine.example.spec, components: [] },
})

async function send(method: string, path: string, body?: object): Promise<KubeObject> {
  const { status, text } = await admin.raw({ method, path, ...defined({ body }) })
  if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`)
  return JSON.parse(text) as KubeObject
}
const read = (path: string): Promise<KubeObject> => send('GET', path.replace(/\/status$/, ''))
const writeStatus = (path: string, object: KubeObject, status: object): Promise<KubeObject> =>
  send('PUT', `${path}/status`, { ...object, status })

interface Answer {
  readonly code: number
  readonly text: string
}

function ask(method: string, path: string, type: string, body: Buffer): Promise<Answer> {
  const { hostname, port } = new URL(server.url)
  const headers = { 'content-type': type, 'content-length': body.length }
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ hostname, port, agent: connection, method, path, headers }, (response) => {
      const parts: Buffer[] = []
      let length = 0
      response.on('data', (d: Buffer) => {
        length += d.length
        if (length <= MAX_ANSWER) parts.push(d)
      })
      response.on('end', () => {
        if (length > MAX_ANSWER) reject(new Error(`an answer of ${length} bytes`))
        else resolve({ code: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') })
      })
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
  put: 'application/json',
} as const
type Language = keyof typeof TYPES
const LANGUAGES: readonly Language[] = ['merge', 'merge', 'json', 'apply', 'put']

/** What agents report, and what they would like to. */
const REPORTS: Readonly<Record<string, readonly object[]>> = {
  Machine: [
    { bootID: 'boot-2' },
    { agent: { version: '1.0.1', certificate: { issued: TIME, expires: TIME } } },
    { components: [{ name: 'kubelet', version: '1.34.2', state: 'Healthy', since: TIME }], platform: null },
    { conditions: [{ ...ready, type: 'KernelDeadlock' }] },
    { foreignFiles: ['/a', '/b'] },
    { inServiceSince: TIME, bootID: null },
  ],
  RemedyOperationJob: [
    { steps: [{ index: 0, operation: 'cordon', executor: 'Agent', attempts: 1 }] },
    {
      steps: [
        { index: 0, operation: 'reboot', executor: 'Agent', attempts: 1 },
        { index: 1, operation: 'cordon', executor: 'Agent', attempts: 0 },
      ],
    },
    { steps: null },
    { steps: [] },
  ],
}
const FORBIDDEN: readonly object[] = [
  { phase: 'Failed' },
  { phase: null },
  { nodeRef: { name: 'n-b', uid: 'u-2' } },
  { nodeRef: { uid: null } },
  { nodeRef: null },
  { commit: 'f'.repeat(40) },
  { waitingFor: { predicate: 'x', message: 'x' } },
  { observedGeneration: 9 },
  { outcome: 'Succeeded' },
  { permitRef: 'p' },
  { conditions: [{ ...ready, status: 'False' }] },
  { evidence: [{ kind: 'KernelLog', place: '/x' }] },
]
/** Beside the status: none of it may change here. */
const ELSEWHERE: readonly object[] = [
  { spec: { pool: 'x' } },
  { spec: null },
  { metadata: { labels: { a: 'b' } } },
  { metadata: { annotations: { [ANNOTATIONS.machineUid]: 'x' } } },
  { metadata: { finalizers: ['a.example.org/x'] } },
  { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'x', uid: 'x' }] } },
  { metadata: { uid: 'x' } },
  { metadata: { name: 'm-b' } },
  { metadata: { managedFields: [] } },
  { metadata: { deletionTimestamp: TIME } },
]

function reportFor(random: Random, kind: string): Record<string, unknown> {
  const good = random.pick(REPORTS[kind] ?? [])
  const status = random.below(4) === 0 ? { ...good, ...random.pick(FORBIDDEN) } : good
  const rest = random.below(6) === 0 ? random.pick(ELSEWHERE) : {}
  return { status, ...rest }
}

const POINTERS = [
  '',
  ...`/ /status /status/phase /status/nodeRef /status/nodeRef/name /status/commit /spec/pool /status/conditions/0
    /status/conditions/- /status/bootID /status/components/0/version /metadata /metadata/labels /metadata/uid /status/agent
    /status/~1 /status/__proto__/x /status/steps`.split(/\s+/),
]

function operations(random: Random, kind: string): unknown {
  const { status } = reportFor(random, kind) as { readonly status: Readonly<Record<string, unknown>> }
  const reported = Object.entries(status).map(([k, value]) => ({ op: 'add', path: `/status/${k}`, value }))
  const strange = Array.from({ length: random.below(4) }, () => ({
    op: random.pick(['add', 'replace', 'remove', 'move', 'copy', 'test', 'x']),
    path: random.pick(POINTERS),
    ...(random.below(3) > 0 && { value: random.below(3) === 0 ? strangeValue(random) : random.pick(FORBIDDEN) }),
    ...(random.below(3) === 0 && { from: random.pick(POINTERS) }),
  }))
  return random.below(3) === 0 ? [...reported, ...strange] : random.below(2) === 0 ? reported : strange
}

function bodyOf(random: Random, language: Language, before: KubeObject): Buffer {
  const { kind } = before
  const report = reportFor(random, kind)
  let body: unknown = report
  if (language === 'json') body = operations(random, kind)
  else if (language === 'apply')
    body = { apiVersion: API_GROUP_VERSION, kind, metadata: { name: before.metadata.name }, ...report }
  else if (language === 'put') {
    const { status, ...rest } = report
    body = { ...before, ...rest, status: { ...(before['status'] as object), ...(status as object) } }
  }
  const isMutated = random.below(2) === 0
  const text = JSON.stringify(isMutated ? mutatedJson(random, body) : body) ?? ''
  switch (random.below(16)) {
    case 0:
      return mutatedBytes(random, Buffer.from(text), [Buffer.from(text)])
    case 1:
      return Buffer.from(withDuplicate(random, text))
    case 2:
      return random.below(8) === 0 ? Buffer.from(text.padEnd(AGENT_BODY + random.below(3) - 1)) : Buffer.from(text)
    default:
      return Buffer.from(text)
  }
}

/** The same field twice: readers differ in which one counts. */
function withDuplicate(random: Random, text: string): string {
  const at = text.indexOf('{', random.below(Math.max(1, text.length)))
  const key = random.pick([
    'status',
    'phase',
    'nodeRef',
    'metadata',
    '__proto__',
    'kind',
    strangeText(random).slice(0, 60),
  ])
  const value = JSON.stringify(random.below(2) === 0 ? random.pick(FORBIDDEN) : strangeValue(random))
  return at === -1 ? text : `${text.slice(0, at + 1)}${JSON.stringify(key)}:${value},${text.slice(at + 1)}`
}

const validator = createValidator()
const KINDS = { Machine: machine, RemedyOperationJob: remedyOperationJob } as const

/** An empty value says no more than an absent one, and the policy takes one for the other. */
const said = (value: unknown): unknown => (['""', '0', '[]', '{}'].includes(canonicalJson(value ?? '')) ? null : value)

/** Of the object that a write leaves behind. */
function requireKept(before: KubeObject, after: KubeObject): void {
  const same = (name: string, a: unknown, b: unknown) =>
    expect([name, canonicalJson(b ?? null)]).toEqual([name, canonicalJson(a ?? null)])
  const parts = (o: KubeObject) => {
    const metadata = { ...o.metadata, managedFields: undefined, resourceVersion: undefined }
    return { ...o, status: undefined, metadata }
  }
  same('all but the status', JSON.parse(JSON.stringify(parts(before))), JSON.parse(JSON.stringify(parts(after))))
  const [was, is] = [before, after].map((o) => (isObject(o['status']) ? o['status'] : {}))
  for (const field of KEPT[before.kind] ?? []) same(field, said(was?.[field]), said(is?.[field]))
  // Judged by another program than the server's: it is what all our programs go by.
  const kind = KINDS[before.kind as keyof typeof KINDS]
  expect(validator.problems(kind, after)).toEqual([])
  expect(JSON.stringify(after).length).toBeLessThanOrEqual(MAX_STORED)
}

/** What a real server answers with 500, too: the recordings show it. */
const RECORDED_500 =
  /strconv\.ParseUint|failed to create typed patch object|field not declared in schema|failed to decode managed fields|resourceVersion should not be set|expected a (map|\[\])/

function requireRefusal({ code, text }: Answer): void {
  const status: unknown = JSON.parse(text)
  expect(isObject(status) ? [status['kind'], status['status']] : text).toEqual(['Status', 'Failure'])
  if (code < 400 || code >= 500) expect([code, RECORDED_500.test(text) ? '' : text]).toEqual([500, ''])
}

async function one(random: Random): Promise<string> {
  const target = random.below(8) === 0 ? random.pick(targets) : random.pick(targets.slice(0, 2))
  const language = random.pick(LANGUAGES)
  const body = bodyOf(random, language, target.before)
  // Most leave nothing behind, so that an input is the same alone as among others.
  const isStored = random.below(10) === 0
  const query = new URLSearchParams({
    ...(!isStored && { dryRun: 'All' }),
    ...(language === 'apply' && { fieldManager: 'agent', force: 'true' }),
    ...(random.below(4) === 0 && { fieldValidation: random.pick(['Strict', 'Warn', 'Ignore']) }),
  })
  const answer = await ask(
    language === 'put' ? 'PUT' : 'PATCH',
    `${target.path}?${query.toString()}`,
    TYPES[language],
    body,
  )
  expect(harms.splice(0)).toEqual([])
  if (body.length > AGENT_BODY) expect([403, 413]).toContain(answer.code)
  const isAccepted = answer.code === 200
  if (isAccepted) {
    expect(target.isOwn ? '' : 'a write to what is not its own').toBe('')
    requireKept(target.before, JSON.parse(answer.text) as KubeObject)
  } else requireRefusal(answer)
  if (!isStored) return isAccepted ? 'accepted' : 'refused'
  const after = await read(target.path)
  if (!isAccepted) {
    expect(canonicalJson(after)).toBe(canonicalJson(target.before))
    return 'refused'
  }
  requireKept(target.before, after)
  await writeStatus(target.path.replace(/\/status$/, ''), after, target.before['status'] as object)
  const before = await read(target.path)
  for (const t of targets) if (t.before.metadata.uid === before.metadata.uid) t.before = before
  return 'stored'
}

test(
  'S1 whatever an agent writes over a status, what it may not say stays as it was',
  async () => {
    await runCampaign({
      name: 'status patches',
      quick: 800,
      one,
      mustSee: ['accepted', 'refused', 'stored'],
    })
  },
  FUZZ_TIMEOUT_MS,
)
