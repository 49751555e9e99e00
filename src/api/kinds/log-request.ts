// LogRequest: a user's request for the log of one component on one machine. The answer is sealed to the key in the request; the object lives for minutes.
import { text, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type ObjectOf } from '../kind.ts'

/** More than fits into an answer. */
const MOST_LINES = 100_000
const MOST_SECONDS = 30 * 86_400
/** A page of 32 KiB, encrypted and encoded. */
const MOST_SEALED = 49_152
/** A request's name, encrypted and encoded. */
export const MOST_TICKET = 256

/** 32 bytes in base64. */
const KEY_TEXT = { min: 44, max: 44, pattern: '^[A-Za-z0-9+/]{43}=$', expects: 'an X25519 key in base64' } as const

const spec = s.immutable(
  s.obj('The request. Immutable.', {
    machine: f.objectName('The machine.'),
    machineUid: f.uid('UID of the machine.'),
    component: f.componentName('The component, or `agent` for the agent itself.'),
    tail: s.optional(s.int('At most the last lines of this number.', { min: 0, max: MOST_LINES })),
    sinceSeconds: s.optional(s.int('Lines of the last seconds of this number.', { min: 1, max: MOST_SECONDS })),
    follow: s.optional(s.bool('Whether new lines follow, for ten minutes at most.')),
    replyKey: s.str(
      'The public key that the answer is encrypted to. Its private key never leaves the command or the console that asks.',
      KEY_TEXT,
    ),
    ticket: s.str('The name of this request, encrypted for the agent of the machine.', { min: 1, max: MOST_TICKET }),
    by: s.str('The user that asks; must be the user that creates this object.', { min: 1, max: 253 }),
  }),
  'a LogRequest is immutable; create another one',
)

const status = s.obj('The answer of the agent.', {
  phase: s.optional(
    s.choice('Answering: more pages may follow. Done: this is the last page. Refused: there is no answer.', [
      'Answering',
      'Done',
      'Refused',
    ]),
  ),
  message: s.optional(f.sentence('Why there is no answer, or why it ended.', 512)),
  page: s.optional(
    s.int('The number of the page in sealed, from 1. Each page replaces the one before.', { min: 1, max: 1_000_000 }),
  ),
  sealed: s.optional(s.str('The page, encrypted to the key of the request.', { min: 1, max: MOST_SEALED })),
  omittedLines: s.optional(s.int('Lines that were left out before this page.', { min: 0, max: 1_000_000_000 })),
})

export const logRequest = defineKind('LogRequest', 'klog', {
  doc: 'One person asks for the log of one component on one machine. Made by `kubenode logs` and the console; the answer is encrypted to the one who asks, and the object is deleted within minutes.',
  spec,
  status,
  columns: [
    text('Machine', '.spec.machine'),
    text('Component', '.spec.component'),
    text('By', '.spec.by'),
    text('Phase', '.status.phase'),
    wide(text('Message', '.status.message')),
  ],
  example: {
    metadata: { name: '5f0c7a1e9d3b42868c1de0a7b94f6312' },
    spec: {
      machine: 'workers-7k2p9',
      machineUid: '0b7c0a1e-6a2f-4c3e-9d51-3a5f4f1f2a10',
      component: 'beacon',
      tail: 100,
      replyKey: 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=',
      ticket: 'v1.0a1b2c3d.c2VhbGVk',
      by: 'ada@example.org',
    },
  },
})

export type LogRequest = ObjectOf<typeof logRequest>
