// The six boards: fleet, cluster, rollouts, repairs, Defender with service levels, control planes.
import { type Board, OF_CLUSTER, type Panel, type Query, type Unit } from './dashboard.ts'

const C = OF_CLUSTER

const panel =
  (kind: Panel['kind'], unit: Unit) =>
  (title: string, description: string, ...queries: readonly (readonly [expr: string, legend: string])[]): Panel => ({
    kind,
    unit,
    title,
    description,
    queries: queries.map(([expr, legend]): Query => ({ expr, legend })),
  })
const lines = panel('timeseries', 'short')
const shares = panel('timeseries', 'percentunit')
const times = panel('timeseries', 's')
const number = panel('stat', 'short')
const share = panel('stat', 'percentunit')
const table = panel('table', 'short')

const fleet: Board = {
  uid: 'kubenode-fleet',
  title: 'KubeNode / Fleet',
  rows: [
    {
      title: 'Is my fleet good?',
      panels: [
        share(
          'Good node-seconds, last hour',
          'Good of good, fault and silent, over all clusters. Below 99.9 % the budget does not last for 30 days.',
          ['1 - kubenode:fleet_bad:ratio_rate1h', 'good'],
        ),
        number('Nodes that are not good', 'Faults and silent agents now.', [
          `sum(kubenode_nodes{${C},state=~"fault|silent"})`,
          'nodes',
        ]),
        share('Least budget left of a pool', 'Of the error budget of 30 days; below 0 it is overspent.', [
          `min(kubenode_pool_budget_left{${C}})`,
          'left',
        ]),
      ],
    },
    {
      title: 'Nodes',
      panels: [
        lines('Nodes by state', 'What the present second of each node counts as.', [
          `sum by (state) (kubenode_nodes{${C}})`,
          '{{state}}',
        ]),
        lines('Machines by phase', 'Phases other than Ready should be few and short.', [
          `sum by (phase) (kubenode_machines{${C}})`,
          '{{phase}}',
        ]),
        lines('Silent agents', 'Many at once are a network before they are nodes.', [
          `sum by (cluster) (kubenode_machines_agent_silent{${C}})`,
          '{{cluster}}',
        ]),
      ],
    },
    {
      title: 'Utilization',
      panels: [
        shares('CPU requested', 'Of what is allocatable; a pool near 1 schedules nothing more.', [
          `kubenode:pool_requested:ratio{${C},resource="cpu"}`,
          '{{cluster}} {{pool}}',
        ]),
        shares('Memory requested', 'Of what is allocatable.', [
          `kubenode:pool_requested:ratio{${C},resource="memory"}`,
          '{{cluster}} {{pool}}',
        ]),
        shares('CPU used', 'Requested and not used is paid for and idle. Absent without metrics.k8s.io.', [
          `kubenode:pool_used:ratio{${C},resource="cpu"}`,
          '{{cluster}} {{pool}}',
        ]),
      ],
    },
    {
      title: 'Hosts at providers',
      panels: [
        lines('Calls to providers', 'By answer; Error, Refused and Throttled should be rare.', [
          `sum by (provider, code) (rate(kubenode_provider_calls_total{${C}}[5m]))`,
          '{{provider}} {{code}}',
        ]),
        lines('Offerings without stock', 'Machines that wait for a host that the provider does not have.', [
          `sum by (zone, type) (kubenode_offering_exhausted{${C}})`,
          '{{zone}} {{type}}',
        ]),
        lines('Hosts without a Machine', 'They cost money and serve nothing.', [
          `sum by (cluster, provider) (kubenode_orphan_hosts{${C}})`,
          '{{cluster}} {{provider}}',
        ]),
      ],
    },
  ],
}

