import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_NOTIFY_ATTEMPTS, MAX_SENT } from '#api/kinds/notify.ts'
import type { Approval } from '#api/kinds/approval.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { dueTargets, merged, remembered, type Notified } from './due.ts'
import { isSameState, messageFor, type Target } from './messages.ts'
import type { News } from './news.ts'
import { targetsDigest } from '../release/tracks.ts'
import { recordText } from './record.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const at = (ms: number) => new Date(NOW + ms).toISOString().replace('.000', '')
const COMMIT = 'c'.repeat(40)

const release = (status: ReleaseStatus): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'fleet-1', namespace: 'kubenode-system', uid: 'u' },
  spec: { source: 'fleet', track: 'machines', pipeline: 'p', commit: COMMIT, digests: { a: 'd'.repeat(64) } },
  status,
})
const approval = {
  metadata: { name: 'a', creationTimestamp: at(5) },
  spec: { digest: targetsDigest(release({})), by: 'bob' },
} as Approval
const stage = (name: string, phase: 'Waiting' | 'Progressing' | 'Soaking' | 'Succeeded' | 'Failed', more = {}) => ({
  name,
  phase,
  ...more,
})
const wait = (predicate: string, ms: number, seen = 'needs 1 more approval') => ({
  waitingFor: { predicate, since: at(ms), seen, unblock: 'kubenode approve release/fleet-1' },
})

const COMMON = {
  source: 'fleet',
  release: 'fleet-1',
  track: 'machines',
  commit: 'c'.repeat(12),
  subject: '',
  author: '',
}
const NEXT = 'kubenode approve release/fleet-1'

function newsOf(event: News['event'], stage: string, message: string, more: Partial<News['facts']> = {}): News {
  const facts = { event, ...COMMON, stage, phase: 'Paused', message, next: NEXT, ...more }
  const key = stage === '' ? event : `${event} ${stage}`
  return { event, key, commit: COMMIT, facts, isLast: event === 'Succeeded' }
}
const failed = {
  phase: 'Paused',
  stages: [stage('test', 'Failed', wait('StageFailed', -5, '<!channel> & co'))],
} as const
const target = (more: Partial<Target>): Target => ({ name: 't', events: ['Failed', 'Succeeded'], ...more })
const about = {
  news: newsOf('Failed', 'test', '<!channel> & co'),
  source: 'kubenode-system/fleet',
  release: release(failed),
  at: at(0),
}
const ref = { secretRef: { name: 's' } }

