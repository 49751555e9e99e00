// One node: phase, conditions, components with output, repairs on a time axis, holds.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp, useTopic } from '../app.ts'
import { AsTable, Page } from '../frame.ts'
import type { NodeTopic } from '../../protocol.ts'
import type { NodeFacts, NodePodRow } from '../../node-facts.ts'
import type {
  NodeComponentRow,
  NodeConditionRow,
  NodeHead,
  NodePermitRow,
  NodeRepairRow,
  NodeRow,
} from '../../node-topics.ts'
import { operationsText } from '../../operation-words.ts'
import { topicOf } from '../../topic-name.ts'
import { Ago, Since, Until } from '../parts/clock.ts'
import { LifeLink } from '../parts/life-link.ts'
import { LastDay } from '../parts/last-day.ts'
import { LogTail } from '../parts/log-tail.ts'
import { Mark } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { Blocked, shortCommit } from '../parts/wait.ts'
import { HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'
import { Story } from './repairs.ts'

export function NodeView(): VNode {
  const { route } = useApp()
  const { cluster, name } = route
  const loaded = useTopic<NodeTopic>(
    cluster === undefined || name === undefined ? undefined : topicOf('node', cluster, name),
  )
  if (cluster === undefined || name === undefined)
    return h(
      Page,
      { title: 'Node', commands: [] },
      h(
        Notice,
        { title: 'No node is chosen' },
        h('a', { href: to(route, 'machines') }, 'Choose one in the heat map'),
        '.',
      ),
    )
  const context = `--context ${word(cluster)}`
  const head = loaded.state === 'Ready' ? loaded.value.head : undefined
  return h(
    Page,
    {
      title: name,
      sentence: head && h(Sentence, { head }),
      tools: [
        h('a', { href: to(route, 'why', { cluster, kind: 'Node', name }) }, 'Why it waits'),
        h(LifeLink, { cluster, kind: head?.machine === undefined ? 'Node' : 'Machine', name }),
        h(
          'a',
          { href: to(route, 'machines', { cluster, params: { on: `${cluster}/${name}`, draw: 'map' } }) },
          'In the heat map',
        ),
        h(AsTable, {}),
        h(HoldButton, { cluster, target: { kind: 'Machine', name }, effects: ['Pause', 'Freeze'] }),
      ],
      commands: [
        `kubenode why node/${word(name)} ${context}`,
        `kubenode describe machine/${word(name)} ${context}`,
        `kubenode logs machine/${word(name)} ${context}`,
      ],
    },
    shown(loaded, ({ head, rows }) => h(Body, { head, rows, isTable: route.params['as'] === 'table' })),
  )
}

const Sentence = ({ head }: { readonly head: NodeHead }): VNode =>
  h(
    'span',
    { class: 'row' },
    h(Mark, { phase: head.phase }),
    h('span', {}, [head.cluster, head.zone, head.rack, head.pool, head.class].filter((t) => t !== '').join(' · ')),
    head.machine === undefined && h('strong', {}, 'not managed by KubeNode'),
  )

interface Props {
  readonly head: NodeHead
  readonly rows: readonly NodeRow[]
  readonly isTable: boolean
}

function Body({ head, rows, isTable }: Props): VNode {
  const conditions = rows.filter((r): r is NodeConditionRow => r.row === 'Condition')
  const components = rows.filter((r): r is NodeComponentRow => r.row === 'Component')
  const repairs = rows.filter((r): r is NodeRepairRow => r.row === 'Repair').map(({ repair }) => repair)
  const permits = rows.filter((r): r is NodePermitRow => r.row === 'Permit')
  const pods = rows.filter((r): r is NodePodRow => r.row === 'Pod')
  return h(
    'div',
    { class: 'wide' },
    h(Blocked, { holds: head.holds, cluster: head.cluster, wait: head.wait }),
    h(LastDay, { cluster: head.cluster, kind: head.machine === undefined ? 'Node' : 'Machine', name: head.name }),
    h(Conditions, { rows: conditions }),
    h(Components, { rows: components, cluster: head.cluster }),
    permits.length > 0 && h(Permits, { rows: permits, cluster: head.cluster }),
    head.kubernetes !== undefined && h(Kubernetes, { facts: head.kubernetes, pods }),
    components.flatMap((c) =>
      c.output === undefined || c.output === ''
        ? []
        : [
            h(
              'section',
              { key: c.id, class: 'stack', 'aria-label': `Last output of ${c.name}` },
              h('h2', {}, `Last output of ${c.name}`),
              h('pre', { class: 'said' }, c.output),
            ),
          ],
    ),
    head.machine !== undefined &&
      head.canReadLogs === true &&
      h(LogTail, { cluster: head.cluster, machine: head.machine, components: components.map(({ name }) => name) }),
    h(
      'section',
      { class: 'stack', 'aria-label': 'Repairs' },
      h('h2', {}, 'Repairs'),
      repairs.length === 0 ? h('p', { class: 'soft' }, 'No repair is known.') : h(Story, { rows: repairs, isTable }),
    ),
    h(Facts, { head }),
  )
}

const Conditions = ({ rows }: { readonly rows: readonly NodeConditionRow[] }): VNode =>
  h(Table<NodeConditionRow>, {
    caption: 'Conditions',
    rows: rows.toSorted((a, b) => Number(a.isGood) - Number(b.isGood)),
    idOf: ({ id }) => id,
    prefix: 'conditions-',
    columns: [
      { id: 'type', title: 'Condition', of: (c) => c.type, by: (c) => c.type },
      {
        id: 'status',
        title: 'Status',
        of: (c) => h(Mark, { phase: c.status, tone: c.isGood ? 'good' : c.status === 'Unknown' ? 'rest' : 'bad' }),
        by: (c) => c.status,
      },
      { id: 'for', title: 'For', of: (c) => h(Ago, { at: c.since }), by: (c) => -(c.since ?? 0) },
      { id: 'of', title: 'Of', of: (c) => c.of, by: (c) => c.of },
      { id: 'reason', title: 'Reason', of: (c) => c.reason, by: (c) => c.reason },
      { id: 'message', title: 'Message', of: (c) => c.message },
    ],
  })

function Components({
  rows,
  cluster,
}: {
  readonly rows: readonly NodeComponentRow[]
  readonly cluster: string
}): VNode {
  const { route } = useApp()
  return h(Table<NodeComponentRow>, {
    caption: 'Components',
    rows,
    idOf: ({ id }) => id,
    prefix: 'components-',
    columns: [
      { id: 'name', title: 'Component', of: (c) => c.name, by: (c) => c.name },
      { id: 'state', title: 'State', of: (c) => h(Mark, { phase: c.state }), by: (c) => c.state },
      { id: 'for', title: 'For', of: (c) => h(Ago, { at: c.since }), by: (c) => -(c.since ?? 0) },
      {
        id: 'version',
        title: 'Version',
        of: (c) =>
          c.desired === undefined || c.desired === c.version
            ? (c.version ?? '')
            : `${c.version ?? 'none'} → ${c.desired}`,
        by: (c) => c.version ?? '',
      },
      {
        id: 'set',
        title: 'Set',
        of: (c) =>
          c.set === undefined ? '' : h('a', { href: to(route, 'rollouts', { cluster, name: c.set }) }, c.set),
        by: (c) => c.set ?? '',
      },
      { id: 'message', title: 'Message', of: (c) => c.message ?? '' },
    ],
  })
}

function Permits({ rows, cluster }: { readonly rows: readonly NodePermitRow[]; readonly cluster: string }): VNode {
  const { route } = useApp()
  return h(Table<NodePermitRow>, {
    caption: 'Permits',
    rows,
    idOf: ({ id }) => id,
    prefix: 'permits-',
    href: ({ name }) => to(route, 'why', { cluster, kind: 'OperationPermit', name }),
    columns: [
      { id: 'for', title: 'Permit for', of: (p) => h('span', { title: p.name }, p.purpose), by: (p) => p.purpose },
      { id: 'phase', title: 'Phase', of: (p) => h(Mark, { phase: p.phase }), by: (p) => p.phase },
      { id: 'since', title: 'Since', of: (p) => h(Since, { at: p.since }), by: (p) => -(p.since ?? 0) },
      { id: 'until', title: 'Expires', of: (p) => p.until !== undefined && h(Until, { at: p.until }) },
      { id: 'what', title: 'What', of: (p) => operationsText(p.operations) },
      { id: 'wait', title: 'Waits for', of: (p) => p.wait },
      { id: 'approved', title: 'Approved by', of: (p) => p.approvedBy?.join(', ') },
    ],
  })
}

/** Above what it says, nothing: a node without pods that fail needs no table. */
function newPodsText({ isCordoned, isCordonedByKubeNode = false }: NodeFacts): string {
  if (isCordonedByKubeNode) return isCordoned ? 'none: KubeNode and a user cordoned it' : 'none: KubeNode cordoned it'
  return isCordoned ? 'none: it is cordoned' : 'yes'
}

function Kubernetes({ facts, pods }: { readonly facts: NodeFacts; readonly pods: readonly NodePodRow[] }): VNode {
  return h(
    'section',
    { class: 'stack', 'aria-label': 'In Kubernetes' },
    h('h2', {}, 'In Kubernetes'),
    h(Terms, {
      of: [
        ['Pods', podsText(facts)],
        ['New pods', newPodsText(facts)],
        ['Taints', facts.taints.join(', ')],
        [
          'For pods',
          [facts.cpu === undefined ? '' : `${facts.cpu} CPU`, facts.memory ?? ''].filter(Boolean).join(', '),
        ],
        ['Kubelet', facts.kubelet],
      ],
    }),
    pods.length > 0 && h(Pods, { rows: pods }),
  )
}

function podsText({ pods, podsNotReady = 0, mostPods }: NodeFacts): string {
  if (pods === undefined) return 'unknown: you may not list pods'
  return `${pods}${mostPods === undefined ? '' : ` of at most ${mostPods}`}, ${podsNotReady} not ready`
}

const Pods = ({ rows }: { readonly rows: readonly NodePodRow[] }): VNode =>
  h(Table<NodePodRow>, {
    caption: 'Pods that are not ready',
    rows,
    idOf: ({ id }) => id,
    prefix: 'pods-',
    columns: [
      { id: 'name', title: 'Pod', of: (p) => `${p.namespace}/${p.name}`, by: (p) => `${p.namespace}/${p.name}` },
      { id: 'phase', title: 'Phase', of: (p) => p.phase, by: (p) => p.phase },
      { id: 'for', title: 'For', of: (p) => h(Ago, { at: p.since }), by: (p) => -(p.since ?? 0) },
      { id: 'restarts', title: 'Restarts', isNumber: true, of: (p) => p.restarts, by: (p) => p.restarts },
      { id: 'why', title: 'Why', of: (p) => p.why },
    ],
  })

function Facts({ head }: { readonly head: NodeHead }): VNode {
  const { route } = useApp()
  const facts: readonly (readonly [string, unknown])[] = [
    ['System', [head.os, head.arch, head.kernel].filter((t) => t !== undefined).join(', ')],
    ['Agent', head.agent],
    [
      'Commit',
      head.commit !== undefined &&
        h('a', { href: to(route, 'commits', { name: head.commit }), class: 'mono' }, shortCommit(head.commit)),
    ],
    [
      'Certificate',
      head.certificateExpires !== undefined && h('span', {}, 'expires ', h(Until, { at: head.certificateExpires })),
    ],
  ]
  return h('section', { class: 'stack', 'aria-label': 'Facts' }, h('h2', {}, 'Facts'), h(Terms, { of: facts }))
}

/** Terms without a value are left out. */
const Terms = ({ of }: { readonly of: readonly (readonly [string, unknown])[] }): VNode =>
  h(
    'dl',
    { class: 'sheet pad keys' },
    of.flatMap(([term, value]) =>
      value === undefined || value === '' || value === false
        ? []
        : [h('dt', { key: term, class: 'soft' }, term), h('dd', { key: `${term}=`, class: 'name' }, value as VNode)],
    ),
  )