const cluster: Board = {
  uid: 'kubenode-cluster',
  title: 'KubeNode / Cluster',
  rows: [
    {
      title: 'Components',
      panels: [
        lines('Versions', 'Machines by component and version; a rollout moves one line down and another up.', [
          `sum by (component, version) (kubenode_component_version_machines{${C}})`,
          '{{component}} {{version}}',
        ]),
        lines('Components that are not healthy', 'By state.', [
          `sum by (component, state) (kubenode_machine_components{${C},state!="Healthy"})`,
          '{{component}} {{state}}',
        ]),
        times('Oldest drift', 'How long the oldest modified component has waited for its next switch.', [
          `max by (component) (kubenode_component_drift_age_seconds{${C}})`,
          '{{component}}',
        ]),
      ],
    },
    {
      title: 'Machines',
      panels: [
        lines('Waiting', 'By what for.', [`sum by (predicate) (kubenode_machines_waiting{${C}})`, '{{predicate}}']),
        lines('Replicas of MachineSets', 'Wanted, current, ready.', [
          `sum by (machineset, which) (kubenode_machineset_replicas{${C}})`,
          '{{machineset}} {{which}}',
        ]),
        lines('Work on hosts', 'By phase and kind.', [
          `sum by (phase, kind) (kubenode_maintenance_events{${C}})`,
          '{{phase}} {{kind}}',
        ]),
      ],
    },
    {
      title: 'Hosts',
      panels: [
        shares('Least memory available', 'The five hosts with the least.', [
          'bottomk(5, node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)',
          '{{node}}',
        ]),
        shares('Fullest file systems', 'The five with the least space.', [
          'bottomk(5, node_filesystem_avail_bytes / node_filesystem_size_bytes)',
          '{{node}} {{mountpoint}}',
        ]),
        shares('Tasks that wait for memory', 'Share of time; above a tenth, hosts are too small or pods too large.', [
          'topk(5, rate(node_pressure_memory_waiting_seconds_total[5m]))',
          '{{node}}',
        ]),
      ],
    },
  ],
}

const rollouts: Board = {
  uid: 'kubenode-rollouts',
  title: 'KubeNode / Rollouts',
  rows: [
    {
      title: 'Delivery',
      panels: [
        number('Releases in 30 days', 'How often something was delivered.', [
          `sum(increase(kubenode_releases_ended_total{${C},outcome="Succeeded"}[30d]))`,
          'releases',
        ]),
        panel('stat', 's')('Lead time, median of 30 days', 'From the commit to its end in every stage.', [
          `kubenode:release_lead_seconds:p50_increase30d{${C}}`,
          '{{track}}',
        ]),
        share('Changes that failed, 30 days', 'In any stage, or undone by a revert.', [
          `kubenode:release_failed:ratio_increase30d{${C}}`,
          '{{track}}',
        ]),
        times('Time to restore, median', 'From the failure of a release to the next good one.', [
          `histogram_quantile(0.5, sum by (track, le) (increase(kubenode_release_restore_seconds_bucket{${C}}[30d])))`,
          '{{track}}',
        ]),
        lines('Reverts', 'That reached every stage, a day.', [
          `sum by (track) (increase(kubenode_release_rollbacks_total{${C}}[1d]))`,
          '{{track}}',
        ]),
        times('What stages wait for', 'Seconds of waiting a second, by cause.', [
          `sum by (stage, why) (rate(kubenode_release_stage_wait_seconds_total{${C}}[15m]))`,
          '{{stage}} {{why}}',
        ]),
      ],
    },
    {
      title: 'Sets',
      panels: [
        lines('Machines of sets', 'All, updated, healthy, skipped, failed.', [
          `sum by (set, which) (kubenode_set_machines{${C}})`,
          '{{set}} {{which}}',
        ]),
        shares('Consistency', 'Share of machines that run exactly the declared version.', [
          `min by (set, component) (kubenode_set_consistency{${C}})`,
          '{{set}} {{component}}',
        ]),
        shares('Hardware tried', 'Share of the classes on which the new revision is healthy somewhere.', [
          `min by (set) (kubenode_set_classes_tried{${C}})`,
          '{{set}}',
        ]),
        times('Oldest open slice', 'A slice that stays open waits for something: kubenode why tells for what.', [
          `max by (set, component) (kubenode_set_slice_age_seconds{${C}})`,
          '{{set}} {{component}}',
        ]),
        table('Waiting', 'The predicate that a set waits for.', [
          `kubenode_set_waiting{${C}} == 1`,
          '{{set}} {{predicate}}',
        ]),
        lines('Blocked revisions', 'A revision that failed is not tried again by itself.', [
          `sum by (set) (kubenode_set_blocked_revisions{${C}})`,
          '{{set}}',
        ]),
      ],
    },
  ],
}

