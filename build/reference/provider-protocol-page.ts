// The page of kubenode-provider/v1, made from the schemas that both sides check with.
import { fieldRows } from '#api/gen/field-rows.ts'
import { code, join, table } from '#api/gen/markdown.ts'
import type { ApiSchema } from '#api/extras.ts'
import {
  CALLS,
  CAN,
  DEADLINE_HEADER,
  ERRORS,
  FAILURE,
  OPTIONAL_CALLS,
  PROTOCOL,
  READS,
} from '#providers/remote/protocol.ts'

export const PROVIDER_PROTOCOL_PAGE = 'docs/reference/provider-protocol.md'

export const providerProtocolPage = (): string =>
  join([
    `# ${PROTOCOL}`,
    '<!-- Generated from src/providers/remote/protocol.ts by npm run gen. -->',
    'HTTP/1.1 and JSON, between KubeNode and a program that serves an infra provider. [Providers](../operations/providers.md) describes when to use it, [own provider](../tasks/own-provider.md) has a whole program.',
    [
      '- On a Unix socket of the same user with mode 0600, or over https; with a token, each request has `Authorization: Bearer TOKEN`.',
      `- Header \`${DEADLINE_HEADER}\` is the number of milliseconds that the caller waits. The work of a request may end with it.`,
      '- No body is larger than 4 MiB; `content-type` is `application/json`, without compression. An answer has a `content-length` or is chunked. No redirect is followed.',
      '- A field that is not listed here is refused, in requests and in answers.',
      '- Every call may be repeated, also after it succeeded.',
      '- Status 200 has the answer. Every other answer is an error of the list below; anything else counts as no answer.',
      '- What is no answer never counts as an absence: a create of which the answer is lost is repeated with its token, a list that breaks off is no list.',
    ].join('\n'),
    section('GET /v1/capabilities', 'Read at the start, every minute, and after each failure.', [
      ['answer', READS.capabilities.schema],
    ]),
    `\`can\` lists the optional parts: ${CAN.map(code).join(', ')}.`,
    section(
      'GET /v1/events?after=CURSOR',
      'Needs `events` in `can`. Waits up to 30 seconds for an event; without a cursor it answers at once with one. Events are hints: what is lost in them, lists show.',
      [['answer', READS.events.schema]],
    ),
    ...Object.entries(CALLS).map(([name, { doc, request, answer }]) => {
      const needs = OPTIONAL_CALLS[name as keyof typeof CALLS]
      return section(`POST /v1/${name}`, needs === undefined ? doc : `${doc} Needs ${code(needs)} in ${code('can')}.`, [
        ['request', request.schema],
        ['answer', answer.schema],
      ])
    }),
    section('Errors', 'The body of every status but 200.', [['answer', FAILURE.schema]]),
    table(
      ['kind', 'status', 'meaning'],
      Object.entries(ERRORS).map(([kind, { status, doc }]) => [code(kind), String(status), doc]),
    ),
  ])

const section = (title: string, doc: string, bodies: readonly (readonly [string, ApiSchema])[]): string =>
  join([`## ${title}`, doc, ...bodies.flatMap(([side, schema]) => fields(side, schema))]).trimEnd()

function fields(side: string, schema: ApiSchema): readonly string[] {
  const rows = fieldRows(schema, side)
  if (rows.length === 0) return [`The ${side} is \`{}\`.`]
  return [
    table(
      ['field', 'type', 'bounds', 'what it is'],
      rows.map((r) => [code(r.path) + (r.required ? ' *' : ''), r.type, r.bounds, r.doc]),
    ),
  ]
}
