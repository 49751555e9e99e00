// Prepares a change as a commit: a description, its diff and plan, a patch to copy, and a push with the user's own credentials. Edits nothing in a cluster.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useApp, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import { post, type Loaded } from '../live/store.ts'
import type { CommitsTopic } from '../../protocol.ts'
import type { ChangeRequest, PreparedCommit, PushedCommit, SourceName } from '../../prepared.ts'
import { DiffLines } from '../parts/diff.ts'
import { Notice, sentence, shown } from '../parts/states.ts'
import { Terminal, word } from '../parts/terminal.ts'
import { shortCommit } from '../parts/wait.ts'
import { to, withParams } from '../router.ts'

const PLAIN = { autoComplete: 'off', spellcheck: false } as const

export function Prepare(): VNode {
  const { route } = useApp()
  const isImport = route.params['change'] === 'import'
  const loaded = useTopic<CommitsTopic>('commits')
  return h(
    Page,
    {
      title: isImport ? 'Import nodes by a commit' : 'Change a version by a commit',
      sentence: 'Nothing changes until the commit is in the repository. Until then this is a draft.',
      commands: isImport
        ? [`kubenode import NODE -o yaml --context ${word(route.params['cluster'] ?? 'CLUSTER')}`]
        : ['kubenode plan --dirty'],
    },
    shown(loaded, ({ rows }) => {
      const sources = sourcesIn(rows)
      return sources.length === 0
        ? h(
            Notice,
            { title: 'No source to commit to' },
            'Sync has followed no commit of a FleetSource that you may read.',
          )
        : h(Draft, { sources, isImport })
    }),
  )
}

function sourcesIn(rows: CommitsTopic['rows']): readonly SourceName[] {
  const all = rows.flatMap(({ source, releases }) =>
    releases
      .slice(0, 1)
      .map(({ object }) => ({ cluster: object.cluster, namespace: object.namespace ?? '', name: source })),
  )
  return [...new Map(all.map((s) => [JSON.stringify(s), s])).values()]
}

interface DraftProps {
  readonly sources: readonly SourceName[]
  readonly isImport: boolean
}

const FIELDS = {
  import: { cluster: 'Cluster', nodes: 'Nodes, separated by commas' },
  version: { cluster: 'Cluster', set: 'Set', component: 'Component', from: 'Version now', to: 'New version' },
} as const

const listOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((n) => n !== '')

function Draft({ sources, isImport }: DraftProps): VNode {
  const { route, go, session, announce } = useApp()
  const [answer, setAnswer] = useState<Loaded<PreparedCommit>>()
  const fields = Object.entries(FIELDS[isImport ? 'import' : 'version'])
  const value = (name: string): string => route.params[name] ?? ''
  const change = (): ChangeRequest =>
    isImport
      ? { kind: 'Import', cluster: value('cluster'), nodes: listOf(value('nodes')) }
      : {
          kind: 'Version',
          cluster: value('cluster'),
          set: value('set'),
          component: value('component'),
          from: value('from'),
          to: value('to'),
        }
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string): string => String(form.get(name) ?? '').trim()
    setAnswer({ state: 'Loading' })
    const body = {
      source: sources[Number(text('source') || 0)],
      change: change(),
      author: text('author'),
      email: text('email'),
      reason: text('reason'),
    }
    const made = await post<PreparedCommit>('/api/prepare', body)
    setAnswer(made)
    announce(made.state === 'Ready' ? 'The commit is prepared' : 'The commit could not be prepared')
  }
  return h(
    'div',
    { class: 'wide' },
    h(
      'form',
      { class: 'sheet pad stack draft', onSubmit: (e: SubmitEvent) => void send(e) },
      sources.length > 1 &&
        h(
          'label',
          {},
          'Source',
          h(
            'select',
            { name: 'source' },
            sources.map((s, n) => h('option', { key: n, value: String(n) }, `${s.name} (${s.cluster})`)),
          ),
        ),
      fields.map(([name, label]) =>
        h(
          'label',
          { key: name },
          label,
          h('input', {
            ...PLAIN,
            name,
            required: true,
            value: value(name),
            onChange: (e: Event) => go(withParams(route, { [name]: (e.currentTarget as HTMLInputElement).value })),
          }),
        ),
      ),
      h('label', {}, 'Your name', h('input', { name: 'author', required: true, defaultValue: session.person.name })),
      h('label', {}, 'Your e-mail', h('input', { name: 'email', required: true, type: 'email' })),
      h('label', {}, 'Reason', h('input', { ...PLAIN, name: 'reason', required: true, maxLength: 512 })),
      h('div', { class: 'tools' }, h('button', { type: 'submit', class: 'main' }, 'Prepare the commit')),
    ),
    answer !== undefined &&
      (answer.state === 'Failed' || answer.state === 'Missing'
        ? h('p', { class: 'error', role: 'alert' }, sentence(answer.message))
        : shown(answer, (commit) => h(Ready, { key: commit.id, commit }))),
  )
}