describe('a message', () => {
  test('to a webhook is signed over its body, and a short key signs nothing', () => {
    const to = target({ webhook: { url: 'https://h.example.org/x', ...ref } })
    const key = 'k'.repeat(16)
    const made = messageFor(to, about, { 'hmac-key': key })
    if (typeof made === 'string') throw new Error(made)
    const signature = createHmac('sha256', key).update(JSON.stringify(made.body)).digest('hex')
    expect(made.headers['x-kubenode-signature-256']).toBe(`sha256=${signature}`)
    expect(made.body).toMatchObject({ event: 'Failed', commit: COMMIT, stages: [{ name: 'test', phase: 'Failed' }] })
    expect(JSON.stringify(made.body)).not.toContain(key)
    expect(messageFor(to, about, { 'hmac-key': 'short' })).toMatch(/no hmac-key/)
  })

  test('to Slack mentions only people whom its template mentions', () => {
    const made = messageFor(target({ slack: ref, template: '<!here> {{event}} {{ message }} {{no}}' }), about, {
      url: 'u',
    })
    expect(made).toMatchObject({ url: 'u', body: { text: '<!here> Failed &lt;!channel&gt; &amp; co {{no}}' } })
  })

  test('to Mattermost and Rocket.Chat neither calls everyone nor hides an address behind a word, whatever a commit says', () => {
    const says =
      'x.@channel (@all) [approve](https://evil.example.org/) ![](https://evil.example.org/p) as ada@example.org'
    const text = JSON.stringify(
      messageFor(target({ slack: ref }), { ...about, news: newsOf('Failed', 'test', says) }, { url: 'u' }),
    )
    expect(text).not.toMatch(/@(channel|all)|\]\(/)
    expect(text).toContain('as ada@example.org')
  })

  test('the usual text says what, where, why and what to do', () =>
    expect(messageFor(target({ slack: ref }), about, { url: 'u' })).toMatchObject({
      body: {
        text: 'fleet: commit cccccccccccc Failed in stage test of track machines: &lt;!channel&gt; &amp; co. kubenode approve release/fleet-1',
      },
    }))

  test('calls the commit by its subject and author, of which neither calls people nor reaches a template unasked', () => {
    const title = { subject: 'beacon <!channel> 1.1.0', author: 'Ada' }
    const titled = { ...release(failed), spec: { ...release(failed).spec, ...title } }
    const found = newsOf('Failed', 'test', '<!channel> & co', title)
    const of = (more: Partial<Target>, keys: Readonly<Record<string, string>>) =>
      messageFor(target(more), { ...about, release: titled, news: found }, keys)
    expect(of({ slack: ref }, { url: 'u' })).toMatchObject({
      body: {
        text: expect.stringMatching(/^fleet: commit c{12} "beacon &lt;!channel&gt; 1\.1\.0" by Ada Failed in stage/),
      },
    })
    expect(of({ slack: ref, template: '{{author}}: {{subject}}' }, { url: 'u' })).toMatchObject({
      body: { text: 'Ada: beacon &lt;!channel&gt; 1.1.0' },
    })
    const hook = { webhook: { url: 'https://h.example.org/x', ...ref } }
    expect(of(hook, { 'hmac-key': 'k'.repeat(16) })).toMatchObject({ body: { commit: COMMIT, ...title } })
  })

  test('to GitHub and GitLab is the state of the commit in their words', () => {
    const status = (forge: 'GitHub' | 'GitLab', project: string) =>
      messageFor(target({ commitStatus: { forge, project, ...ref } }), about, { token: 'tok' })
    expect(status('GitHub', 'acme/fleet')).toMatchObject({
      url: `https://api.github.com/repos/acme/fleet/statuses/${COMMIT}`,
      body: { state: 'failure', context: 'kubenode/fleet/machines' },
      token: 'tok',
    })
    expect(status('GitLab', 'acme/fleet')).toMatchObject({
      url: `https://gitlab.com/api/v4/projects/acme%2Ffleet/statuses/${COMMIT}`,
      body: { state: 'failed', name: 'kubenode/fleet/machines' },
    })
    expect(isSameState(400, '{"message":"Cannot transition status via :run from :running"}')).toBe(true)
    expect(isSameState(400, 'no such commit')).toBe(false)
  })

  test('without what its Secret must have is not sent', () => {
    for (const to of [{ webhook: ref }, { slack: ref }, { commitStatus: { forge: 'GitHub', project: 'a/b', ...ref } }])
      expect(typeof messageFor(target(to as Partial<Target>), about, {})).toBe('string')
  })
})