const repairs: Board = {
  uid: 'kubenode-repairs',
  title: 'KubeNode / Repairs',
  rows: [
    {
      title: 'The promise 1-5-10',
      panels: [
        share('Detected within a minute', 'Of the faults of a day.', [
          `kubenode:repair_detected_within_1m:ratio_increase1d{${C}}`,
          '{{cluster}}',
        ]),
        share('Decided within five minutes', 'Of the repairs of a day, permit included.', [
          `kubenode:repair_decided_within_5m:ratio_increase1d{${C}}`,
          '{{cluster}}',
        ]),
        share('Healed within ten minutes', 'Of the repairs of a day that succeeded.', [
          `kubenode:repair_healed_within_10m:ratio_increase1d{${C}}`,
          '{{cluster}}',
        ]),
      ],
    },
    {
      title: 'Worth',
      panels: [
        lines('Outcomes a day', 'By operation.', [
          `sum by (operation, outcome) (increase(kubenode_repair_outcomes_total{${C}}[1d]))`,
          '{{operation}} {{outcome}}',
        ]),
        lines('Needless a day', 'The fault ended by itself before the first step: the rule may wait longer.', [
          `sum by (rule) (increase(kubenode_repair_needless_total{${C}}[1d]))`,
          '{{rule}}',
        ]),
        lines('Relapses a day', 'The fault was back within a day: the rung does not repair it.', [
          `sum by (rule) (increase(kubenode_repair_relapses_total{${C}}[1d]))`,
          '{{rule}}',
        ]),
      ],
    },
    {
      title: 'Time',
      panels: [
        times('Healed, 90 % within', 'By rule.', [
          `histogram_quantile(0.9, sum by (rule, le) (rate(kubenode_repair_heal_seconds_bucket{${C}}[1h])))`,
          '{{rule}}',
        ]),
        times('What repairs wait for', 'Seconds of waiting a second, by cause.', [
          `sum by (why) (rate(kubenode_repair_wait_seconds_total{${C}}[15m]))`,
          '{{why}}',
        ]),
        times('Oldest repair without a permit', 'Beyond an hour: kubenode why-not node/NAME.', [
          `max by (cluster) (kubenode_repair_oldest_waiting_seconds{${C}})`,
          '{{cluster}}',
        ]),
        lines('Open repairs', 'By rule.', [`sum by (rule) (kubenode_repairs_open{${C}})`, '{{rule}}']),
        lines('Ladders exhausted', 'A person has to repair these.', [
          `sum by (rule) (kubenode_repairs_exhausted{${C}})`,
          '{{rule}}',
        ]),
        lines('Conditions of nodes', 'As agents report them; those that are true.', [
          'sum by (type) (kubenode_node_condition == 1)',
          '{{type}}',
        ]),
      ],
    },
  ],
}

