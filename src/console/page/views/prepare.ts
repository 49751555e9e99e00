// Prepares a change as a commit: what is changed, by whom and why. Edits nothing in a cluster.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useApp, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import { post, type Loaded } from '../live/store.ts'
import type { CommitsTopic } from '../../protocol.ts'
import type { ChangeRequest, PreparedCommit, SourceName } from '../../prepared.ts'
import { NothingOnHub } from '../parts/elsewhere.ts'
import { PLAIN, PreparedPart } from '../parts/prepared-commit.ts'
import { sentence, shown } from '../parts/states.ts'
import { word } from '../parts/terminal.ts'
import { withParams } from '../router.ts'
import type { Route } from '../router.ts'

export function Prepare(): VNode {
  const { route } = useApp()
  const kind = kindIn(route)
  const loaded = useTopic<CommitsTopic>('commits')
  return h(
    Page,
    {
      title: TITLES[kind],
      sentence: 'Nothing changes until the commit is in the repository. Until then this is a draft.',
      commands:
        kind === 'import'
          ? [`kubenode import NODE -o yaml --context ${word(route.params['cluster'] ?? 'CLUSTER')}`]
          : ['kubenode plan --dirty'],
    },
    shown(loaded, ({ rows }) => {
      const sources = sourcesIn(rows)
      return sources.length === 0
        ? h(
            NothingOnHub,
            { title: 'No source to commit to' },
            'Sync has followed no commit of a FleetSource that you may read.',
          )
        : h(Draft, { sources, kind })
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

const MACHINES = { cluster: 'Cluster', machines: 'Machines, separated by commas' }
const FIELDS = {
  import: { cluster: 'Cluster', nodes: 'Nodes, separated by commas' },
  protect: MACHINES,
  unprotect: MACHINES,
  version: { cluster: 'Cluster', set: 'Set', component: 'Component', from: 'Version now', to: 'New version' },
} as const

type Kind = keyof typeof FIELDS

const TITLES: Readonly<Record<Kind, string>> = {
  import: 'Import nodes by a commit',
  protect: 'Protect machines by a commit',
  unprotect: 'End the protection of machines by a commit',
  version: 'Change a version by a commit',
}

/** Above the machines of a prepared commit. */
const MEANS: Readonly<Partial<Record<Kind, string>>> = {
  protect:
    'Once it is followed, nothing begins that disrupts these machines: no switch of a component, drain, reboot or removal, and no repair that needs one. What runs finishes. A hold that ends by itself does the same for some hours.',
  unprotect: 'Once it is followed, these machines are disrupted again as the other policies allow.',
}

const kindIn = ({ params }: Route): Kind => {
  const kind = params['change'] ?? ''
  return Object.hasOwn(FIELDS, kind) ? (kind as Kind) : 'version'
}

interface DraftProps {
  readonly sources: readonly SourceName[]
  readonly kind: Kind
}

const listOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((n) => n !== '')

function changeOf(kind: Kind, { params }: Route): ChangeRequest {
  const value = (name: string): string => params[name] ?? ''
  const cluster = value('cluster')
  switch (kind) {
    case 'import':
      return { kind: 'Import', cluster, nodes: listOf(value('nodes')) }
    case 'protect':
      return { kind: 'Protect', cluster, machines: listOf(value('machines')) }
    case 'unprotect':
      return { kind: 'Unprotect', cluster, machines: listOf(value('machines')) }
    case 'version': {
      const [set, component, from, to] = [value('set'), value('component'), value('from'), value('to')]
      return { kind: 'Version', cluster, set, component, from, to }
    }
    default:
      return kind satisfies never
  }
}

function Draft({ sources, kind }: DraftProps): VNode {
  const { route, go, session, announce } = useApp()
  const [answer, setAnswer] = useState<Loaded<PreparedCommit>>()
  const change = (name: string, value: string): void => {
    setAnswer(undefined)
    go(withParams(route, { [name]: value }))
  }
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string): string => String(form.get(name) ?? '').trim()
    setAnswer({ state: 'Loading' })
    const body = {
      source: sources[Number(text('source') || 0)],
      change: changeOf(kind, route),
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
      (kind === 'protect' || kind === 'unprotect') &&
        h(
          'label',
          {},
          'What',
          h(
            'select',
            { value: kind, onChange: (e: Event) => change('change', (e.currentTarget as HTMLSelectElement).value) },
            h('option', { value: 'protect' }, 'Protect them'),
            h('option', { value: 'unprotect' }, 'End their protection'),
          ),
        ),
      Object.entries(FIELDS[kind]).map(([name, label]) =>
        h(
          'label',
          { key: name },
          label,
          h('input', {
            ...PLAIN,
            name,
            required: true,
            value: route.params[name] ?? '',
            onChange: (e: Event) => change(name, (e.currentTarget as HTMLInputElement).value),
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
        : shown(answer, (commit) => h(PreparedPart, { key: commit.id, commit, means: MEANS[kind] }))),
  )
}
