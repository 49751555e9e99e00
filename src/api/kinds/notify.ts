// The targets that sync notifies about a FleetSource's Releases, and the record of sent notifications.
import * as s from '../build.ts'
import * as f from '../fields.ts'

export const MAX_NOTIFY_TARGETS = 8
/** The newest notifications of one object to one target. */
export const MAX_SENT = 32
const MAX_KEY_CHARS = 160
const MAX_TEMPLATE_CHARS = 1_024
export const MAX_NOTIFY_ATTEMPTS = 12

export const NOTIFY_EVENTS = [
  'Started',
  'StageSucceeded',
  'Waiting',
  'Paused',
  'Failed',
  'Reverted',
  'Succeeded',
  'Superseded',
  'Refused',
] as const

/** The kinds of targets; each names one Secret. */
export const NOTIFY_KINDS = ['webhook', 'slack', 'commitStatus'] as const

const secretOf = (keys: string) =>
  f.secretRef(
    `Secret with ${keys}. In the same namespace, or in kubenode-clusters for a FleetSource in kubenode-system.`,
  )

const apiUrl = (doc: string) =>
  s.str(doc, {
    min: 1,
    max: 512,
    pattern: '^https?://[^\\s\\x00-\\x1f?#]+$',
    expects: 'a URL with https or http, without a query',
  })

const target = s.union(
  s.obj('One target. Its address must be among the places that sync is started with (--call-allow).', {
    name: f.dnsLabel('Name of the target.'),
    events: s.fallback(
      s.setOf(
        'The events that are sent. A commit status shows every state.',
        s.choice(
          'Started; StageSucceeded; Waiting: for an approval, another gate, or a deletion to be approved; Paused by a hold; Failed; Reverted; Succeeded; Superseded by a newer commit; Refused: the newest commit is not followed.',
          NOTIFY_EVENTS,
        ),
        { min: 1, max: NOTIFY_EVENTS.length },
      ),
      ['Waiting', 'Paused', 'Failed', 'Reverted', 'Succeeded', 'Refused'],
    ),
    template: s.optional(
      s.str(
        'The text, instead of the usual one. In double braces: event, source, release, track, commit, subject, author, stage, phase, message, next.',
        { min: 1, max: MAX_TEMPLATE_CHARS },
      ),
    ),
    webhook: s.optional(
      s.obj('A POST with a JSON document, signed in X-Kubenode-Signature-256 as sha256=HMAC of the body.', {
        url: s.optional(apiUrl('The address. Left out: the key url of the Secret.')),
        secretRef: secretOf(
          'hmac-key, of at least 16 characters; url, if the address itself is a secret; ca.crt, for a server with an authority of its own',
        ),
      }),
    ),
    slack: s.optional(
      s.obj('An incoming webhook of Slack, or of what takes its form (Mattermost, Rocket.Chat).', {
        secretRef: secretOf('url, the address of the incoming webhook; ca.crt as for a webhook'),
      }),
    ),
    commitStatus: s.optional(
      s.obj('The status of the commit at the git server, one for each track.', {
        forge: s.choice('The form: GitHub is also that of Gitea and Forgejo.', ['GitHub', 'GitLab']),
        api: s.optional(
          apiUrl(
            'Address of the API. Left out: https://api.github.com or https://gitlab.com/api/v4. That of Gitea and Forgejo ends in /api/v1.',
          ),
        ),
        project: s.str('owner/name; for GitLab the path of the project or, better, its number.', {
          min: 1,
          max: 255,
          pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$',
          expects: 'owner/name or a number',
        }),
        secretRef: secretOf('token, which may write commit statuses; ca.crt as for a webhook'),
      }),
    ),
  }),
  NOTIFY_KINDS,
)

export const notifyTargets = () =>
  s.mapList(
    'Targets that are notified of the progress of Releases of this source. Deliveries are retried, and never delay a release.',
    target,
    {
      keys: ['name'],
      max: MAX_NOTIFY_TARGETS,
    },
  )

/** One more than the targets: the git note. */
export const notified = () =>
  s.mapList(
    'What was sent to the targets of spec.notify, and to git as a note.',
    s.obj('One target.', {
      name: s.str('Name of the target; GitNotes for the note.', { min: 1, max: 63 }),
      sent: s.optional(
        s.list('What was sent, the newest last.', f.sentence('Event and what it was about.', MAX_KEY_CHARS), {
          max: MAX_SENT,
        }),
      ),
      at: s.time('When something was last sent or attempted.'),
      attempts: s.optional(f.count('Number of attempts that failed since.', MAX_NOTIFY_ATTEMPTS)),
      problem: s.optional(f.sentence('Why the last attempt failed.')),
    }),
    { keys: ['name'], max: MAX_NOTIFY_TARGETS + 1 },
  )