const defender: Board = {
  uid: 'kubenode-defender',
  title: 'KubeNode / Defender and service levels',
  rows: [
    {
      title: 'Service levels',
      panels: [
        share('Service level, 30 days', 'Good of good, fault and silent; the promise is 99.9 %.', [
          `kubenode:pool_service_level:ratio_rate30d{${C}}`,
          '{{cluster}} {{pool}}',
        ]),
        shares('Budget left', 'Of 30 days.', [`kubenode_pool_budget_left{${C}}`, '{{cluster}} {{pool}}']),
        lines(
          'Burn',
          'At 1 the budget lasts exactly 30 days; alerts fire at 14.4 over an hour, 6 over six hours, 1 over three days.',
          [`kubenode:pool_bad:ratio_rate1h{${C}} / 0.001`, '{{pool}} 1h'],
          [`kubenode:pool_bad:ratio_rate6h{${C}} / 0.001`, '{{pool}} 6h'],
          [`kubenode:pool_bad:ratio_rate3d{${C}} / 0.001`, '{{pool}} 3d'],
        ),
        shares('Planned time', 'Shown beside the level and never counted as good.', [
          `sum by (pool) (rate(kubenode_node_seconds_total{${C},state="planned"}[1h])) / sum by (pool) (rate(kubenode_node_seconds_total{${C}}[1h]))`,
          '{{pool}}',
        ]),
        lines('Bad node-seconds by zone', 'A zone that stands out is a cause.', [
          `sum by (zone) (rate(kubenode_node_seconds_total{${C},state=~"fault|silent"}[15m]))`,
          '{{zone}}',
        ]),
        lines('Bad node-seconds by class', 'Hardware that stands out is a cause.', [
          `sum by (class) (rate(kubenode_node_seconds_total{${C},state=~"fault|silent"}[15m]))`,
          '{{class}}',
        ]),
      ],
    },
    {
      title: 'Permits',
      panels: [
        lines('Verdicts', 'By gate.', [
          `sum by (verdict, gate) (rate(kubenode_permit_verdicts_total{${C}}[5m]))`,
          '{{verdict}} {{gate}}',
        ]),
        lines('Budget of disruption left', 'Targets that policies still permit.', [
          `min by (policy, of) (kubenode_budget_left{${C}})`,
          '{{policy}} {{of}}',
        ]),
        lines('Breakers', '0 closed, 1 half open, 2 open.', [
          `max by (policy) (kubenode_breaker_open{${C}})`,
          '{{policy}}',
        ]),
        lines('Room in the ledger', 'When it is full, every request is denied.', [
          `min by (cluster) (kubenode_ledger_room{${C}})`,
          '{{cluster}}',
        ]),
        lines('Places that fail together', 'Repairs and rollouts there are suspended.', [
          `max by (kind, place) (kubenode_place_failing{${C}})`,
          '{{kind}} {{place}}',
        ]),
        lines('Suspected changes', 'Versions, configurations and kernels.', [
          `max by (cluster) (kubenode_blames{${C}})`,
          '{{cluster}}',
        ]),
      ],
    },
  ],
}

const controlPlanes: Board = {
  uid: 'kubenode-control-planes',
  title: 'KubeNode / Control planes and programs',
  rows: [
    {
      title: 'Control planes',
      panels: [
        number('Without quorum', 'Nothing can be changed there.', [
          `sum(kubenode_control_planes_without_quorum{${C}})`,
          'control planes',
        ]),
        number('Store full', 'Nothing can be written there.', [
          `sum(kubenode_control_planes_with_full_store{${C}})`,
          'control planes',
        ]),
        number('Snapshots overdue', 'Longer than twice the interval.', [
          `sum(kubenode_snapshots_overdue{${C}})`,
          'control planes',
        ]),
      ],
    },
    {
      title: 'Programs',
      panels: [
        lines('Leaders', 'One a program and cluster.', [
          `sum by (cluster, job) (kubenode_leader{${C}})`,
          '{{cluster}} {{job}}',
        ]),
        times('Reconciles, 99 % within', 'By controller.', [
          `histogram_quantile(0.99, sum by (controller, le) (rate(kubenode_reconcile_seconds_bucket{${C}}[5m])))`,
          '{{controller}}',
        ]),
        lines('Keys that wait', 'By controller.', [
          `sum by (controller) (kubenode_queue_depth{${C}})`,
          '{{controller}}',
        ]),
        lines('Failed reconciles', 'By controller and outcome.', [
          `sum by (controller, outcome) (rate(kubenode_reconcile_total{${C},outcome!="Done"}[5m]))`,
          '{{controller}} {{outcome}}',
        ]),
        lines('Stalled parts', 'No progress for longer than their limit.', [
          `max by (job, part) (kubenode_stalled{${C}})`,
          '{{job}} {{part}}',
        ]),
        lines('Commits', 'Verified and refused.', [
          `sum by (result, reason) (increase(kubenode_commits_verified_total{${C}}[1h]))`,
          '{{result}} {{reason}}',
        ]),
      ],
    },
  ],
}

export const BOARDS: readonly Board[] = [fleet, cluster, rollouts, repairs, defender, controlPlanes]
