// What the server and the page of the console may say to each other, held against the types that both are compiled with: each answer, each topic, each event.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { MACHINE_COLUMNS } from '#console/machine-columns.ts'
import { type Schema, typeSchemas } from './type-schemas.ts'

const ROOM = join(import.meta.dirname, '../../../src/console')
const FILES = [
  'approving.ts',
  'basics.ts',
  'budget-topics.ts',
  'load.ts',
  'logs.ts',
  'machine-columns.ts',
  'node-facts.ts',
  'node-topics.ts',
  'plan.ts',
  'prepared.ts',
  'protocol.ts',
  'set-topics.ts',
  'topics.ts',
]

const read = (): Readonly<Record<string, Schema>> =>
  typeSchemas({
    files: new Map(FILES.map((file) => [file, readFileSync(join(ROOM, file), 'utf8')])),
    constants: { MACHINE_COLUMNS },
  })

let known: { readonly ajv: Ajv2020; readonly defs: Readonly<Record<string, Schema>> } | undefined

/** Read on first use: most tests that use a browser need one or two of them. */
function schemas() {
  if (known !== undefined) return known
  const defs = read()
  const ajv = new Ajv2020({ allErrors: true, strict: false, discriminator: false })
  ajv.addSchema({ $id: 'messages', $defs: defs })
  for (const [family, name] of Object.entries(topicTypes(defs)))
    ajv.addSchema({ $id: `delta-${family}`, ...(family === 'machines' ? ofMachines : rowsDeltaOf(name)) })
  known = { ajv, defs }
  return known
}

const ofMachines = { $ref: 'messages#/$defs/MachinesDelta' }

const rowsDeltaOf = (name: string): object => ({
  type: 'object',
  properties: {
    topic: { type: 'string' },
    head: { $ref: `messages#/$defs/${name}/properties/head` },
    set: { $ref: `messages#/$defs/${name}/properties/rows` },
    removed: { type: 'array', items: { type: 'string' } },
  },
  required: ['topic', 'set', 'removed'],
  additionalProperties: false,
})

/** The name of the type of each family of topics. */
function topicTypes(defs: Readonly<Record<string, Schema>>): Readonly<Record<string, string>> {
  const { properties } = defs['TopicTypes'] as unknown as { readonly properties: Readonly<Record<string, Ref>> }
  return Object.fromEntries(
    Object.entries(properties).map(([family, { $ref }]) => [family, $ref.slice('#/$defs/'.length)]),
  )
}

interface Ref {
  readonly $ref: string
}

/** All families of topics. */
export const families = (): readonly string[] => Object.keys(topicTypes(schemas().defs))

/** The schema of a type, and those that it refers to. */
export const schemaOf = (name: string): Schema | undefined => schemas().defs[name]

export const topicType = (topic: string): string | undefined => topicTypes(schemas().defs)[topic.split('/')[0] ?? '']

export function problemsAs(name: string, value: unknown): readonly string[] {
  const { ajv } = schemas()
  const check = ajv.getSchema(name.startsWith('delta-') ? name : `messages#/$defs/${name}`)
  if (check === undefined) throw new Error(`there is no message ${name}`)
  if (check(value) === true) return []
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) => `${name}${instancePath}: ${message ?? ''} ${JSON.stringify(params)}`,
  )
}

const ANSWERS: Readonly<Record<string, string>> = {
  '/api/session': 'Session',
  '/api/why': 'WhyAnswer',
  '/api/approving': 'ApprovingAnswer',
  '/api/life': 'LifeAnswer',
  '/api/recorded': 'RecordedAnswer',
  '/api/search': 'SearchAnswer',
  '/api/plan': 'PlanAnswer',
  '/api/prepare': 'PreparedCommit',
  '/api/load': 'LoadAnswer',
  '/api/push': 'PushedCommit',
  '/api/hold': 'Written',
  '/api/lift': 'Written',
  '/api/approval': 'Written',
}

/** Of an answer with status 200 to a path of the console; an answer without a schema has none. */
export function answerProblems(path: string, body: unknown): readonly string[] {
  const { pathname, searchParams } = new URL(path, 'http://console')
  const topic = pathname.startsWith('/api/topic/') ? pathname.slice('/api/topic/'.length) : undefined
  if (topic !== undefined) return topicProblems(topic, body)
  if (pathname === '/api/past' && searchParams.has('from')) {
    const { delta } = body as { readonly delta: { readonly topic: string } }
    return [...problemsAs('ChangesAnswer', { ...(body as object), delta: NO_DELTA }), ...deltaProblems(delta)]
  }
  const name = pathname === '/api/past' ? 'PastAnswer' : ANSWERS[pathname]
  return name === undefined ? [] : problemsAs(name, body)
}

/** Its rows are checked with the type of their topic. */
const NO_DELTA = { topic: '', set: [], removed: [] }

export function topicProblems(topic: string, body: unknown): readonly string[] {
  const name = topicType(topic)
  return name === undefined ? [`${topic} is no topic`] : problemsAs(name, body)
}

export function deltaProblems(delta: { readonly topic: string }): readonly string[] {
  return topicType(delta.topic) === undefined
    ? [`${delta.topic} is no topic`]
    : problemsAs(`delta-${delta.topic.split('/')[0] ?? ''}`, delta)
}

interface DeltasSent {
  readonly deltas: readonly { readonly topic: string }[]
}

/** Of an event of a stream. */
export function eventProblems(event: string, data: string): readonly string[] {
  const body: unknown = JSON.parse(data)
  switch (event) {
    case 'delta': {
      const { deltas } = body as DeltasSent
      return [...problemsAs('DeltaEvent', { ...(body as object), deltas: [] }), ...deltas.flatMap(deltaProblems)]
    }
    case 'resync':
      return problemsAs('ResyncEvent', body)
    case 'bye':
      return problemsAs('ByeEvent', body)
    case 'session':
      return []
    default:
      return [`the stream has an event ${event}`]
  }
}