function Ready({ commit }: { readonly commit: PreparedCommit }): VNode {
  const { plan, warnings, message, patch, lines } = commit
  return h(
    'section',
    { class: 'sheet pad stack', 'aria-label': 'Prepared commit' },
    h('h2', {}, `${message} (${shortCommit(commit.id)})`),
    h('p', {}, plan.summary),
    warnings.map((text) => h('p', { key: text, class: 'fail' }, text)),
    [...plan.red.map((r) => r.text), ...plan.orange].map((text) => h('p', { key: text, class: 'fail name' }, text)),
    h(DiffLines, { lines, label: 'Lines that change' }),
    h('p', { class: 'small soft' }, 'Objects that change:'),
    h(
      'ul',
      {},
      plan.clusters.flatMap((c) =>
        c.objects.map((o) =>
          h(
            'li',
            { key: `${c.id}${o.object}`, class: 'name' },
            `${c.clusters.join(', ')}: ${o.object} `,
            h('span', { class: 'soft' }, o.fields.join('; ') || o.change),
          ),
        ),
      ),
    ),
    h(Push, { commit }),
    h('p', { class: 'small soft' }, 'Or apply the patch in a clone: copy it and run git am.'),
    h(Terminal, { command: `git am <<'END_OF_PATCH'\n${patch}END_OF_PATCH`, label: 'git am with the patch' }),
  )
}

function Push({ commit }: { readonly commit: PreparedCommit }): VNode {
  const { announce } = useApp()
  const { id, url, follows, branch, refused, needsToken } = commit
  const [pushed, setPushed] = useState<Loaded<PushedCommit>>()
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (pushed?.state === 'Loading') return
    const element = event.currentTarget as HTMLFormElement
    const form = new FormData(element)
    const text = (name: string): string => String(form.get(name) ?? '')
    // Used once: the field is cleared before the response arrives.
    const field = element.elements.namedItem('token')
    if (field instanceof HTMLInputElement) field.value = ''
    const body = { id, branch: text('branch'), username: text('username'), ...(needsToken && { token: text('token') }) }
    setPushed({ state: 'Loading' })
    const answer = await post<PushedCommit>('/api/push', body)
    setPushed(answer)
    announce(answer.state === 'Ready' ? `Pushed to ${answer.value.branch}` : 'Not pushed')
  }
  if (pushed?.state === 'Ready') return h(Pushed, { of: pushed.value })
  return h(
    'form',
    { class: 'stack draft', onSubmit: (e: SubmitEvent) => void send(e) },
    h('h3', { class: 'name' }, `Push to ${url}`),
    h(
      'label',
      {},
      'Branch',
      h(
        'select',
        { name: 'branch' },
        h('option', { value: branch }, `${branch}, a new branch for review`),
        refused === undefined && h('option', { value: follows }, `${follows}, which is rolled out`),
      ),
    ),
    needsToken && [
      h('label', { key: 'user' }, 'User', h('input', { ...PLAIN, name: 'username', defaultValue: 'git' })),
      h(
        'label',
        { key: 'token' },
        'Access token, used once and not kept',
        h('input', { name: 'token', type: 'password', autoComplete: 'off', required: true }),
      ),
    ],
    pushed !== undefined &&
      pushed.state !== 'Loading' &&
      h('p', { class: 'error', role: 'alert' }, sentence(pushed.message)),
    h('div', { class: 'tools' }, h('button', { type: 'submit', 'aria-disabled': pushed?.state === 'Loading' }, 'Push')),
  )
}

/** Replaces the form, whose button had the focus. */
function Pushed({ of: { branch, commit } }: { readonly of: PushedCommit }): VNode {
  const { route } = useApp()
  const link = useRef<HTMLAnchorElement>(null)
  useLayoutEffect(() => link.current?.focus(), [])
  return h(
    'p',
    {},
    `Pushed to ${branch}. `,
    h('a', { ref: link, href: to(route, 'plan', { name: commit }) }, 'Plan of the commit'),
    ' · ',
    h('a', { href: to(route, 'pipeline') }, 'Pipeline'),
  )
}
