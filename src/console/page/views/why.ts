// Why it waits: the tree of `kubenode why`, each line with what ends the wait.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useAnswer, useApp } from '../app.ts'
import { Page } from '../frame.ts'
import type { ObjectName } from '../../basics.ts'
import type { WhyAnswer, WhyNode } from '../../protocol.ts'
import { LifeLink } from '../parts/life-link.ts'
import { nounOf } from '../parts/noun.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { LiftLine, hrefOfObject } from '../parts/wait.ts'
import { to } from '../router.ts'
import { AsTable } from '../frame.ts'

export function Why(): VNode {
  const { route } = useApp()
  const { cluster, kind, name } = route
  if (cluster === undefined || kind === undefined || name === undefined)
    return h(
      Page,
      { title: 'Why it waits', commands: ['kubenode why set/NAME --context CLUSTER'] },
      h(
        Notice,
        { title: 'Choose what waits' },
        h('a', { href: to(route, 'search') }, 'Search for an object'),
        ', or follow a link of another view.',
      ),
    )
  return h(Tree, { cluster, kind, name })
}

function Tree({ cluster, kind, name }: ObjectName): VNode {
  const { route } = useApp()
  const [again, setAgain] = useState(0)
  const namespace = route.params['namespace']
  const loaded = useAnswer<WhyAnswer>(
    `/api/why?${new URLSearchParams({ cluster, kind, name, ...defined({ namespace }) })}`,
    again,
  )
  return h(
    Page,
    {
      title: kind === 'OperationPermit' ? 'Why this permit waits' : `Why ${name} waits`,
      sentence: `${nounOf(kind)} ${name} in cluster ${cluster}`,
      tools: [
        h('a', { href: hrefOfObject({ ...route, view: 'why' }, { cluster, kind, name }) }, 'Open it'),
        h(LifeLink, { cluster, kind, name }),
        h(AsTable, {}),
        h('button', { type: 'button', onClick: () => setAgain(again + 1) }, 'Read again'),
      ],
      commands: loaded.state === 'Ready' ? [loaded.value.command] : [],
    },
    shown(loaded, ({ tree }) =>
      route.params['as'] === 'table'
        ? h(Leaves, { tree })
        : h('div', { class: 'sheet pad tree' }, h(Leaf, { node: tree, isRoot: true })),
    ),
  )
}

function Leaf({ node, isRoot = false }: { readonly node: WhyNode; readonly isRoot?: boolean }): VNode {
  const { route } = useApp()
  const text =
    node.object === undefined
      ? node.text
      : h('a', { href: hrefOfObject(route, node.object), 'data-row': '' }, node.text)
  return h(
    'div',
    { class: 'leaf' },
    isRoot ? h('h2', { class: 'name' }, text) : h('p', { class: 'name' }, text),
    node.lift !== undefined && h(LiftLine, { lift: node.lift }),
    node.below.length > 0 &&
      h(
        'ul',
        {},
        node.below.map((below, i) => h('li', { key: i }, h(Leaf, { node: below }))),
      ),
  )
}

interface Flat extends WhyNode {
  readonly id: string
}

const flat = (node: WhyNode, id = '1'): readonly Flat[] => [
  { ...node, id },
  ...node.below.flatMap((below, i) => flat(below, `${id}.${i + 1}`)),
]

function Leaves({ tree }: { readonly tree: WhyNode }): VNode {
  const { route } = useApp()
  return h(Table<Flat>, {
    caption: 'Why it waits',
    rows: flat(tree),
    idOf: ({ id }) => id,
    href: ({ object }) => (object === undefined ? undefined : hrefOfObject(route, object)),
    columns: [
      { id: 'text', title: 'What', of: (n) => `${n.id} ${n.text}` },
      { id: 'lift', title: 'What ends it', of: (n) => n.lift && h(LiftLine, { lift: n.lift }) },
    ],
  })
}
