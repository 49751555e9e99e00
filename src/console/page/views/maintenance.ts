// Maintenance: announced host maintenance, when its drain starts, and the state of each event.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useApp, useCluster, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import type { MaintenanceTopic } from '../../protocol.ts'
import type { MaintenanceRow } from '../../topics.ts'
import { topicOf } from '../../topic-name.ts'
import { At, Hour, Until } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { to } from '../router.ts'

export function Maintenance(): VNode {
  const cluster = useCluster('maintenance')
  const loaded = useTopic<MaintenanceTopic>(cluster === undefined ? undefined : topicOf('maintenance', cluster))
  return h(
    Page,
    {
      title: cluster === undefined ? 'Maintenance' : `Maintenance in ${cluster}`,
      sentence: 'Work on hosts that providers announced or users planned, and how far their nodes are prepared.',
      scope: { family: 'maintenance', cluster },
      commands: cluster === undefined ? [] : [`kubenode get maintenanceevents --context ${word(cluster)}`],
    },
    shown(loaded, ({ rows }) =>
      rows.length === 0
        ? h(Notice, { title: 'No maintenance' }, 'No work on hosts of this cluster is announced or planned.')
        : h(List, { rows }),
    ),
  )
}

function List({ rows }: { readonly rows: readonly MaintenanceRow[] }): VNode {
  const { route } = useApp()
  return h(Table<MaintenanceRow>, {
    caption: 'Maintenance',
    rows: rows.toSorted((a, b) => (a.startAt ?? a.notBefore ?? 0) - (b.startAt ?? b.notBefore ?? 0)),
    idOf: ({ id }) => id,
    href: ({ object, machine }) => to(route, 'node', { cluster: object.cluster, name: machine }),
    columns: [
      { id: 'machine', title: 'Machine', of: (m) => m.machine, by: (m) => m.machine },
      {
        id: 'kind',
        title: 'Work',
        of: (m) =>
          h('span', {}, m.kind, m.description !== undefined && h('span', { class: 'soft' }, `: ${m.description}`)),
        by: (m) => m.kind,
      },
      { id: 'phase', title: 'Phase', of: (m) => h(Mark, { phase: m.phase }), by: (m) => m.phase },
      {
        id: 'drain',
        title: 'Drain starts',
        of: drainOf,
        by: (m) => m.startAt ?? 0,
      },
      {
        id: 'window',
        title: 'Window',
        of: windowOf,
        by: (m) => m.notBefore ?? 0,
      },
      { id: 'source', title: 'Source', of: (m) => m.source, by: (m) => m.source },
      { id: 'wait', title: 'Waits for', of: (m) => m.wait?.seen ?? m.message ?? '' },
    ],
  })
}

/** A host may be worked on at any time of it. */
function windowOf({ notBefore, notAfter }: MaintenanceRow): ComponentChildren {
  const end = notAfter !== undefined && h(Hour, { at: notAfter })
  if (notBefore === undefined) return end && ['until ', end]
  return end === false ? ['from ', h(Hour, { at: notBefore })] : [h(Hour, { at: notBefore }), ' to ', end]
}

/** Users wait for InProgress: a node that was not drained still has pods then. */
function drainOf({ drainedAt, missedAt, startAt }: MaintenanceRow): ComponentChildren {
  if (drainedAt !== undefined) return ['drained ', h(At, { at: drainedAt })]
  return missedAt === undefined ? h(Until, { at: startAt }) : 'not drained'
}