describe('what is due', () => {
  const chat = target({ slack: ref })
  const status = target({
    name: 'status',
    events: ['Failed'],
    commitStatus: { forge: 'GitHub', project: 'a/b', ...ref },
  })
  const due = (notified: readonly Notified[], of: News, now = NOW, endedAt?: number) =>
    dueTargets({ targets: [chat, status], notified, news: of, endedAt, now })
  const names = (d: { readonly targets: readonly { readonly name: string }[] }) => d.targets.map((t) => t.name)
  const sent = (name: string, ...keys: string[]): Notified => ({ name, at: at(0), sent: keys })

  test('people get what they asked for, once; a commit status every state', () => {
    const started = newsOf('Started', 'test', 'the first stage has begun')
    expect(names(due([], started))).toEqual(['status'])
    expect(names(due([], about.news))).toEqual(['t', 'status'])
    expect(names(due([sent('t', 'Failed test'), sent('status', 'Failed test')], about.news))).toEqual([])
    const before = [sent('t', 'Failed test', 'Succeeded'), sent('status', 'Failed test', 'Started test')]
    expect(names(due(before, about.news))).toEqual(['status'])
  })

  test('a new target gets no news of what ended long ago', () => {
    const over = newsOf('Succeeded', '', 'all stages succeeded')
    expect(names(due([], over, NOW, NOW - 60_000))).toEqual(['t', 'status'])
    expect(names(due([], over, NOW, NOW - 2 * 3_600_000))).toEqual([])
  })

  test('attempts come ever later and end; other news begin again', () => {
    let record: Notified | undefined
    let now = NOW
    let attempts = 0
    for (; attempts < 100; attempts++) {
      const found = dueTargets({
        targets: [chat],
        notified: record ? [record] : [],
        news: about.news,
        endedAt: undefined,
        now,
      })
      if (found.targets.length === 0 && found.againMs === undefined) break
      if (found.targets.length === 0) now += found.againMs ?? 0
      else record = remembered(record, { name: 't', key: about.news.key, problem: 'HTTP 500', now })
    }
    expect(record?.attempts).toBe(MAX_NOTIFY_ATTEMPTS)
    expect(now - NOW).toBeGreaterThan(3_600_000)
    const over = newsOf('Succeeded', '', 'all stages succeeded')
    expect(
      names(dueTargets({ targets: [chat], notified: [record as Notified], news: over, endedAt: now, now })),
    ).toEqual(['t'])
    expect(remembered(record, { name: 't', key: 'Succeeded', problem: 'HTTP 500', now }).attempts).toBe(1)
  })

  test('whatever order news come in, none is sent twice to people, and the memory is bounded', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.boolean()), { maxLength: 60 }), (steps) => {
        const heard: string[] = []
        let record: readonly Notified[] = []
        let now = NOW
        for (const [key, isDown] of steps) {
          now += 3_600_000
          const of = { ...about.news, key }
          const found = dueTargets({ targets: [chat], notified: record, news: of, endedAt: undefined, now })
          if (found.targets.length === 0) continue
          if (!isDown) heard.push(key)
          const problem = isDown ? 'down' : undefined
          record = merged(record, [remembered(record[0], { name: 't', key, problem, now })], new Set(['t']))
        }
        expect(new Set(heard).size).toBe(heard.length)
        expect(record[0]?.sent?.length ?? 0).toBeLessThanOrEqual(MAX_SENT)
      }),
    )
  })
})

test('a note names who approved also after the Approvals were deleted', () => {
  const entry = {
    commit: COMMIT,
    cluster: 'a',
    stage: 'test',
    digest: 'd'.repeat(64),
    phase: 'Healthy',
    startedAt: at(0),
    approvedBy: ['ada', 'bob'],
  } as const
  const of = (approvals: readonly Approval[]) =>
    recordText([release({ phase: 'Succeeded', record: [entry] })], { approvals, releases: [] }).split('\n')
  expect(of([]).slice(1, 3)).toEqual(['  approved by ada', '  approved by bob'])
  expect(of([approval]).slice(1, 3)).toEqual([`  approved by bob at ${at(5)}`, '  approved by ada'])
})

test('the record of a commit has gates, digests, approvers and no line that acts on a terminal', () => {
  const text = recordText(
    [
      release({
        phase: 'Succeeded',
        startedAt: at(0),
        finishedAt: at(60_000),
        stages: [
          stage('test', 'Succeeded', {
            startedAt: at(0),
            finishedAt: at(1_000),
            gates: [{ when: 'After', name: 'board', phase: 'Passed', since: at(0), seen: 'bob\u001b[31m' }],
          }),
        ],
        clusters: [{ name: 'a', stage: 'test', phase: 'Healthy', since: at(0), digest: 'd'.repeat(64) }],
        record: [
          {
            commit: 'c'.repeat(40),
            cluster: 'a',
            stage: 'test',
            digest: 'd'.repeat(64),
            phase: 'Healthy',
            startedAt: at(0),
            switches: [{ set: 'base', component: 'beacon', count: 12, p50: 62, p90: 95 }],
          },
        ],
      }),
    ],
    { approvals: [approval], releases: [] },
  )
  expect(text.split('\n')).toEqual([
    'release kubenode-system/fleet-1 of track machines: Succeeded',
    '  2026-01-31T12:00:00Z to 2026-01-31T12:01:00Z',
    `  approved by bob at ${at(5)}`,
    '  stage test: Succeeded, 2026-01-31T12:00:00Z to 2026-01-31T12:00:01Z',
    '    gate board (After): Passed, bob\ufffd[31m',
    '    cluster a: Healthy since 2026-01-31T12:00:00Z, sha256:dddddddddddd',
    '      switches of base/beacon: half within 62s, nine of ten within 95s (of 12)',
    '',
  ])
})
