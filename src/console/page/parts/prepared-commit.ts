// A prepared commit: its diff and plan, what it means for machines, a patch to copy, and a push with the user's own credentials.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Part, PredictedPlan } from '../../plan.ts'
import type { MachineEffect, PredictRequest, PreparedCommit, PushedCommit } from '../../prepared.ts'
import { useApp } from '../app.ts'
import { post, type Loaded } from '../live/store.ts'
import { to } from '../router.ts'
import { DiffLines } from './diff.ts'
import { PredictedPart } from './predicted.ts'
import { sentence, shown } from './states.ts'
import { Terminal } from './terminal.ts'
import { shortCommit } from './wait.ts'

export const PLAIN = { autoComplete: 'off', spellcheck: false } as const

export function PreparedPart({
  commit,
  means,
}: {
  readonly commit: PreparedCommit
  readonly means: string | undefined
}): VNode {
  const { plan, warnings, message, patch, lines, machines = [] } = commit
  return h(
    'section',
    { class: 'sheet pad stack', 'aria-label': 'Prepared commit' },
    h('h2', {}, `${message} (${shortCommit(commit.id)})`),
    h('p', {}, plan.summary),
    warnings.map((text) => h('p', { key: text, class: 'fail' }, text)),
    [...plan.red.map((r) => r.text), ...plan.orange].map((text) => h('p', { key: text, class: 'fail name' }, text)),
    machines.length > 0 && h(OnMachines, { machines, means }),
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
    machines.length === 0 && h(Predicted, { id: commit.id }),
    h(Push, { commit }),
    h('p', { class: 'small soft' }, 'Or apply the patch in a clone: copy it and run git am.'),
    h(Terminal, { command: `git am <<'END_OF_PATCH'\n${patch}END_OF_PATCH`, label: 'git am with the patch' }),
  )
}

const OnMachines = ({
  machines,
  means,
}: {
  readonly machines: readonly MachineEffect[]
  readonly means: string | undefined
}): VNode =>
  h(
    'section',
    { class: 'stack', 'aria-label': 'What it means for the machines' },
    means !== undefined && h('p', {}, means),
    h(
      'ul',
      {},
      machines.map(({ machine, text }) =>
        h('li', { key: machine, class: 'name' }, h('strong', {}, machine), `: ${text}`),
      ),
    ),
  )

/** Reads the clusters, so only on request. */
function Predicted({ id }: { readonly id: string }): VNode {
  const { announce } = useApp()
  const [answer, setAnswer] = useState<Loaded<Part<PredictedPlan>>>()
  const ask = async (): Promise<void> => {
    setAnswer({ state: 'Loading' })
    setAnswer(await post<Part<PredictedPlan>>('/api/predict', { id } satisfies PredictRequest))
    announce('Predicted')
  }
  return h(
    'section',
    { class: 'stack', 'aria-label': 'What it does to machines' },
    h('h3', {}, 'What it does to machines'),
    answer === undefined
      ? h(
          'p',
          { class: 'row' },
          h('button', { type: 'button', onClick: () => void ask() }, 'Predict now'),
          h(
            'span',
            { class: 'soft small' },
            'Machines, steps and minutes, by the clusters as they are now. It may take half a minute.',
          ),
        )
      : shown(answer, (part) =>
          part.state === 'Made'
            ? h(PredictedPart, { plan: part.value })
            : h('p', {}, part.state === 'Absent' ? sentence(part.why) : 'Nothing was predicted.'),
        ),
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
