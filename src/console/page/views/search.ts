// Search over everything: nodes, machines, sets, repairs, permits, releases, commits.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useAnswer, useApp } from '../app.ts'
import { Page } from '../frame.ts'
import type { SearchAnswer, SearchHit } from '../../protocol.ts'
import { Mark } from '../parts/mark.ts'
import { nounOf } from '../parts/noun.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { hrefOfObject } from '../parts/wait.ts'
import { withParams } from '../router.ts'

/** A pause in typing; each query makes the server scan its objects. */
const PAUSE_MS = 200

export function Search(): VNode {
  const { route, go } = useApp()
  const q = route.params['q'] ?? ''
  const loaded = useAnswer<SearchAnswer>(q === '' ? undefined : `/api/search?${new URLSearchParams({ q })}`)
  const field = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // Focused with the first draw: the user's next key is text, not the first half of a chord.
  useLayoutEffect(() => field.current?.focus(), [])
  const type = (e: Event): void => {
    const text = (e.currentTarget as HTMLInputElement).value.trim()
    clearTimeout(timer.current)
    timer.current = setTimeout(() => go(withParams(route, { q: text })), PAUSE_MS)
  }
  return h(
    Page,
    {
      title: 'Search',
      commands: q !== '' && loaded.state === 'Ready' ? commandsFor(q, loaded.value.hits) : [],
    },
    h(
      'form',
      { role: 'search', onSubmit: (e: Event) => e.preventDefault() },
      h(
        'label',
        { class: 'field' },
        'Name, commit, or part of it',
        h('input', {
          ref: field,
          type: 'search',
          defaultValue: q,
          onInput: type,
          autoComplete: 'off',
          spellcheck: false,
        }),
      ),
    ),
    q === ''
      ? h(
          Notice,
          { title: 'Search everything' },
          'Machines, nodes, sets, repairs, permits, releases, commits, in every cluster that you may read.',
        )
      : shown(loaded, ({ hits, isTruncated }) =>
          hits.length === 0
            ? h(Notice, { title: 'Nothing found' }, `No object has “${q}” in its name.`)
            : h(Hits, { hits, isTruncated }),
        ),
  )
}

/** One command reads one cluster; more commands do not help. */
const MOST_COMMANDS = 4

const commandsFor = (q: string, hits: readonly SearchHit[]): readonly string[] =>
  [...new Set(hits.map(({ cluster }) => cluster))]
    .slice(0, MOST_COMMANDS)
    .map(
      (cluster) =>
        `kubenode get machines,machinecomponentsets,releases,remedyoperationjobs,operationpermits,defenderpolicies -A -o wide --context ${word(cluster)} | grep -iF -- ${word(q)}`,
    )

function Hits({ hits, isTruncated }: SearchAnswer): VNode {
  const { route } = useApp()
  return h(
    'div',
    { class: 'wide' },
    h(Table<SearchHit>, {
      caption: 'Found',
      rows: hits,
      idOf: (hit) => `${hit.cluster}/${hit.kind}/${hit.namespace ?? ''}/${hit.name}`,
      href: (hit) => hrefOfObject({ ...route, params: {} }, hit),
      columns: [
        {
          id: 'name',
          title: 'Name',
          of: (hit) => h('span', { title: hit.name }, hit.called ?? hit.name),
          by: (hit) => hit.called ?? hit.name,
        },
        { id: 'kind', title: 'Kind', of: (hit) => nounOf(hit.kind), by: (hit) => hit.kind },
        { id: 'cluster', title: 'Cluster', of: (hit) => hit.cluster, by: (hit) => hit.cluster },
        { id: 'text', title: 'State', of: (hit) => h(Mark, { phase: hit.text }), by: (hit) => hit.text },
      ],
    }),
    isTruncated && h('p', { class: 'soft' }, 'There are more; type more of the name.'),
  )
}
