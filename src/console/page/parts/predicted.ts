// What a commit is predicted to do: machines, steps, drains, reboots and minutes of each cluster.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import type { PredictedPlan } from '../../plan.ts'
import { Ago } from './clock.ts'
import { sentence } from './states.ts'
import { Table } from './table.ts'

export const PredictedPart = ({ plan }: { readonly plan: PredictedPlan }): VNode =>
  h(
    'div',
    { class: 'stack' },
    h(
      'p',
      {},
      h('strong', {}, sentence(plan.sentence)),
      ' ',
      h('span', { class: 'soft' }, 'By the clusters ', h(Ago, { at: plan.takenAt }), ' ago.'),
    ),
    plan.warnings.map((text) => h('p', { key: text, class: 'fail name' }, text)),
    plan.clusters.length > 0 &&
      h(Table<PredictedPlan['clusters'][number]>, {
        caption: 'Clusters',
        prefix: 'p',
        rows: plan.clusters,
        idOf: ({ id }) => id,
        columns: [
          { id: 'cluster', title: 'Cluster', of: (c) => c.cluster },
          { id: 'stage', title: 'Stage', of: (c) => c.stage },
          { id: 'machines', title: 'Machines', of: (c) => `${c.machines} of ${c.of}`, isNumber: true },
          { id: 'steps', title: 'Steps', of: (c) => c.steps },
          { id: 'drains', title: 'Drains', of: (c) => c.drains, isNumber: true },
          { id: 'reboots', title: 'Reboots', of: (c) => c.reboots, isNumber: true },
          { id: 'time', title: 'Time', of: (c) => c.time },
          { id: 'slowed', title: 'Slowed most by', of: (c) => c.slowedBy ?? '' },
        ],
      }),
    plan.notes.map((text) => h('p', { key: text, class: 'soft name' }, text)),
  )
